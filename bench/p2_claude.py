"""P2: the CPU that Ostler adds to one real `claude -p` call / the CPU of claude itself.

Counted for Ostler: this process with all threads, the forker, and every keeper. Claude talks to a model
server on the loopback interface, in another process.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from time import process_time

from caller import PROMPT, Caller
from measure import MILLISECONDS, Result, interleave, not_measured, ratio, scratch, show
from ostler.process.forker_client import shared_forker

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))
from fetch_claude import claude_path

ROUNDS = 7
NAME, TARGET = "CPU added to one real claude -p call / its CPU", "<= 0.02"
ARGUMENTS = ("--print", "--verbose", "--output-format", "stream-json", "--session-id")
QUIET = {  # as the claude executor sets them
    "CLAUDE_CODE_MAX_RETRIES": "2",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
}


def measure() -> list[Result]:
    program = claude_path()
    if not program.exists():
        return [not_measured("P2", NAME, TARGET, "claude is not installed: make claude")]
    with scratch() as place, model_server() as url, asyncio.Runner() as loop:
        environ = {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "x",
            "CLAUDE_CONFIG_DIR": str(place / "config"),
        }
        caller = loop.run(open_caller(place, program, environ))
        loop.run(caller.call())  # claude writes its configuration once
        ours, theirs = interleave(
            lambda: loop.run(added_cpu(caller)), lambda: claude_cpu(program, place, environ), rounds=ROUNDS
        )
        loop.run(caller.close())
    return [ratio("P2", NAME, ours, theirs, TARGET, MILLISECONDS)]


@contextmanager
def model_server() -> Generator[str]:
    """The address of a model server that answers at once, in its own process."""
    command = [sys.executable, "-m", "ostler", "testing", "serve-model", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield json.loads(server.stdout.readline())["url"]
        server.kill()


async def open_caller(place: Path, program: Path, environ: dict[str, str]) -> Caller:
    return Caller(place / "project", "claude", program, environ=environ)


async def added_cpu(caller: Caller) -> float:
    """CPU of everything that is ours during one call."""
    forker = shared_forker().pid
    before, began = tree_cpu(forker), process_time()
    call = asyncio.create_task(caller.call())
    await asyncio.sleep(0.2)
    looked = process_time()
    agents = [agent for keeper in children_of(forker) for agent in children_of(keeper)]
    assert len(agents) == 1, f"{len(agents)} agents run, not one claude"
    # A forker that is stopped reaps no keeper, so the CPU of a keeper that has ended can still be read.
    os.kill(forker, signal.SIGSTOP)
    began += process_time() - looked
    try:
        await call
        own = process_time() - began
        return own + spent_since(before, tree_cpu(forker))
    finally:
        os.kill(forker, signal.SIGCONT)


def tree_cpu(forker: int) -> dict[int, float]:
    """CPU seconds of the forker and of each of its keepers."""
    return {pid: cpu_of(pid) for pid in (forker, *children_of(forker))}


def children_of(pid: int) -> list[int]:
    """The children of a process with one thread, also those that have ended and are not reaped yet."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def spent_since(before: dict[int, float], after: dict[int, float]) -> float:
    return sum(spent - before.get(pid, 0.0) for pid, spent in after.items())


def cpu_of(pid: int) -> float:
    """CPU seconds of a process with one thread, to the nanosecond."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def claude_cpu(program: Path, place: Path, environ: dict[str, str]) -> float:
    """CPU of claude, started by itself with the same arguments, prompt and model server."""
    with (place / "prompt").open("w+") as prompt:
        prompt.write(PROMPT)
        prompt.seek(0)
        child = subprocess.Popen(
            [str(program), *ARGUMENTS, str(uuid.uuid4())],
            cwd=place / "project",
            env={"PATH": os.environ["PATH"], "HOME": str(place / "project"), **QUIET, **environ},
            stdin=prompt,
            stdout=subprocess.DEVNULL,
        )
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, f"claude exited with {child.returncode}"
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    show(measure())
