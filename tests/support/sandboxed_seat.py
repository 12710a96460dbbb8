"""A workspace in which an executor runs a real agent in a sandbox, with a local model server."""

from __future__ import annotations

import asyncio
import subprocess
import uuid
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ostler.calls.sandbox.agent import AgentSandbox, SandboxedCall, open_agent_sandbox
from ostler.config.settings import SandboxSettings, Settings
from ostler.model.call import AccessRefused, AgentEvent, CallResult
from real_seat import RealSeat

IDENTITY = {"user.name": "Ada", "user.email": "ada@example.org"}


class SandboxedSeat:
    """Makes the calls of a seat in a sandbox; the private home directory stays between them."""

    def __init__(self, seat: RealSeat, **sandbox: Any) -> None:
        self.seat = seat
        self.settings = Settings(sandbox=SandboxSettings(tier="bubblewrap", **sandbox))
        self.opened: list[SandboxedCall] = []

    @property
    def home(self) -> Path:
        """The private home directory of the last call, on this machine."""
        return Path(self.opened[-1].call.home)

    def run(self, prompt: str, session: str = "", *, resume: bool = False, **more: Any) -> CallResult:
        call = self.seat.call(prompt, session or str(uuid.uuid4()), **more)
        call = replace(call, allow_unsandboxed_skip=False)
        agent = AgentSandbox(call, self.seat.executor, self.settings, self.seat.events.append)
        return asyncio.run(self._run(agent, resume=resume))

    async def _run(self, agent: AgentSandbox, *, resume: bool) -> CallResult:
        start = agent.executor.resume if resume else agent.executor.spawn
        async with open_agent_sandbox(agent) as sandboxed:
            self.opened.append(sandboxed)
            return await start(sandboxed.call, self.seat.events.append)

    @property
    def refusals(self) -> list[str]:
        return [event.target for event in self.seat.events if isinstance(event, AccessRefused)]

    def make_repository(self, **files: str) -> None:
        """Make the workspace a repository with these files and an identity."""
        for name, content in files.items():
            (self.seat.workspace / name).write_text(content)
        self.git("init", "-q", "-b", "main")
        for name, value in IDENTITY.items():
            self.git("config", name, value)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "first")

    def git(self, *args: str) -> str:
        done = subprocess.run(
            ["git", *args], cwd=self.seat.workspace, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()


def texts(events: list[AgentEvent], kind: type[AgentEvent], field: str) -> str:
    """Return a field of all events of a kind as one text."""
    return "\n".join(str(getattr(event, field)) for event in events if isinstance(event, kind))
