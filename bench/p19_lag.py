"""P19: how late the event loop of a run with 32 slots is, while agents stream and tasks start and end.

Each task has a worktree, one call and one commit. The baseline is an empty event loop in another process, at
the same time: the lateness that the machine itself causes.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable
from pathlib import Path

from measure import MILLISECONDS, Result, scratch, show, spread
from ostler.model.task import Task
from ostler.project.ostler import Ostler
from ostler.project.project import Project
from sample import Sample

ROUNDS, SLOTS, PAUSE_SECONDS = 5, 32, 0.005
TICKS, PER_SECOND = 20, 10
ENVIRON = {"OSTLER_POOLS__MEDIUM__SIZE": str(SLOTS), "OSTLER_HOST__MIN_FREE_MEMORY_MB": "0"}
AGENT = """#!{python} -IS
import json, time

def say(block):
    message = {{"id": "m", "role": "assistant", "content": [block], "usage": {{"input_tokens": 1}}}}
    print(json.dumps({{"type": "assistant", "session_id": "s", "message": message}}), flush=True)

print(json.dumps({{"type": "system", "subtype": "init", "session_id": "s", "model": "none"}}), flush=True)
for tick in range({ticks}):
    for _ in range(4):
        say({{"type": "text", "text": "I look at the next file. " * 8}})
    say({{"type": "tool_use", "id": f"t{{tick}}", "name": "Bash", "input": {{"command": "make test"}}}})
    time.sleep(1 / {per_second})
open("hello.txt", "a").write("hello\\n")
answer = "<phase_complete>true</phase_complete>"
result = {{"subtype": "success", "is_error": False, "session_id": "s", "result": answer}}
print(json.dumps({{"type": "result", **result}}))
"""


def measure() -> list[Result]:
    late, bare = list[float](), list[float]()
    for _ in range(ROUNDS):
        with scratch() as place:
            write_project(place)
            command = [sys.executable, __file__, str(place)]
            with subprocess.Popen([*command, "bare"], stdout=subprocess.PIPE, stdin=subprocess.PIPE) as empty:
                late.append(json.loads(subprocess.check_output([*command, "run"])))
                bare.append(json.loads(empty.communicate()[0]))
    name = f"lateness of the event loop, {SLOTS} slots: p99; an empty loop beside it"
    figure = min(late) * MILLISECONDS.scale
    return [
        Result("P19", name, figure, "<= 20", "ms", spread(late, MILLISECONDS), spread(bare, MILLISECONDS))
    ]


def write_project(place: Path) -> None:
    sample = Sample(place)
    sample.agent.write_text(AGENT.format(python=sys.executable, ticks=TICKS, per_second=PER_SECOND))


async def run_tasks(place: Path) -> float:
    environ = {"PATH": os.environ["PATH"], "HOME": str(place), **ENVIRON}
    project = Project.open(place / "project", environ, create=True)
    async with Ostler(project, environ) as ostler:
        for number in range(SLOTS):
            project.add(Task(f"Task {number}"))
        late = await find_p99(ostler.run_all(jobs=SLOTS))
        statuses = [str(view.status) for view in ostler.tasks()]
    assert statuses == ["completed"] * SLOTS, statuses
    return late


async def find_p99(work: Awaitable[object]) -> float:
    """The 99th percentile of how late a sleeper wakes up while the work continues."""
    loop, late = asyncio.get_running_loop(), list[float]()
    working = asyncio.ensure_future(work)
    while not working.done():
        due = loop.time() + PAUSE_SECONDS
        await asyncio.sleep(PAUSE_SECONDS)
        late.append(loop.time() - due)
    await working
    return sorted(late)[len(late) * 99 // 100]


async def check_probe() -> None:
    """Check that the probe finds a loop that is blocked for 50 ms once in a while."""

    async def block() -> None:
        for _ in range(5):
            await asyncio.sleep(0.02)
            await asyncio.to_thread(lambda: None)
            asyncio.get_running_loop().call_soon(os.system, "sleep 0.05")

    assert await find_p99(block()) >= 0.04


if __name__ == "__main__":
    match sys.argv[1:]:
        case [place, "run"]:
            asyncio.run(check_probe())
            print(asyncio.run(run_tasks(Path(place))))
        case [_, "bare"]:
            print(asyncio.run(find_p99(asyncio.to_thread(sys.stdin.read))))
        case _:
            show(measure())
