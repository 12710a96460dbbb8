"""What was seen of a cluster: the log of the agents, the journal, the remote, the hosts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

# An agent that was frozen does not work. A pause of a busy machine is shorter.
PAUSE_SECONDS = 2.0


class Beat(Struct, frozen=True):
    """One line of the agents' log."""

    host: str
    task: str
    attempt: str
    pid: int
    at: float


class Work(Struct, frozen=True):
    """A time in which one agent worked on one task without a pause."""

    host: str
    task: str
    agent: str  # unique
    first: float
    last: float


class RefUpdate(Struct, frozen=True):
    """A change of a reference in the remote."""

    ref: str
    old: str
    new: str


class History(Struct, frozen=True):
    """What the Temporal server keeps of one run of a workflow."""

    id: str
    events: int
    size: int  # bytes
    texts: Sequence[str]  # of the task or of its prompts, which do not belong there


class Evidence(Struct, frozen=True):
    """Everything that the oracle looks at."""

    tasks: Sequence[str]  # as they were created
    shown: Mapping[str, Mapping[str, Any]]  # task -> its entry in `ostler status --json`
    events: Sequence[Mapping[str, Any]]  # the whole feed
    followed: Sequence[int]  # the numbers that a reader of the feed saw while it grew
    work: Sequence[Work]
    pull_requests: Sequence[tuple[str, str]]  # branch, commit
    ref_updates: Sequence[RefUpdate]
    history: Mapping[str, Sequence[str]]  # task -> commits of its published branch
    files: Mapping[str, Mapping[str, str]]  # task -> file -> text, in its published branch
    workflows: Sequence[History] = ()
    left: Mapping[str, Sequence[str]] = {}  # host -> processes after its worker has drained
    errors: Mapping[str, str] = {}  # host -> a traceback in the output of its worker


def read_work(log: Path) -> list[Work]:
    """Read the log of the agents."""
    lines = log.read_bytes().split(b"\n")[:-1]
    return list(find_work(msgspec.json.decode(line, type=Beat) for line in lines))


def find_work(beats: Iterable[Beat]) -> Iterable[Work]:
    """Join the beats of each agent; a pause ends one time of work and begins another."""
    agents: dict[str, list[Beat]] = {}
    for beat in beats:
        agents.setdefault(f"{beat.host}:{beat.attempt}:{beat.pid}", []).append(beat)
    for agent, mine in agents.items():
        first = last = mine[0].at
        for beat in mine[1:]:
            if beat.at - last > PAUSE_SECONDS:
                yield Work(beat.host, beat.task, agent, first, last)
                first = beat.at
            last = beat.at
        yield Work(mine[0].host, mine[0].task, agent, first, last)


def find_overlaps(work: Iterable[Work]) -> dict[str, float]:
    """Return for how many seconds two agents worked on each task at the same time, where they did."""
    found: dict[str, float] = {}
    tasks: dict[str, list[Work]] = {}
    for one in work:
        tasks.setdefault(one.task, []).append(one)
    for task, spans in tasks.items():
        for number, one in enumerate(spans):
            for other in spans[number + 1 :]:
                both = min(one.last, other.last) - max(one.first, other.first)
                if other.agent != one.agent and both > 0:
                    found[task] = max(found.get(task, 0.0), both)
    return found
