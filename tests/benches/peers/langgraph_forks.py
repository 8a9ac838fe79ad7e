"""The benchmark's forks in LangGraph: one thread's state is read and written to another thread, in memory. For each
MESSAGES:FORKS that is given, a window of that many messages is forked that often.

Prints one line of JSON: for each of them the CPU microseconds of one fork."""

import json
import sys
import time

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

TEXT_BYTES = int(sys.argv[1])


def think(state: MessagesState):
    return {"messages": []}


builder = StateGraph(MessagesState)
builder.add_node("think", think)
builder.add_edge(START, "think")
builder.add_edge("think", END)


def thread(name: str) -> dict:
    return {"configurable": {"thread_id": name}}


def fork_us(messages: int, forks: int) -> float:
    agent = builder.compile(checkpointer=InMemorySaver())
    texts = (f"{n:06d} ".ljust(TEXT_BYTES, "x") for n in range(messages))
    window = [HumanMessage(text, id=str(n)) for n, text in enumerate(texts)]
    agent.update_state(thread("original"), {"messages": window}, as_node="think")
    before = time.process_time()
    for n in range(forks):
        state = agent.get_state(thread("original"))
        agent.update_state(thread(f"copy {n}"), state.values, as_node="think")
    after = time.process_time()
    copied = agent.get_state(thread(f"copy {forks - 1}")).values["messages"]
    assert [message.content for message in copied] == [message.content for message in window]
    return (after - before) / forks * 1e6


print(json.dumps([fork_us(*map(int, case.split(":"))) for case in sys.argv[2:]]))
