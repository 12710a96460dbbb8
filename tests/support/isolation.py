"""A stand-in for the isolation of gates: the command runs as it is, and the record names an isolation."""

from __future__ import annotations

import pytest

from ostler.engine.steps.gates.isolated import IsolatedRun
from ostler.engine.steps.services import StepServices, TaskContext
from ostler.engine.steps.workspaces.shell import ShellCommand, run_shell

USERS = ("ostler.engine.steps.gates.control", "ostler.engine.steps.gates.reported_run")


class FakeIsolation:
    """Records every run of a gate, and whether it had a network."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str = "bind-over") -> None:
        self.name = name
        self.runs: list[tuple[str, bool]] = []  # log and network
        for user in USERS:
            monkeypatch.setattr(f"{user}.run_isolated", self.run)

    async def run(
        self, shell: ShellCommand, context: TaskContext, services: StepServices, network: bool = True
    ) -> IsolatedRun:
        self.runs.append((shell.log.name, network))
        if network:
            return IsolatedRun(await run_shell(shell, context, services), self.name)
        # The variable NETWORK has what a real isolation would have disabled.
        offline = ShellCommand(f"NETWORK=off; {shell.command}", shell.cwd, shell.log, shell.timeout_seconds)
        return IsolatedRun(await run_shell(offline, context, services), self.name)
