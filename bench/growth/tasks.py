"""Tasks in one project: from 10 to 10,000."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from growth.curve import Curve, Series
from growth.seed import add_tasks
from growth.server import serve
from measure import interleave, scratch, seconds
from sample import Sample

SIZES = (10, 100, 1000, 10_000)
COMMAND_ROUNDS, API_ROUNDS, PAGE = 7, 31, 10
COMMANDS = {
    "ostler status": ("status", "--page", "1", "--limit", str(PAGE)),
    "ostler new": ("new", "One more"),
}
PAGES = {"API: page of tasks": f"/tasks?limit={PAGE}", "API: inbox": "/inbox?limit=2"}
CPU_NOTE = (
    "CPU time of the whole command, minimum of 7; the sizes take turns. Half of the tasks are completed, and "
    "each answer shows ten."
)
API_NOTE = "Time of a request on loopback, minimum of 31; the sizes take turns."


def measure() -> list[Curve]:
    with scratch() as place, ExitStack() as servers:
        samples = [fill(place / str(size), size) for size in SIZES]
        path = {"PYTHONPATH": str(Path(__file__).parents[1])}
        apis = [servers.enter_context(serve(one.root, one.environ | path)) for one in samples]
        for page in PAGES.values():
            for api in apis:
                api.get(page)
        requests = {
            name: interleave(*(partial(seconds, partial(api.get, page)) for api in apis), rounds=API_ROUNDS)
            for name, page in PAGES.items()
        }
        commands = {
            name: interleave(*(partial(one.cpu, *arguments) for one in samples), rounds=COMMAND_ROUNDS)
            for name, arguments in COMMANDS.items()
        }
    return [
        Curve("tasks", "Tasks in one project", "tasks", "ms of CPU", SIZES, minima(commands), CPU_NOTE),
        Curve("tasks-api", "Requests to the API", "tasks", "ms", SIZES, minima(requests), API_NOTE),
    ]


def fill(place: Path, tasks: int) -> Sample:
    place.mkdir()
    sample = Sample(place, type="command")
    add_tasks(sample.root, sample.environ, tasks)
    print(f"tasks: a project with {tasks}", file=sys.stderr)
    return sample


def minima(measured: dict[str, tuple[list[float], ...]]) -> tuple[Series, ...]:
    """A series of the minima in milliseconds for each name."""
    return tuple(
        Series(name, tuple(min(values) * 1e3 for values in columns)) for name, columns in measured.items()
    )
