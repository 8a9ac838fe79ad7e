"""The benchmark's job in LangGraph: a parent spawns CHILDREN agents, WIDTH at a time; each takes three turns with one
tool call each; the parent collects their texts. The model is a fake that answers at once.

Prints one line of JSON: CPU seconds, turns, peak resident kilobytes."""

import asyncio
import json
import resource
import sys

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

CHILDREN, WIDTH, TURNS = int(sys.argv[1]), int(sys.argv[2]), 3


@tool
def note(text: str) -> str:
    """Notes something."""
    return f"noted: {text}"


class Fake(BaseChatModel):
    @property
    def _llm_type(self) -> str:
        return "fake"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        turn = sum(isinstance(message, AIMessage) for message in messages) + 1
        call = {"name": "note", "args": {"text": f"turn {turn}"}, "id": f"call{turn}", "type": "tool_call"}
        message = AIMessage(content=f"turn {turn}", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=message)])


model = Fake()


async def think(state: MessagesState):
    return {"messages": [await model.ainvoke(state["messages"])]}


def route(state: MessagesState):
    turns = sum(isinstance(message, AIMessage) for message in state["messages"])
    return END if turns >= TURNS and isinstance(state["messages"][-1], ToolMessage) else "think"


builder = StateGraph(MessagesState)
builder.add_node("think", think)
builder.add_node("tools", ToolNode([note]))
builder.add_edge(START, "think")
builder.add_edge("think", "tools")
builder.add_conditional_edges("tools", route)
agent = builder.compile(checkpointer=InMemorySaver())


async def parent():
    gate = asyncio.Semaphore(WIDTH)

    async def child(n: int) -> str:
        async with gate:
            config = {"configurable": {"thread_id": str(n)}}
            state = await agent.ainvoke({"messages": [HumanMessage("Do your part.")]}, config)
            return state["messages"][-1].content

    return await asyncio.gather(*(child(n) for n in range(CHILDREN)))


def main():
    before = resource.getrusage(resource.RUSAGE_SELF)
    texts = asyncio.run(parent())
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert texts == ["noted: turn 3"] * CHILDREN
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    print(json.dumps({"cpu_s": cpu, "turns": CHILDREN * TURNS, "peak_kb": after.ru_maxrss}))


main()
