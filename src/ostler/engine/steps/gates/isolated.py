"""Runs the command of a gate in isolation from the user's checkout."""

from __future__ import annotations

from msgspec import Struct

from ostler.engine.steps.services import StepServices, TaskContext
from ostler.engine.steps.workspaces.shell import ShellCommand, run_shell
from ostler.model.command import Exit


class IsolatedRun(Struct, frozen=True):
    """How a command ended, and what it was isolated with."""

    exit: Exit
    isolation: str = "none"
    links: tuple[str, ...] = ()  # links to the user's checkout, and what was done about each
    blocked: str = ""  # why no verdict is possible; empty: the exit status counts


async def run_isolated(
    shell: ShellCommand, context: TaskContext, services: StepServices, network: bool = True
) -> IsolatedRun:
    """Run the command in its checkout."""
    return IsolatedRun(await run_shell(shell, context, services))
