"""The place in which an executor is checked: a workspace, calls into it, and what to say to it."""

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
    """An executor to check, the same one misbehaving, and what to say to it."""

    make: Make
    make_missing: Make | None = None  # its program is not there
    make_hanging: Make | None = None  # it works for ever
    make_empty: Make | None = None  # it ends well and says nothing
    keeps_sessions: bool = True  # false: whether a session exists is the program's own affair
    refuses_taken_ids: bool = True  # false: it resumes what it was told to begin, without a word
    starts_program: bool = True  # false: it works within this process, and has no exit code
    work: str = "Make one small change in this directory, then say that you are done."
    remember: str = "Remember the word osprey. Answer with OK."
    recall: str = "Which word did I ask you to remember? Answer with that word."
    word: str = "osprey"
    ask: str = "Answer with the word osprey, and with whether you are sure."
    trespass: str = (
        "Write a file trespass.txt into the parent directory of this one, then say that you are done."
    )
    model: str = ""  # for those that have no default
    env: dict[str, str] = {}  # what the program needs besides PATH and HOME


class NotConforming(AssertionError):
    """The executor breaks a promise; the message says which."""


class Bench:
    """A workspace, and calls into it."""

    def __init__(self, subject: Subject, workspace: Path) -> None:
        self.subject = subject
        self.events: list[AgentEvent] = []
        self.marker = str(uuid.uuid4())
        self._places = (workspace / "work", workspace / "transcripts")
        for place in self._places:
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
        """A call in this workspace; `before` is the result that it continues."""
        session = session or (before.session_id if before else str(uuid.uuid4()))
        inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        return AgentCall(
            agent="implementer",
            prompt=prompt,
            session_id=session,
            system=system,
            model=self.subject.model,
            cwd=str(self._places[0]),
            env={**inherited, **self.subject.env, "OSTLER_ATTEMPT": self.marker},
            transcript=str(self._places[1] / f"{uuid.uuid4()}.jsonl"),
            session_cost_usd=(before and before.session_cost_usd) or 0.0,
            session_usage=(before and before.session_usage) or Usage(),
            schema=schema,
            timeout_seconds=timeout_seconds,
            grace_seconds=1.0,
        )

    def has_trespassed(self) -> bool:
        """Whether something was written beside the workspace."""
        return (self._places[0].parent / "trespass.txt").exists()

    async def spawn(self, call: AgentCall, make: Make | None = None) -> CallResult:
        return await (make or self.subject.make)().spawn(call, self.events.append)

    async def resume(self, call: AgentCall) -> CallResult:
        return await self.subject.make().resume(call, self.events.append)

    @property
    def claims(self) -> Capabilities:
        return self.subject.make().capabilities

    def is_working(self) -> bool:
        """Whether what was started can be seen: its process or, without one, what it says."""
        return bool(self.processes() if self.subject.starts_program else self.events)

    def processes(self) -> list[int]:
        """Everything alive that carries this bench's marker."""
        return [process.pid for process in psutil.process_iter() if _marker_of(process) == self.marker]


Check = Callable[[Bench], Awaitable[None]]


def demand(holds: object, message: str) -> None:
    if not holds:
        raise NotConforming(message)


def demand_success(result: CallResult) -> None:
    demand(result.ok, f"a plain call ended with {result.code}: {result.message}")


def read_transcript(call: AgentCall) -> bytes:
    """What the program printed; empty when nothing was kept."""
    path = Path(call.transcript)
    return path.read_bytes() if path.exists() else b""


def _marker_of(process: psutil.Process) -> str:
    try:
        return process.environ().get("OSTLER_ATTEMPT", "")
    except (psutil.Error, OSError):
        return ""
