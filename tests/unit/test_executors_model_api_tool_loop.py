"""Rounds of tools before an answer: their number, time, usage and results."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec
import pytest
from msgspec import Raw

from ostler.errors import CODES, Code
from ostler.executors.model_api.tool_loop import MAX_ROUNDS, Completion, complete_with_tools
from ostler.llm.client import ClaudeRequest, ClaudeResponse, Message, Tool, ToolResult, ToolUse
from ostler.llm.failure import ModelError
from ostler.model.call import AgentEvent, TextReceived, ToolReturned, ToolUsed, UsageReported
from ostler.model.usage import Usage
from ostler.testing.mocks import MockClaudeClient

LOOK = ToolUse("u-1", "look", '{"path":"a.md"}')
REQUEST = ClaudeRequest("s", "Write.", "m", tools=(Tool("look", "Looks.", {"type": "object"}),))


def looking(*uses: ToolUse, text: str = "") -> ClaudeResponse:
    return ClaudeResponse(text, 10, 5, "end_turn", 1, 2, uses=uses or (LOOK,))


ANSWER = ClaudeResponse("Done.", 10, 5, "end_turn", 1, 2)


class Model(MockClaudeClient):
    """Returns these responses in turn and repeats the last one; an exception is raised."""

    def __init__(self, *turns: ClaudeResponse | Exception) -> None:
        super().__init__(self.next)
        self.turns = [*turns]

    def next(self, request: ClaudeRequest) -> ClaudeResponse:
        turn = self.turns.pop(0) if len(self.turns) > 1 else self.turns[0]
        if isinstance(turn, Exception):
            raise turn
        return turn


async def found(uses: Sequence[ToolUse]) -> list[ToolResult]:
    return [ToolResult(use.id, f"found {use.arguments}") for use in uses]


def run(model: Model, request: ClaudeRequest = REQUEST, events: list[AgentEvent] | None = None) -> Completion:
    reported: list[AgentEvent] = [] if events is None else events
    return asyncio.run(complete_with_tools(model, request, found, reported.append))


def test_a_plain_answer_is_one_round() -> None:
    """One request is sent, without changes."""
    model = Model(ANSWER)
    assert run(model) == Completion(ANSWER, Usage(10, 5, 1, 2))
    assert model.calls == [REQUEST]


def test_what_was_found_is_in_the_next_request() -> None:
    """The next request has the uses and the results; the last response is the answer."""
    uses = (LOOK, ToolUse("u-2", "look"))
    events: list[AgentEvent] = []
    model = Model(looking(*uses, text="Let me see."), ANSWER)
    conversation = run(model, events=events)
    assert conversation.response.content == "Done."
    results = (ToolResult("u-1", 'found {"path":"a.md"}'), ToolResult("u-2", "found {}"))
    requested = Message("assistant", "Let me see.", uses=uses)
    assert model.calls[1].rounds == (requested, Message("user", "", results=results))
    assert model.calls[1].messages[0] == Message("user", "Write.")
    one = UsageReported(Usage(10, 5, 1, 2))
    used = [ToolUsed("look", "a.md", "u-1", Raw(b'{"path":"a.md"}')), ToolUsed("look", "", "u-2")]
    returned = [ToolReturned(result.id, result.text) for result in results]
    assert events == [TextReceived("Let me see."), one, *used, *returned, TextReceived("Done."), one]


def test_what_a_model_wrote_is_reported_even_where_it_is_no_json() -> None:
    """Invalid arguments are reported as an object."""
    events: list[AgentEvent] = []
    run(Model(looking(ToolUse("u-1", "look", '{"path":\n')), ANSWER), events=events)
    assert ToolUsed("look", "", "u-1", Raw(b'{"text":"{\\"path\\":\\n"}')) in events


@pytest.mark.parametrize("rounds", [1, 2, MAX_ROUNDS])
def test_usage_is_that_of_all_rounds(rounds: int) -> None:
    """The usage is the sum of all rounds, and that of the events."""
    events: list[AgentEvent] = []
    conversation = run(Model(*[looking()] * rounds, ANSWER), events=events)
    reported = [event.usage for event in events if isinstance(event, UsageReported)]
    assert (
        conversation.usage
        == sum(reported, Usage())
        == Usage(*(part * (rounds + 1) for part in (10, 5, 1, 2)))
    )


def test_the_last_round_is_announced() -> None:
    """The last request asks for an answer."""
    model = Model(*[looking()] * MAX_ROUNDS, ANSWER)
    run(model)
    texts = [call.rounds[-1].text for call in model.calls[1:]]
    assert texts[:-1] == [""] * (MAX_ROUNDS - 1)
    assert "answer now" in texts[-1]


def test_a_model_that_never_answers_is_stopped() -> None:
    """After ten rounds and one more request the failure is final, with the total usage."""
    model = Model(looking())
    with pytest.raises(ModelError, match="used tools 10 times") as caught:
        run(model)
    assert (caught.value.code, CODES[Code.OUTPUT_LIMIT].retryable) == (Code.OUTPUT_LIMIT, False)
    assert len(model.calls) == MAX_ROUNDS + 1
    assert caught.value.usage == Usage(110, 55, 11, 22)


def test_a_failure_midway_counts_what_came_before() -> None:
    """D.5.8 of the seeds: the usage so far counts, and a partial answer is reported."""
    broken = ModelError(Code.OVERLOADED, "busy", 7.0)
    broken.partial, broken.usage = "half", Usage(3, 1)
    events: list[AgentEvent] = []
    with pytest.raises(ModelError) as caught:
        run(Model(looking(), broken), events=events)
    assert (caught.value.code, caught.value.retry_after_seconds) == (Code.OVERLOADED, 7.0)
    assert caught.value.usage == Usage(13, 6, 1, 2)
    assert events[-2:] == [TextReceived("half"), UsageReported(Usage(3, 1))]


def test_the_transcript_has_what_the_tools_gave() -> None:
    """The results of tools are in the transcript."""
    lines: list[bytes] = []
    run(Model(looking(), ANSWER), msgspec.structs.replace(REQUEST, on_line=lines.append))
    (line,) = lines
    reported = msgspec.json.decode(line)
    assert (reported["type"], reported["result"]["text"]) == ("tool_result", 'found {"path":"a.md"}')


def test_all_rounds_share_the_time_of_one() -> None:
    """The second request has the time that is left."""

    async def slow(uses: Sequence[ToolUse]) -> list[ToolResult]:
        await asyncio.sleep(0.05)
        return await found(uses)

    model = Model(looking(), ANSWER)
    asyncio.run(complete_with_tools(model, REQUEST, slow, lambda _: None))
    first, second = (call.timeout_seconds for call in model.calls)
    assert first == REQUEST.timeout_seconds
    assert 0 < second < first - 0.04


async def for_ever(uses: Sequence[ToolUse]) -> list[ToolResult]:
    await asyncio.sleep(3600)
    return []


def test_tools_cannot_outlast_the_time() -> None:
    """Tools that exceed the timeout are TIMEOUT."""
    with pytest.raises(ModelError) as caught:
        request = msgspec.structs.replace(REQUEST, timeout_seconds=0.2)
        asyncio.run(complete_with_tools(Model(looking()), request, for_ever, lambda _: None))
    assert (caught.value.code, caught.value.usage) == (Code.TIMEOUT, Usage(10, 5, 1, 2))


@pytest.mark.parametrize("how", ["abort", "cancel"])
def test_it_stops_at_once_while_tools_work(how: str) -> None:
    """An abort is ABORTED, a cancellation is raised, and no further request is sent."""

    async def stop_midway() -> Code | str:
        stop, begun = asyncio.Event(), asyncio.Event()

        async def wait(uses: Sequence[ToolUse]) -> list[ToolResult]:
            begun.set()
            return await for_ever(uses)

        model = Model(looking())
        request = msgspec.structs.replace(REQUEST, signal=stop)
        conversation = asyncio.create_task(complete_with_tools(model, request, wait, lambda _: None))
        await begun.wait()
        stop.set() if how == "abort" else conversation.cancel()
        (ended,) = await asyncio.wait_for(asyncio.gather(conversation, return_exceptions=True), 60)
        assert len(model.calls) == 1
        return ended.code if isinstance(ended, ModelError) else type(ended).__name__

    assert asyncio.run(stop_midway()) == {"abort": Code.ABORTED, "cancel": "CancelledError"}[how]
