"""What the performers work with, handed in once per run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ParamSpec, Protocol, TypeVar

from msgspec import Struct

from ostler.clock import Clock
from ostler.config.settings import Settings
from ostler.errors import Code
from ostler.executors.protocol import Executor
from ostler.files.layout import Layout
from ostler.git.repository import Repository
from ostler.model.choice import Choice, ModelPool
from ostler.model.event import Event
from ostler.model.notice import Notice
from ostler.model.state import State
from ostler.model.task import Task
from ostler.store.journal import Journal
from ostler.store.writer import GroupWriter
from ostler.worker.stable import Stable

_P = ParamSpec("_P")
_T = TypeVar("_T")

HOST_TROUBLE = frozenset(
    {
        Code.DISK_FULL,
        Code.STORAGE_ERROR,
        Code.SPAWN_FAILED,
        Code.STATE_BUSY,
        Code.STATE_CORRUPT,
        Code.STATE_VERSION,
    }
)
"""Not the task's fault: the run stops and the task stays as it is."""


class MakeExecutor(Protocol):
    """Makes the executor of a model, whose attempts hold `lock` until nothing of them is alive."""

    def __call__(self, choice: Choice, lock: int) -> Executor: ...


def as_written(task: Task) -> Task:
    """The task, with nothing added to what was said of it."""
    return task


class Tools(Struct, frozen=True):
    settings: Settings
    layout: Layout
    repository: Repository | None  # where worktrees are made; None: tasks share the project's directory
    journal: Journal  # to read
    writer: GroupWriter  # to write
    clock: Clock
    environ: Mapping[str, str]
    make_executor: MakeExecutor
    pool_for: Callable[[Task], ModelPool]  # the models that a task may use
    stable: Callable[[], Stable]  # made when the first call needs it
    completed: Callable[[Task, State], tuple[Notice, ...]]  # before that is recorded: what follows from it
    run: str  # this run's name
    amend: Callable[[Task], Task] = as_written  # what this run wants of a task besides what was said of it


def lock_path(state: State, tools: Tools) -> Path:
    """The lock that whoever carries the task holds."""
    alone = tools.repository is not None or state.plan.document
    return tools.layout.lock(state.task) if alone else tools.layout.in_place_lock


class Case(Struct, frozen=True):
    """One task in hand: what was asked, where it stands, and its lock."""

    task: Task
    state: State
    lock: int


class Answer(Struct, frozen=True):
    """What a performer gives back: the event to record, and notices to go with it."""

    event: Event
    notices: tuple[Notice, ...] = ()


async def to_its_end(work: Callable[_P, _T], *args: _P.args, **more: _P.kwargs) -> _T:
    """Work in a thread that is waited for even when cancelled: the lock must not be free while it writes."""
    thread = asyncio.create_task(asyncio.to_thread(work, *args, **more))
    try:
        return await asyncio.shield(thread)
    except asyncio.CancelledError:
        await asyncio.wait({thread})
        thread.exception()  # nobody waits for it any more; unasked, asyncio would print it
        raise
