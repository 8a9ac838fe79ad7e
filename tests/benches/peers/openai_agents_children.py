"""The benchmark's job in the OpenAI Agents SDK: a parent spawns CHILDREN agents, WIDTH at a time; each takes three turns
with one tool call each; the parent collects their texts. The model is a fake that answers at once.

Prints one line of JSON: CPU seconds, turns, peak resident kilobytes."""

import asyncio
import json
import resource
import sys

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool
from agents.agent import StopAtTools
from openai.types.responses import ResponseFunctionToolCall

CHILDREN, WIDTH, TURNS = int(sys.argv[1]), int(sys.argv[2]), 3


@function_tool
def note(text: str) -> str:
    """Notes something."""
    return f"noted: {text}"


@function_tool
def finish(text: str) -> str:
    """Ends the work."""
    return f"noted: {text}"


class Fake(Model):
    async def get_response(self, system_instructions, input, *args, **kwargs):
        items = input if isinstance(input, list) else []
        turn = sum(item.get("type") == "function_call" for item in items if isinstance(item, dict)) + 1
        call = ResponseFunctionToolCall(
            type="function_call",
            call_id=f"call{turn}",
            name="finish" if turn == TURNS else "note",
            arguments=json.dumps({"text": f"turn {turn}"}),
        )
        return ModelResponse(output=[call], usage=Usage(), response_id=None)

    def stream_response(self, *args, **kwargs):
        raise NotImplementedError


agent = Agent(
    name="child",
    instructions="Do your part.",
    model=Fake(),
    tools=[note, finish],
    tool_use_behavior=StopAtTools(stop_at_tool_names=["finish"]),
)


async def parent():
    gate = asyncio.Semaphore(WIDTH)

    async def child() -> str:
        async with gate:
            config = RunConfig(tracing_disabled=True)
            result = await Runner.run(agent, "Do your part.", run_config=config)
            return result.final_output

    return await asyncio.gather(*(child() for _ in range(CHILDREN)))


def main():
    before = resource.getrusage(resource.RUSAGE_SELF)
    texts = asyncio.run(parent())
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert texts == ["noted: turn 3"] * CHILDREN, texts[:3]
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    print(json.dumps({"cpu_s": cpu, "turns": CHILDREN * TURNS, "peak_kb": after.ru_maxrss}))


main()
