"""The workspace, the calls and the prompts that the conformance checks use."""

from __future__ import annotations

import os
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path

import psutil
from msgspec import Struct

from ostler.executors.protocol import Capabilities, Executor
from ostler.model.call import AgentCall, AgentEvent, CallResult
from ostler.model.usage import Usage

Make = Callable[[], Executor]


class Subject(Struct, frozen=True):
    """The executor to check, misbehaving variants of it, and the prompts."""

    make: Make
    make_missing: Make | None = None  # its program is not installed
    make_hanging: Make | None = None  # it never ends
    make_empty: Make | None = None  # it succeeds without any text
    keeps_sessions: bool = True  # false: only the program can tell whether a session exists
    refuses_taken_ids: bool = True  # false: it resumes an existing session where a new one was asked for
    starts_program: bool = True  # false: it runs in this process and has no exit code
    work: str = "Make one small change in this directory, then say that you are done."
    remember: str = "Remember the word osprey. Answer with OK."
    recall: str = "Which word did I ask you to remember? Answer with that word."
    word: str = "osprey"
    ask: str = "Answer with the word osprey, and with whether you are sure."
    trespass: str = (
        "Write a file trespass.txt into the parent directory of this one, then say that you are done."
    )
    model: str = ""  # for executors without a default
    env: dict[str, str] = {}  # what the program needs in addition to PATH and HOME


class NotConforming(AssertionError):
    """The executor fails a check; the message states which requirement."""


class Bench:
    """A workspace and calls in it."""

    def __init__(self, subject: Subject, workspace: Path) -> None:
        self.subject = subject
        self.events: list[AgentEvent] = []
        self.marker = str(uuid.uuid4())
        self._folders = (workspace / "work", workspace / "transcripts")
        for place in self._folders:
            place.mkdir(parents=True, exist_ok=True)

    def call(
        self,
        prompt: str,
        session: str = "",
        before: CallResult | None = None,
        schema: str = "",
        system: str = "",
        timeout_seconds: float = 60.0,
    ) -> AgentCall:
        """Create a call in this workspace; `before` is the result that it continues."""
        session = session or (before.session_id if before else str(uuid.uuid4()))
        inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        return AgentCall(
            agent="implementer",
            prompt=prompt,
            session_id=session,
            system=system,
            model=self.subject.model,
            cwd=str(self._folders[0]),
            env={**inherited, **self.subject.env, "OSTLER_ATTEMPT": self.marker},
            transcript=str(self._folders[1] / f"{uuid.uuid4()}.jsonl"),
            session_cost_usd=(before and before.session_cost_usd) or 0.0,
            session_usage=(before and before.session_usage) or Usage(),
            schema=schema,
            timeout_seconds=timeout_seconds,
            grace_seconds=1.0,
        )

    def has_trespassed(self) -> bool:
        """Return whether a file was written outside the workspace."""
        return (self._folders[0].parent / "trespass.txt").exists()

    async def spawn(self, call: AgentCall, make: Make | None = None) -> CallResult:
        return await (make or self.subject.make)().spawn(call, self.events.append)

    async def resume(self, call: AgentCall) -> CallResult:
        return await self.subject.make().resume(call, self.events.append)

    @property
    def claims(self) -> Capabilities:
        return self.subject.make().capabilities

    def is_working(self) -> bool:
        """Return whether the call has started: it has a process or, without a program, an event."""
        return bool(self.processes() if self.subject.starts_program else self.events)

    def processes(self) -> list[int]:
        """Return the pids of all live processes with this bench's marker."""
        return [process.pid for process in psutil.process_iter() if _marker_of(process) == self.marker]


Check = Callable[[Bench], Awaitable[None]]


def demand(holds: object, message: str) -> None:
    if not holds:
        raise NotConforming(message)


def demand_success(result: CallResult) -> None:
    demand(result.ok, f"a plain call ended with {result.code}: {result.message}")


def read_transcript(call: AgentCall) -> bytes:
    """Return what the program printed; empty when there is no transcript."""
    path = Path(call.transcript)
    return path.read_bytes() if path.exists() else b""


def _marker_of(process: psutil.Process) -> str:
    try:
        return process.environ().get("OSTLER_ATTEMPT", "")
    except (psutil.Error, OSError):
        return ""
