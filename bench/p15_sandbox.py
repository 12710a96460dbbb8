"""P15: the start of /bin/true in a sandbox, and in an attempt with its proxy and private git directory."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import perf_counter

from measure import MILLISECONDS, Result, not_measured, scratch, show, single

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))
from gate_world import GateWorld
from ostler.calls.sandbox.open import OpenSandbox, SandboxRequest, open_sandbox
from ostler.config.settings import SandboxSettings
from ostler.engine.steps.services import StepResult, StepServices, TaskContext
from ostler.engine.steps.workspaces.box_files import create_workspace
from ostler.model.command import Command
from ostler.process.runner import DefaultCommandRunner
from ostler.sandbox.box.self_test import why_bubblewrap_fails
from ostler.sandbox.box.tiers import choose_tier
from sandbox_driver import create_command

ROUNDS = 30
TARGETS = {
    "/bin/true under a keeper": "<= 5",
    "the same in a sandbox": "<= 50",
    "an attempt: private git directory, proxy and sandbox": "<= 100",
    "the first attempt of a run: also the indexes of the package managers": "<= 2000",
    "self-test, once per run": "<= 150",
}


def measure() -> list[Result]:
    chosen = choose_tier("auto", os.environ)
    if not chosen.is_sandbox:
        return [not_measured("P15", name, target, chosen.reason) for name, target in TARGETS.items()]
    with scratch() as place:
        os.environ["HOME"] = str(place / "home")
        Path(os.environ["HOME"]).mkdir()
        values = [*measure_launcher(place), *measure_attempts(place), measure_self_test(chosen.program)]
    named = zip(TARGETS.items(), values, strict=True)
    return [single("P15", name, found, target, MILLISECONDS) for (name, target), found in named]


def measure_launcher(place: Path) -> tuple[list[float], list[float]]:
    """Without and with a sandbox, in turns."""
    folder = place / "launcher"
    folder.mkdir()
    inside = create_command(folder, "/bin/true")
    plain = Command(inside.argv, inside.cwd, inside.env)

    async def rounds() -> list[tuple[float, float]]:
        await start(plain)
        await start(inside)
        return [
            (await timed(lambda: start(plain)), await timed(lambda: start(inside))) for _ in range(ROUNDS)
        ]

    values = asyncio.run(rounds())
    return [one for one, _ in values], [one for _, one in values]


async def start(command: Command) -> None:
    ended = await DefaultCommandRunner().run(command, lambda line: False)
    assert ended.status == 0, ended


async def timed(work: Callable[[], Awaitable[None]]) -> float:
    began = perf_counter()
    await work()
    return perf_counter() - began


def measure_attempts(place: Path) -> tuple[list[float], list[float]]:
    """Return later attempts, and the first one, which finds the package indexes."""
    world = GateWorld(place / "task")
    worktree = world.worktree()
    values: list[float] = []
    env = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]}

    async def attempts(services: StepServices, context: TaskContext) -> StepResult | None:
        for _ in range(ROUNDS + 1):
            values.append(await timed(lambda: attempt(services, context)))
        return None

    async def attempt(services: StepServices, context: TaskContext) -> None:
        workspace = create_workspace(worktree.cwd, context, services)
        request = SandboxRequest(workspace, SandboxSettings(), env, host_environ=dict(os.environ))
        async with open_sandbox(request) as opened:
            await start(build_command(worktree.cwd, opened))

    world.run(attempts)
    return values[1:], values[:1]


def build_command(cwd: Path, opened: OpenSandbox) -> Command:
    assert opened.launcher is not None, opened.record
    return Command(("/bin/true",), str(cwd), opened.env, launcher=opened.launcher)


def measure_self_test(program: str) -> list[float]:
    values: list[float] = []
    for _ in range(5):
        why_bubblewrap_fails.cache_clear()
        began = perf_counter()
        assert why_bubblewrap_fails(program, "user") == ""
        values.append(perf_counter() - began)
    return values


if __name__ == "__main__":
    show(measure())
