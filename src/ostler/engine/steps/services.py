"""What the performers depend on; created once per run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from ostler.calls.models.availability import Unavailable
from ostler.calls.services import CallServices
from ostler.clock import Clock
from ostler.config.settings import Settings
from ostler.engine.steps.mover import TaskMover
from ostler.executors.protocol import Executor
from ostler.files.layout import Layout
from ostler.git.repository import Repository
from ostler.model.event import Event
from ostler.model.ids import TaskId
from ostler.model.notice import Notice
from ostler.model.policy.model_config import ModelConfig, ModelPool
from ostler.model.state import State
from ostler.model.task import Task
from ostler.store.journal import Journal
from ostler.store.run_writer import RunWriter
from ostler.store.store import Store


class MakeExecutor(Protocol):
    """Creates the executor of a model; its attempts hold `lock` while any of their processes is alive."""

    def __call__(self, model: ModelConfig, lock: int) -> Executor: ...


def unchanged(task: Task) -> Task:
    """Return the task as it is."""
    return task


def never_held(state: State) -> Unavailable | None:
    """Let every task start."""
    return None


def take_no_proposals(task: TaskId, attempt: int, state_file: Path) -> tuple[str, ...]:
    """Take in nothing."""
    return ()


def no_event(state: State) -> None:
    """Take in nothing."""


class StepServices(Struct, frozen=True):
    """The dependencies of all performers in one run."""

    settings: Settings
    layout: Layout
    repository: Repository | None  # source of the worktrees; None: tasks share the project's directory
    journal: Journal  # for reading
    writer: RunWriter  # for writing
    store: Store  # what is beside the journal
    clock: Clock
    environ: Mapping[str, str]
    make_executor: MakeExecutor
    pool_for: Callable[[Task], ModelPool]  # models that a task may use
    get_call_services: Callable[[], CallServices]  # created by the first call
    on_completed: Callable[[Task, State], tuple[Notice, ...]]  # called before the completion is recorded
    run: str  # id of this run
    host: str = ""  # that performs the steps; empty: there is only one
    mover: TaskMover | None = (
        None  # brings tasks to other hosts; None: they stay, or all hosts share the files
    )
    amend: Callable[[Task], Task] = unchanged  # applies options of this run to a task
    take_in_file: Callable[[State], Event | None] = no_event  # a change of task.md, asked at each claim
    # Takes in the proposals that an agent left beside its state file; returns warnings about refused ones.
    take_in_proposals: Callable[[TaskId, int, Path], tuple[str, ...]] = take_no_proposals
    find_hold: Callable[[State], Unavailable | None] = never_held  # why no model of a task may be called
    explicit_settings: frozenset[str] = frozenset()  # set by a flag or variable of this run
    read_settings: Callable[[], Settings] | None = None  # reads changed files again; None: never

    def refresh(self) -> StepServices:
        """Return the services with the settings of this moment."""
        return self if self.read_settings is None else replace(self, settings=self.read_settings())


def lock_path(state: State, services: StepServices) -> Path:
    """Return the lock of the task; tasks that share the project's directory share one lock."""
    alone = services.repository is not None or state.plan.is_document
    return services.layout.lock(state.task) if alone else services.layout.in_place_lock


class TaskContext(Struct, frozen=True):
    """A task, its state and the descriptor of its lock."""

    task: Task
    state: State
    lock: int


class StepResult(Struct, frozen=True):
    """The event to record, and its notices."""

    event: Event
    notices: tuple[Notice, ...] = ()
    # Directories whose file systems are flushed before the record, unless a commit that follows contains
    # what is new.
    flush: tuple[Path, ...] = ()
