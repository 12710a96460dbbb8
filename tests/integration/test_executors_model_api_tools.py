"""The tool loop of both APIs, with a local server."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from ostler.config.settings import ExecutorSettings, Provider
from ostler.errors import Code
from ostler.executors.model_api.executor import ModelApiExecutor
from ostler.executors.model_api.tool_loop import MAX_ROUNDS
from ostler.model.call import AgentCall, AgentEvent, CallResult, ToolReturned, ToolUsed, UsageReported
from ostler.model.usage import Usage
from ostler.testing.fake_llm import Answer, FakeLlm, Request, Silence, ToolCall, call, fail, say
from ostler.testing.mocks import MockCommandRunner

PROVIDERS: list[Provider] = ["anthropic", "openai"]
both_wires = pytest.mark.parametrize("provider", PROVIDERS)
READ = call("read_file", path="notes.md")


def make(llm: FakeLlm, provider: Provider, *, tools: bool = True) -> ModelApiExecutor:
    name = provider.upper()
    url = llm.url if provider == "anthropic" else f"{llm.url}/v1"
    env = {f"{name}_API_KEY": "sk-test-0123456789", f"{name}_BASE_URL": url}
    settings = ExecutorSettings(env=env, provider=provider, tools=tools)
    return ModelApiExecutor("model_api", settings, MockCommandRunner())


@pytest.fixture
def asked(tmp_path: Path) -> AgentCall:
    project = tmp_path / "project"
    project.mkdir()
    (project / "notes.md").write_text("The osprey dives.\n")
    places = {"cwd": str(project), "transcript": str(tmp_path / "one.jsonl")}
    return AgentCall("writer", "Write.", "s-1", model="m-1", system="You are a poet.", **places)


def run(
    llm: FakeLlm, provider: Provider, asked: AgentCall, events: list[AgentEvent] | None = None
) -> CallResult:
    reported: list[AgentEvent] = [] if events is None else events
    return asyncio.run(make(llm, provider).spawn(asked, reported.append))


def results_in(request: Request) -> list[tuple[str, bool]]:
    """Return the results of the last round, and whether each is an error."""
    messages = request.body["messages"]
    if "/chat/" in request.path:
        texts = [turn["content"] for turn in messages if turn["role"] == "tool"]
        return [(text.removeprefix("Error: "), text.startswith("Error: ")) for text in texts]
    blocks = [block for block in messages[-1]["content"] if block["type"] == "tool_result"]
    return [(block["content"], block.get("is_error", False)) for block in blocks]


@both_wires
def test_the_model_uses_tools_before_it_answers(provider: Provider, asked: AgentCall) -> None:
    """The results are sent to the model; the answer, the total usage and the tool uses are reported."""
    events: list[AgentEvent] = []
    with FakeLlm([replace(READ, say="Let me see."), say("Done.")]) as llm:
        result = run(llm, provider, asked, events)
        first, second = llm.prompts
    assert (result.code, result.text, result.usage) == (None, "Done.", Usage(20, 10))
    assert first.tools == ["list_files", "read_file", "search_text"]
    assert results_in(second) == [("The osprey dives.\n", False)]
    assert second.holds("Let me see.")
    (used,) = [event for event in events if isinstance(event, ToolUsed)]
    assert (used.tool, used.detail) == ("read_file", "notes.md")
    assert msgspec.json.decode(used.input)["path"] == "notes.md"
    assert ToolReturned(used.id, "The osprey dives.\n") in events
    assert [event for event in events if isinstance(event, UsageReported)] == [
        UsageReported(Usage(10, 5))
    ] * 2
    assert b"The osprey dives" in Path(asked.transcript).read_bytes()


@both_wires
def test_each_use_is_answered_by_its_id(provider: Provider, asked: AgentCall) -> None:
    """Several uses in one turn: each has its result, in order, and failures are marked."""
    uses = (
        ToolCall("read_file", {"path": "notes.md"}),
        ToolCall("read_file", {"path": "../one.jsonl"}),
        ToolCall("delete_file", {"path": "notes.md"}),
        ToolCall("list_files", {}),
    )
    with FakeLlm([Answer(tools=uses), say("Done.")]) as llm:
        assert run(llm, provider, asked).ok
        request = llm.prompts[1]
    (text, *_), errors = [list(part) for part in zip(*results_in(request), strict=True)]
    assert text == "The osprey dives.\n"
    assert errors == [False, True, True, False]
    written = json.dumps(request.body["messages"])
    ids = [f"{'toolu' if provider == 'anthropic' else 'call'}_{llm.prompts[0].id}_{n}" for n in range(4)]
    assert all(written.count(id) == 2 for id in ids)


@both_wires
def test_it_comes_to_an_end(provider: Provider, asked: AgentCall) -> None:
    """A model that only uses tools ends after eleven requests with OUTPUT_LIMIT and the total usage."""
    with FakeLlm([READ]) as llm:
        result = run(llm, provider, asked)
        assert len(llm.prompts) == MAX_ROUNDS + 1
        assert llm.prompts[-1].holds("give your answer now")
    assert (result.code, result.session_id) == (Code.OUTPUT_LIMIT, "")
    assert result.model == llm.prompts[-1].model  # without it, the tokens have no price
    assert result.usage == Usage(10 * (MAX_ROUNDS + 1), 5 * (MAX_ROUNDS + 1))


@both_wires
def test_a_limit_midway_is_the_ending(provider: Provider, asked: AgentCall) -> None:
    """The result has the code and the delay of the limit, and the usage of the earlier rounds."""
    with FakeLlm([READ, fail(429, "slow down", retry_after="7")]) as llm:
        result = run(llm, provider, asked)
        assert len(llm.prompts) == 2
    assert (result.code, result.retry_after_seconds) == (Code.RATE_LIMITED, 7)
    assert result.usage == Usage(10, 5)


@both_wires
def test_a_use_that_was_cut_off_is_not_done(provider: Provider, asked: AgentCall) -> None:
    """At max_tokens the last use may be incomplete: the text is the result, with the warning."""
    with FakeLlm([replace(READ, say="Half", stop="max_tokens")]) as llm:
        result = run(llm, provider, asked)
        assert len(llm.prompts) == 1
    assert (result.text, result.warnings) == ("Half", ("RESPONSE_TRUNCATED",))


@pytest.mark.sampled(1)
@both_wires
def test_the_time_is_that_of_the_whole_call(provider: Provider, asked: AgentCall) -> None:
    """The timeout includes all rounds."""
    with FakeLlm([READ, Silence(600)]) as llm:
        begun = time.monotonic()
        result = run(llm, provider, replace(asked, timeout_seconds=3.0))
    assert result.code is Code.TIMEOUT
    assert time.monotonic() - begun < 60


@both_wires
def test_cancelling_ends_it_in_any_round(provider: Provider, asked: AgentCall) -> None:
    """W4: no further request is sent, and the cancellation is raised."""

    async def cancel(llm: FakeLlm) -> None:
        conversation = asyncio.create_task(make(llm, provider).spawn(asked, lambda _: None))
        while len(llm.prompts) < 2 and not conversation.done():
            await asyncio.sleep(0.02)
        conversation.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(conversation, 60)

    with FakeLlm([READ, Silence(600)]) as llm:
        asyncio.run(cancel(llm))
        assert len(llm.prompts) == 2


@both_wires
def test_a_session_keeps_questions_and_answers(provider: Provider, asked: AgentCall) -> None:
    """Results of tools are not stored, because files may change and results may be large."""
    with FakeLlm([READ, say("A poem."), say("A shorter poem.")]) as llm:
        executor = make(llm, provider)
        asyncio.run(executor.spawn(asked, lambda _: None))
        asyncio.run(
            make(llm, provider, tools=False).resume(replace(asked, prompt="Shorter."), lambda _: None)
        )
        request = llm.prompts[-1]
    assert request.history[-3:] == ["Write.", "A poem.", "Shorter."]
    assert "tools" not in request.body


@both_wires
@pytest.mark.parametrize("tools", [True, False])
def test_the_system_text_goes_in_its_own_place(tools: bool, provider: Provider, asked: AgentCall) -> None:
    """The system prompt has the role first, then the notice about tools."""
    with FakeLlm([say("Done.")]) as llm:
        asyncio.run(make(llm, provider, tools=tools).spawn(asked, lambda _: None))
        body = llm.prompts[0].body
    reported = body["system"] if provider == "anthropic" else body["messages"][0]["content"]
    assert reported.startswith("You are a poet.\n\nYou ")
    assert ("no tools" in reported) is not tools
    assert body["messages"][-1] == {"role": "user", "content": "Write."}
    assert len(body["messages"]) == (1 if provider == "anthropic" else 2)


@both_wires
def test_without_the_setting_there_are_no_tools(provider: Provider, asked: AgentCall) -> None:
    """No tool is offered, and a tool use is not an answer."""
    with FakeLlm([READ]) as llm:
        result = asyncio.run(make(llm, provider, tools=False).spawn(asked, lambda _: None))
        assert "tools" not in llm.prompts[0].body
    assert result.code is Code.RESPONSE_EMPTY
