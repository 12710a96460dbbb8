"""The claude executor with the real runner and a fake claude with faults: rows of the fault matrix."""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from pathlib import Path
from typing import Any

import psutil
import pytest

from fresh_prompts import fresh
from ostler.config.settings import ExecutorSettings
from ostler.errors import Code
from ostler.executors.claude.executor import ClaudeExecutor
from ostler.model.call import AgentCall, AgentEvent, CallResult, LineSkipped, TextReceived
from ostler.process.runner import DefaultCommandRunner
from ostler.testing.fake_agent import COMPLETE, fake_claude, read_ledger


class Room:
    """A fake claude, a workspace and a ledger."""

    def __init__(self, directory: Path, **behaviour: Any) -> None:
        self.ledger = directory / "ledger.jsonl"
        self.workspace = directory / "workspace"
        self.workspace.mkdir()
        self.transcript = directory / "transcript.jsonl"
        self.marker = str(uuid.uuid4())
        program = fake_claude(directory / "bin", ledger=str(self.ledger), **behaviour)
        self.executor = ClaudeExecutor(
            "claude", ExecutorSettings(command=str(program)), DefaultCommandRunner()
        )
        self.events: list[AgentEvent] = []

    def call(self, prompt: str = "do it", **more: Any) -> AgentCall:
        limits: dict[str, Any] = {"timeout_seconds": 30.0, "grace_seconds": 0.5, "result_grace_seconds": 0.3}
        session = more.pop("session_id", str(uuid.uuid4()))
        env = {"PATH": os.environ["PATH"], "OSTLER_ATTEMPT": self.marker}
        paths = {"cwd": str(self.workspace), "transcript": str(self.transcript)}
        return AgentCall("implementer", prompt, session, env=env, **paths, **{**limits, **more})

    def spawn(self, **more: Any) -> CallResult:
        return asyncio.run(self.executor.spawn(self.call(**more), self.events.append))

    def alive(self) -> list[int]:
        """Return the running processes of the fake, and those with the marker."""
        reported = {line["pid"] for line in read_ledger(self.ledger)}
        return [
            process.pid
            for process in psutil.process_iter()
            if process.pid in reported or self._marked(process)
        ]

    def _marked(self, process: psutil.Process) -> bool:
        try:
            return process.environ().get("OSTLER_ATTEMPT") == self.marker
        except (psutil.Error, OSError):
            return False


FAULTS: dict[str, tuple[dict[str, Any], Code | None]] = {
    "": ({}, None),
    "crash": ({}, Code.AGENT_FAILED),
    "blocked": ({}, None),
    "no_mark": ({}, None),
    "denied": ({}, None),
    "hangs_after_result": ({}, None),
    "two_results": ({}, None),
    "a1_hangs": ({"timeout_seconds": 0.4}, Code.TIMEOUT),
    "a2_ignores_term": ({"timeout_seconds": 0.4}, Code.TIMEOUT),
    "a3_stops_itself": ({"timeout_seconds": 0.4}, Code.TIMEOUT),
    "a4_daemons": ({}, None),
    "a5_hops": ({}, None),
    "a7_child_keeps_stdout": ({}, None),
    "a8_never_reads": ({}, None),
    "a9_closes_stdin": ({"prompt": "p" * 5_000_000}, None),
    "a10_flood": ({}, None),
    "a11_many_lines": ({}, None),
    "a12_bad_bytes": ({}, None),
    "a13_escapes": ({}, None),
    "a14_broken_json": ({}, None),
    "a15_no_result": ({}, Code.NO_RESULT),
    "a16_empty": ({}, Code.RESPONSE_EMPTY),
    "a16_silent": ({}, Code.RESPONSE_EMPTY),
    "a19_missing": ({}, Code.AGENT_NOT_FOUND),
    "a19_not_executable": ({}, Code.AGENT_NOT_FOUND),
    "a19_wrong_format": ({}, Code.AGENT_NOT_FOUND),
    "a26_deletes_workspace": ({}, None),
    "a28_odd_files": ({}, None),
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("fault", FAULTS)
def test_fault_gets_its_code_and_leaves_nothing(fault: str, tmp_path: Path) -> None:
    """For each fault the attempt ends in time with the expected code, and no process is left."""
    limits, code = FAULTS[fault]
    room = Room(tmp_path, fault=fault, bytes=17 << 20)
    began = time.monotonic()
    result = room.spawn(**limits)
    assert result.code is code, result.message
    assert time.monotonic() - began < 25
    assert room.alive() == []


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (1, Code.AGENT_FAILED),
        (2, Code.AGENT_FAILED),
        (126, Code.AGENT_NOT_FOUND),
        (127, Code.AGENT_NOT_FOUND),
        (130, Code.AGENT_KILLED),
        (137, Code.AGENT_KILLED),
        (139, Code.AGENT_KILLED),
        (143, Code.AGENT_KILLED),
        (-9, Code.AGENT_KILLED),
        (-11, Code.AGENT_KILLED),
    ],
)
def test_exit_status_is_mapped(status: int, code: Code, tmp_path: Path) -> None:
    """Each exit without output has its code (A18)."""
    assert Room(tmp_path, fault="a18_exit", status=status).spawn().code is code


@pytest.mark.parametrize(
    ("fault", "error", "code"),
    [
        ("api_error", 429, Code.RATE_LIMITED),
        ("api_error", 529, Code.OVERLOADED),
        ("api_error", 401, Code.AUTH_FAILED),
        ("api_error", 500, Code.OVERLOADED),
        ("a17_error_in_text", 529, Code.OVERLOADED),
        ("a17_error_in_text", "credit", Code.BILLING),
    ],
)
def test_provider_error_is_classified(fault: str, error: object, code: Code, tmp_path: Path) -> None:
    """An error of the provider has its code, even when the exit code is 0 (A17)."""
    assert Room(tmp_path, fault=fault, error=error).spawn().code is code


def test_work_is_done_and_reported(tmp_path: Path) -> None:
    """A successful turn edits the file, answers, counts tokens and cost, and is in the transcript."""
    room = Room(tmp_path)
    call = room.call()
    result = asyncio.run(room.executor.spawn(call, room.events.append))
    assert (room.workspace / "fake-agent.txt").read_text() == "call 1\n"
    assert (result.text, result.session_id) == (COMPLETE, call.session_id)
    assert (result.usage.total, result.cost_usd) == (15, 0.00014)
    assert b'"type": "result"' in room.transcript.read_bytes()
    assert [line["event"] for line in read_ledger(room.ledger)] == ["start", "edit", "end"]


def test_long_prompt_arrives_whole(tmp_path: Path) -> None:
    """A prompt that is too long for an argument or a terminal line is passed completely (A23, A24)."""
    result = Room(tmp_path, fault="a23_measures_prompt").spawn(prompt="x" * 300_000)
    assert result.text == "300000 bytes, the longest line 300000"


def test_broken_lines_do_not_hide_the_good_ones(tmp_path: Path) -> None:
    """After a truncated line the next ones are read, and the truncated one is reported (A14)."""
    room = Room(tmp_path, fault="a14_broken_json", bytes=1 << 25)
    assert room.spawn().ok
    assert TextReceived("whole again") in room.events
    unread = [event.detail for event in room.events if isinstance(event, LineSkipped)]
    assert len(unread) == 2 and unread[1].startswith("lines over the limit of 16 MiB: 1")


def test_plan_gives_each_start_its_own_behaviour(tmp_path: Path) -> None:
    """The first start crashes; the second resumes the session and answers."""
    room = Room(tmp_path, plan=["crash", "ok"])
    session = str(uuid.uuid4())
    assert room.spawn(session_id=session, prompt="Remember the word heron.").code is Code.AGENT_FAILED
    again = room.call("Which word?", session_id=session)
    assert asyncio.run(room.executor.resume(again, room.events.append)).text == "The word was heron."
    assert [line["resumed"] for line in read_ledger(room.ledger) if line["event"] == "start"] == [False, True]


@pytest.mark.parametrize("fault", ["a25_forgets", "a25_corrupt"])
def test_lost_session_is_reported(fault: str, tmp_path: Path) -> None:
    """A session file that is missing or damaged leads to a reported new session, or to a code (A25)."""
    room = Room(tmp_path, fault=fault)
    session = str(uuid.uuid4())
    assert room.spawn(session_id=session).ok
    call = room.call(session_id=session, fresh_prompt=fresh("From the start."))
    result = asyncio.run(room.executor.resume(call, room.events.append))
    reported = [event for event in room.events if type(event).__name__ == "SessionReplaced"]
    assert reported
    assert result.ok or result.code in (Code.SESSION_NOT_FOUND, Code.SESSION_IN_USE)


def test_cost_of_two_attempts_is_the_sessions(tmp_path: Path) -> None:
    """The running total that claude reports is not counted twice (C78)."""
    room = Room(tmp_path)
    first = room.spawn()
    more = room.call(session_id=first.session_id, session_cost_usd=first.session_cost_usd)
    second = asyncio.run(room.executor.resume(more, room.events.append))
    assert first.cost_usd == pytest.approx(second.cost_usd)
    assert second.session_cost_usd == pytest.approx(0.00028)
