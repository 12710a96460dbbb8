"""The real claude over several calls: its sessions, and its processes after a stop."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
import uuid
from pathlib import Path

import pytest

from fresh_prompts import fresh
from ostler.errors import Code
from ostler.model.call import CallResult, SessionReplaced, ToolDenied, ToolReturned, ToolUsed
from ostler.testing.fake_llm import FakeLlm, Request, Silence, Turn, call, say
from real_claude import Seat
from world import wait_until

pytestmark = pytest.mark.full

WAIT_FOR_EVER = "touch started; tail -f /dev/null"


@pytest.mark.smoke
def test_a_tool_edits_a_file(tmp_path: Path) -> None:
    """Edits are allowed by default; the tool, the tokens and the cost are reported."""
    with FakeLlm([call("Write", file_path="hello.txt", content="hello\n"), say("Done.")]) as llm:
        seat = Seat(tmp_path, llm)
        result = seat.spawn("Greet the world.")
    assert (result.code, result.text, result.warnings) == (None, "Done.", ()), result.message
    assert (seat.workspace / "hello.txt").read_text() == "hello\n"
    (used,), (returned,) = seat.received(ToolUsed), seat.received(ToolReturned)
    assert isinstance(used, ToolUsed) and (used.tool, used.detail) == ("Write", "hello.txt")
    assert isinstance(returned, ToolReturned) and (returned.id, returned.failed) == (used.id, False)
    assert (result.usage.input_tokens, result.usage.output_tokens) == (20, 10)
    assert result.cost_usd and result.cost_usd > 0


@pytest.mark.smoke
def test_resume_keeps_the_history_and_counts_the_money_once(tmp_path: Path) -> None:
    """The server receives the first prompt and answer again, and each call has its own cost."""
    with FakeLlm([say("ANSWER-ONE"), say("ANSWER-TWO")]) as llm:
        seat = Seat(tmp_path, llm)
        first = seat.spawn("PROMPT-ONE", model="claude-sonnet-5-5")
        second = seat.resume("PROMPT-TWO", first.session_id, session_cost_usd=first.session_cost_usd)
    assert second.text == "ANSWER-TWO" and second.session_id == first.session_id
    reported = [text for text in llm.prompts[1].history if text in ("PROMPT-ONE", "ANSWER-ONE", "PROMPT-TWO")]
    assert reported == ["PROMPT-ONE", "ANSWER-ONE", "PROMPT-TWO"]
    assert llm.prompts[1].model == "claude-sonnet-5-5"
    assert first.cost_usd and first.cost_usd == pytest.approx(second.cost_usd)
    assert second.session_cost_usd == pytest.approx(2 * first.cost_usd)


def test_an_id_that_exists_already_is_resumed(tmp_path: Path) -> None:
    """After a crash the same id is started again; claude rejects it, and the session is resumed."""
    session = str(uuid.uuid4())
    with FakeLlm([say("ANSWER-ONE"), say("ANSWER-TWO")]) as llm:
        seat = Seat(tmp_path, llm)
        assert seat.spawn("PROMPT-ONE", session).ok
        again = seat.spawn("PROMPT-TWO", session)
    assert (again.text, again.session_id) == ("ANSWER-TWO", session)
    assert seat.received(SessionReplaced) == [SessionReplaced(session, resumed=True)]
    assert llm.prompts[1].holds("PROMPT-ONE") and len(llm.prompts) == 2


@pytest.mark.smoke
def test_an_id_that_does_not_exist_is_replaced_with_the_fresh_prompt(tmp_path: Path) -> None:
    """A lost session is replaced by a new one with the fresh prompt, and that is reported."""
    session = str(uuid.uuid4())
    with FakeLlm([say("ANSWER")]) as llm:
        seat = Seat(tmp_path, llm)
        result = seat.resume("Go on.", session, fresh_prompt=fresh("THE-WHOLE-TASK"))
    assert (result.text, result.session_id) == ("ANSWER", session)
    assert seat.received(SessionReplaced) == [SessionReplaced(session, resumed=False)]
    assert llm.prompts[0].holds("THE-WHOLE-TASK") and not llm.prompts[0].holds("Go on.")


def test_an_id_that_does_not_exist_is_an_error_without_a_fresh_prompt(tmp_path: Path) -> None:
    """A12: the prompt is not sent to a session without its history."""
    with FakeLlm([say("ANSWER")]) as llm:
        seat = Seat(tmp_path, llm)
        result = seat.resume("Go on.", str(uuid.uuid4()))
    assert result.code is Code.SESSION_NOT_FOUND, result.message
    assert seat.received(SessionReplaced) == [] and not llm.prompts


@pytest.mark.parametrize("prompt", ["/cost", "/compact now", "--help", "@README.md"])
def test_a_prompt_is_never_a_command(prompt: str, tmp_path: Path) -> None:
    """A prompt that looks like a slash command is sent to the model."""
    with FakeLlm([say("ANSWER")]) as llm:
        result = Seat(tmp_path, llm).spawn(prompt)
    assert result.text == "ANSWER", result.message
    assert any(text.strip() == prompt for text in llm.prompts[0].history)


def test_a_long_prompt_arrives_whole(tmp_path: Path) -> None:
    """The model receives a prompt of two megabytes completely."""
    prompt = "word é " * 250_000 + "The end."
    assert len(prompt.encode()) > 2_000_000
    with FakeLlm([say("ANSWER")]) as llm:
        result = Seat(tmp_path, llm).spawn(prompt)
    assert result.text == "ANSWER", result.message
    assert prompt in llm.prompts[0].history


@pytest.mark.parametrize("megabytes", [5, 11])
def test_a_prompt_that_no_model_takes_ends_at_once(megabytes: int, tmp_path: Path) -> None:
    """Claude rejects a prompt over the context or over its limit of stdin, without a request."""
    with FakeLlm() as llm:
        seat = Seat(tmp_path, llm)
        result = seat.spawn("word " * (megabytes * 200_000))
    assert result.code is Code.PROMPT_TOO_LARGE, result.message
    assert (llm.prompts, seat.processes()) == ((), [])


def test_a_denied_tool_is_visible(tmp_path: Path) -> None:
    """The run succeeds, and a warning and an event report the denied tool."""
    with FakeLlm([call("Bash", command="touch /somewhere-else"), say("I could not.")]) as llm:
        seat = Seat(tmp_path, llm)
        result = seat.spawn()
    assert (result.code, result.warnings) == (None, ("PERMISSION_DENIED",))
    assert [event.tool for event in seat.received(ToolDenied) if isinstance(event, ToolDenied)] == ["Bash"]


def test_the_last_of_two_results_counts(tmp_path: Path) -> None:
    """A background task makes claude answer twice; the second answer counts."""
    wait = "cat gate; touch finished"
    turns = [call("Bash", command=wait, run_in_background=True), say("FIRST"), say("SECOND")]
    with FakeLlm(turns) as llm:
        seat = Seat(tmp_path, llm, "--allowedTools", "Bash")
        os.mkfifo(seat.workspace / "gate")
        opening = threading.Thread(target=_open_gate, args=(seat,))
        opening.start()
        result = seat.spawn()
        opening.join()
    lines = [json.loads(line) for line in seat.transcript.read_bytes().splitlines()]
    assert [line["result"] for line in lines if line["type"] == "result"] == ["FIRST", "SECOND"]
    assert (result.code, result.text, result.usage.total) == (None, "SECOND", 45), result.message
    assert (seat.workspace / "finished").exists()
    assert seat.processes() == []


def _open_gate(seat: Seat) -> None:
    """Let the background task end after the first answer."""
    reported = b'"type":"result"'
    wait_until(lambda: seat.transcript.exists() and reported in seat.transcript.read_bytes(), 60, "no answer")
    (seat.workspace / "gate").write_text("")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_killed_in_the_middle_of_a_tool_it_can_be_resumed(number: signal.Signals, tmp_path: Path) -> None:
    """After a kill the code is correct, the tool is stopped, and the session can be resumed."""
    with FakeLlm([call("Bash", command=WAIT_FOR_EVER), say("ANSWER-TWO")]) as llm:
        seat = Seat(tmp_path, llm, "--allowedTools", "Bash")
        killed = asyncio.run(_kill_in_tool(seat, number))
        assert killed.code is Code.AGENT_KILLED and number.name in killed.message, killed.message
        assert seat.processes() == []
        again = seat.resume("PROMPT-TWO", killed.session_id)
    assert (again.text, again.session_id) == ("ANSWER-TWO", killed.session_id), again.message
    assert llm.prompts[-1].holds("PROMPT-ONE") and llm.prompts[-1].holds("PROMPT-TWO")
    assert seat.received(SessionReplaced) == []


async def _kill_in_tool(seat: Seat, number: signal.Signals) -> CallResult:
    running = asyncio.create_task(seat.executor.spawn(seat.call("PROMPT-ONE"), seat.events.append))
    await asyncio.to_thread(wait_until, (seat.workspace / "started").exists, 30, "the tool did not start")
    seat.claude().send_signal(number)
    return await running


@pytest.mark.parametrize("seconds", [0.05, 0.4, 2.0])
def test_stopped_at_any_moment_the_same_id_still_works(seconds: float, tmp_path: Path) -> None:
    """Before claude has written its session a new one is reported; afterwards it is resumed."""

    def model(request: Request) -> Turn:
        return say("ANSWER") if request.holds("PROMPT-TWO") else Silence(60.0)

    with FakeLlm(model) as llm:
        seat = Seat(tmp_path, llm)
        stopped = seat.spawn("PROMPT-ONE", timeout_seconds=seconds)
        assert stopped.code is Code.TIMEOUT and seat.processes() == []
        fresh_prompt = fresh("PROMPT-TWO, from the start")
        result = seat.resume("PROMPT-TWO", stopped.session_id, fresh_prompt=fresh_prompt)
    assert (result.text, result.session_id) == ("ANSWER", stopped.session_id), result.message
    begun_again = llm.prompts[-1].holds("PROMPT-TWO, from the start")
    assert seat.received(SessionReplaced) == [SessionReplaced(result.session_id, resumed=False)] * begun_again
    assert llm.prompts[-1].holds("PROMPT-ONE") != begun_again
