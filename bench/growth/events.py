"""Events in the journal: from 10,000 to 5 million."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from growth.curve import Curve, Series
from growth.seed import add_events, add_tasks
from growth.tasks import minima
from measure import interleave, scratch, seconds
from ostler.clock import SystemClock
from ostler.model.notice import AgentWarned
from ostler.project.project import Project
from sample import Sample

SIZES = (10_000, 100_000, 1_000_000, 5_000_000)
ROUNDS, QUICK_ROUNDS, TASKS, SHOWN = 7, 31, 100, 50
COMMAND_NOTE = (
    "CPU time of the whole command, minimum of 7; the sizes take turns. The project has 100 tasks; "
    "`events --after` prints the last 50."
)
JOURNAL_NOTE = (
    "Minimum of 31; the sizes take turns. The second series reads the state of the open tasks, as a run does "
    "when it starts."
)


def measure() -> list[Curve]:
    with scratch() as place, ExitStack() as projects:
        filled = [fill(place / str(size), size) for size in SIZES]
        samples, disk = [one for one, _ in filled], tuple(each for _, each in filled)
        journals = [projects.enter_context(Project.open(one.root, one.environ)) for one in samples]
        after = [str(project.journal.position() - SHOWN) for project in journals]
        commands = {
            "ostler status": measured([partial(one.cpu, "status") for one in samples], ROUNDS),
            "ostler events --after": measured(
                [
                    partial(one.cpu, "events", "--after", last)
                    for one, last in zip(samples, after, strict=True)
                ],
                ROUNDS,
            ),
        }
        quick = {
            "one durable append": measured([partial(seconds, partial(append, one)) for one in journals]),
            "state of the open tasks": measured([partial(seconds, partial(decide, one)) for one in journals]),
        }
    return [
        Curve(
            "events", "Events in the journal", "events", "ms of CPU", SIZES, minima(commands), COMMAND_NOTE
        ),
        Curve(
            "events-journal",
            "Reading and writing the journal",
            "events",
            "ms",
            SIZES,
            minima(quick),
            JOURNAL_NOTE,
        ),
        Curve(
            "events-disk",
            "Size of the journal",
            "events",
            "bytes per event",
            SIZES,
            (Series("journal", disk),),
            "A tool use with a short argument.",
        ),
    ]


def measured(subjects: list[partial[float]], rounds: int = QUICK_ROUNDS) -> tuple[list[float], ...]:
    return interleave(*subjects, rounds=rounds)


def append(project: Project) -> None:
    task = project.journal.open_rows()[0].id
    project.journal.notify(task, SystemClock().now(), [AgentWarned("x")])


def decide(project: Project) -> None:
    states = [project.state(row.id) for row in project.journal.open_rows()]
    assert len(states) >= TASKS // 5, states  # the open tasks were found


def fill(place: Path, size: int) -> tuple[Sample, float]:
    """A project with this many events, and the bytes of each on disk."""
    place.mkdir()
    sample = Sample(place, type="command")
    add_tasks(sample.root, sample.environ, TASKS)
    before = journal_bytes(sample)
    add_events(sample.root, sample.environ, size)
    each = (journal_bytes(sample) - before) / size
    print(f"events: a journal with {size}, {each:.0f} bytes each", file=sys.stderr)
    return sample, each


def journal_bytes(sample: Sample) -> int:
    with Project.open(sample.root, sample.environ) as project:
        database = project.layout.database
    return sum(path.stat().st_size for path in database.parent.glob(f"{database.name}*"))
