"""A workspace in which an executor runs a real agent."""

from __future__ import annotations

import asyncio
import os
import uuid
from pathlib import Path
from typing import Any

import psutil

from ostler.executors.protocol import Executor
from ostler.model.call import AgentCall, AgentEvent, CallResult


class RealSeat:
    """Makes its calls there, and lists every process that they start."""

    def __init__(
        self, place: Path, executor: Executor, env: dict[str, str], model: str = "", seconds: float = 180.0
    ) -> None:
        self.workspace = place / "workspace"
        self.workspace.mkdir(parents=True, exist_ok=True)
        self.transcript = place / "transcript.jsonl"
        self.events: list[AgentEvent] = []
        self.executor = executor
        self.marker = str(uuid.uuid4())
        self.environ = {"PATH": os.environ["PATH"], "OSTLER_ATTEMPT": self.marker, **env}
        self._model = model
        self._seconds = seconds

    def call(self, prompt: str, session: str = "", **more: Any) -> AgentCall:
        return AgentCall(
            agent="implementer",
            prompt=prompt,
            session_id=session or str(uuid.uuid4()),
            cwd=str(self.workspace),
            env=self.environ,
            transcript=str(self.transcript),
            allow_unsandboxed_skip=True,  # some tests use `skip`
            **{"model": self._model, "timeout_seconds": self._seconds, "grace_seconds": 2.0, **more},
        )

    def spawn(self, prompt: str = "PROMPT-ONE", session: str = "", **more: Any) -> CallResult:
        call = self.call(prompt, session, **more)
        return asyncio.run(self.executor.spawn(call, self.events.append))

    def resume(self, prompt: str, session: str, **more: Any) -> CallResult:
        call = self.call(prompt, session, **more)
        return asyncio.run(self.executor.resume(call, self.events.append))

    def received(self, kind: type[AgentEvent]) -> list[AgentEvent]:
        return [event for event in self.events if isinstance(event, kind)]

    def processes(self) -> list[psutil.Process]:
        """Return all running processes that the agent or one of its tools started, the agent first."""
        found = [process for process in psutil.process_iter() if _marker(process) == self.marker]
        return sorted(found, key=lambda process: (process.create_time(), process.pid))


def _marker(process: psutil.Process) -> str:
    try:
        return process.environ().get("OSTLER_ATTEMPT", "")
    except (psutil.Error, OSError):
        return ""
