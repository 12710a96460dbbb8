"""The executors of orc on Ostler's phase engine: whole tasks, single phases, and the three strategies."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct
from msgspec.structs import replace

from ostler.calls.debugger import PrePromptEvent, StopRun
from ostler.compat.orc_events import Event, EventPublisher, FeedTranslator, read_answer
from ostler.errors import Code, UsageError
from ostler.executors.registry import ExecutorRegistry
from ostler.model.ids import TaskId, adopt_task_id, is_task_id
from ostler.model.outcome import Outcome
from ostler.model.plan import MAX_ITERATIONS, PHASES, GateType, Plan, Strategy, choose_strategy
from ostler.model.state import GateVerdict, PhaseStatus, State
from ostler.model.task import Task, Weight
from ostler.model.usage import Usage
from ostler.project.ostler import Ostler
from ostler.project.project import Project
from ostler.project.tasks.planning import plan_task

_POLL_SECONDS = 0.1
_FLUSH_SECONDS = 5.0  # that a receiver has for the last events after the run
_APPROVED: tuple[GateVerdict, ...] = ("pass", "skipped", "overruled", "not_checked")
_log = logging.getLogger(__name__)

Session = Literal["none", "phase", "persistent"]
Checkpoints = Literal["none", "phase", "iteration"]


class ExecutorConfig(Struct, frozen=True):
    """The settings that orc's programs set in code, with orc's defaults; all others are the project's."""

    max_iterations: int | None = None  # of each phase; None: 5, 10, 20, 30 or 50, by the weight
    timeout_seconds: float = 600.0  # of one attempt
    max_retries: int = 2  # how often a phase may send the work back
    profile: Literal["auto", "fast", "safe", "strict"] = "auto"
    worktree: bool = True
    cleanup_on_complete: bool = True
    cleanup_on_fail: bool = False
    branch_prefix: str = "orc/"
    commit_prefix: str = "[orc]"
    executor: str = ""  # empty: that of the project
    model: str = ""  # empty: that of the project


class PhaseResult(Struct, frozen=True):
    """The result of one phase."""

    phase: str
    status: PhaseStatus
    iterations: int
    duration_seconds: float
    output: str = ""  # the last answer of the agent
    error: str = ""
    commit_sha: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0


class GateDecision(Struct, frozen=True):
    """The verdict of the gate of a phase; `approved` if the next phase may start."""

    approved: bool
    verdict: GateVerdict
    reason: str = ""
    type: GateType = "auto"
    commit_sha: str | None = None  # that was checked


class PhaseExecutor(Protocol):
    """Runs one phase of a task."""

    @property
    def name(self) -> str: ...

    async def execute(self, task: Task, phase: str = "implement") -> PhaseResult:
        """Run the phase until it is complete or blocked, or has used its iterations."""
        ...


class Executor:
    """Runs tasks phase by phase in a project; its state is in the project's journal."""

    def __init__(
        self,
        root: str | Path = ".",
        config: ExecutorConfig | None = None,
        publisher: EventPublisher | None = None,
        *,
        executors: ExecutorRegistry | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._root = Path(root)
        self._config = config or ExecutorConfig()
        self._publisher = publisher or EventPublisher()
        self._executors = executors
        self._environ = dict(os.environ if environ is None else environ)
        self._environ.pop("OSTLER_PROJECT", None)  # the explicit directory has precedence

    async def execute_task(self, task: Task) -> Outcome:
        """Run all phases of a new task, or continue one with the same id.

        Raise UsageError for an invalid task; every other ending is the outcome.
        """
        async with self._open() as ostler:
            added = await ostler.add(_adopt(task))
            return await self._run(ostler, added.id)

    async def resume_from_phase(self, task_id: str, phase: str, feedback: str = "") -> Outcome:
        """Run a task again from the start of a phase; the work of earlier phases stays."""
        async with self._open() as ostler:
            found = ostler.project.resolve(task_id)
            await ostler.act(found, "rewind", phase=phase, text=feedback)
            return await self._run(ostler, found)

    async def execute_phase(self, task: Task, phase: str) -> PhaseResult:
        """Run the next phase of a task, with its checkpoint and its gate, and stop before the one after it.

        Raise UsageError when another phase is next.
        """
        async with self._open(_StopAfter(phase)) as ostler:
            added = await ostler.add(_adopt(task))
            _require_next(ostler.project.state(added.id), phase)
            outcome = await self._run(ostler, added.id)
            return _build_result(ostler.project, added.id, phase, outcome)

    def load_plan(self, task: Task | str) -> Plan:
        """Return the plan of a task by its id, or the one that a new task would get.

        Raise UsageError for an unknown id and for a task that cannot be planned.
        """
        with self._open_project() as project:
            if isinstance(task, str):
                return project.state(project.resolve(task)).plan
            return plan_task(_adopt(task), project.loaded, project.layout.root)

    def evaluate_gate(self, task_id: str, phase: str) -> GateDecision:
        """Return the verdict on the last commit of a phase; raise UsageError when there is none yet."""
        with self._open_project() as project:
            state = project.state(project.resolve(task_id))
            index = _find_phase(state, phase)
            gate = state.phases[index].gate
            if gate is None:
                raise UsageError(f"the gate of {phase} of {state.task} has not been checked", "run the phase")
            kind = gate.type or state.plan.phases[index].gate.type
            return GateDecision(gate.verdict in _APPROVED, gate.verdict, gate.reason, kind, gate.sha)

    def _open_project(self) -> Project:
        if not self._root.is_dir():
            raise UsageError(f"no directory {self._root}", "create it, or pass another path")
        return Project.open(self._root, self._environ, _to_settings(self._config), create=True)

    @asynccontextmanager
    async def _open(self, debugger: _StopAfter | None = None) -> AsyncGenerator[Ostler]:
        async with Ostler(self._open_project(), self._environ, debugger, executors=self._executors) as ostler:
            yield ostler

    async def _run(self, ostler: Ostler, task: TaskId) -> Outcome:
        events: asyncio.Queue[Event] = asyncio.Queue()
        feed = FeedTranslator(ostler.project, task, EventPublisher(events.put_nowait))
        publishing = asyncio.create_task(_publish(feed))
        delivering = asyncio.create_task(_deliver(events, self._publisher))
        try:
            return await ostler.run(task)
        finally:
            publishing.cancel()
            feed.publish_new()
            await _flush(events)
            delivering.cancel()


class _StopAfter:
    """Stops the run before the first prompt of another phase."""

    def __init__(self, phase: str) -> None:
        self._phase = phase

    async def pre_prompt(self, event: PrePromptEvent) -> None:
        if event.data.phase != self._phase:
            raise StopRun


class _StrategyExecutor:
    """Runs one phase as a task of its own, with the strategy of a weight."""

    weights: tuple[Weight, ...] = ()
    session: Session = "none"
    checkpoints: Checkpoints = "none"

    def __init__(self, executor: Executor | str | Path = ".", weight: Weight | None = None) -> None:
        self._executor = executor if isinstance(executor, Executor) else Executor(executor)
        self.weight: Weight = self.weights[-1] if weight is None else weight
        if self.weight not in self.weights:
            raise UsageError(f"{self.name} does not run {weight} tasks", f"use {', '.join(self.weights)}")

    @property
    def name(self) -> str:
        return type(self).__name__.removesuffix("Executor").lower()

    @property
    def strategy(self) -> Strategy:
        """The strategy of the engine."""
        return choose_strategy(self.weight)

    @property
    def max_iterations(self) -> int:
        return MAX_ITERATIONS[self.weight]

    async def execute(self, task: Task, phase: str = "implement") -> PhaseResult:
        """Run the phase until it is complete or blocked, or has used its iterations."""
        return await self._executor.execute_phase(replace(task, weight=self.weight, phases=(phase,)), phase)


class TrivialExecutor(_StrategyExecutor):
    """A new session for each iteration, with the last answer in its prompt; at most 5 iterations."""

    weights = ("trivial",)


class StandardExecutor(_StrategyExecutor):
    """One session per phase, a commit when it is complete; at most 20 iterations (small: 10)."""

    weights = ("small", "medium")
    session = "phase"
    checkpoints = "phase"


class FullExecutor(_StrategyExecutor):
    """A session that is resumed after a crash, a commit after each iteration; at most 30 or 50 iterations."""

    weights = ("greenfield", "large")
    session = "persistent"
    checkpoints = "iteration"


def executor_for_weight(weight: Weight, executor: Executor | str | Path = ".") -> PhaseExecutor:
    """Return the executor of a weight; raise UsageError for an unknown one."""
    for kind in (TrivialExecutor, StandardExecutor, FullExecutor):
        if weight in kind.weights:
            return kind(executor, weight)
    raise UsageError(f"unknown weight {weight!r:.80}", f"use one of {', '.join(PHASES)}")


async def _publish(feed: FeedTranslator) -> None:
    while True:
        await asyncio.sleep(_POLL_SECONDS)
        feed.publish_new()


async def _deliver(events: asyncio.Queue[Event], publisher: EventPublisher) -> None:
    """Send the events in order, in a thread: a slow receiver does not delay the run."""
    while True:
        await asyncio.to_thread(publisher.publish, await events.get())
        events.task_done()


async def _flush(events: asyncio.Queue[Event]) -> None:
    try:
        async with asyncio.timeout(_FLUSH_SECONDS):
            await events.join()
    except TimeoutError:
        _log.warning("the receiver is too slow: events that it does not get: %d", events.qsize())


def _to_settings(config: ExecutorConfig) -> dict[str, object]:
    """Return the config as settings that override the project's."""
    chosen = {"run.executor": config.executor, "run.model": config.model}
    names = sorted({name for names in PHASES.values() for name in names})
    limits = {f"phases.options.{name}.max_iterations": config.max_iterations for name in names}
    return {
        "run.timeout_seconds": config.timeout_seconds,
        "phases.max_phase_retries": config.max_retries,
        "phases.profile": config.profile,
        "git.worktree": config.worktree,
        "git.cleanup_on_complete": config.cleanup_on_complete,
        "git.cleanup_on_fail": config.cleanup_on_fail,
        "git.branch_prefix": config.branch_prefix,
        "git.commit_prefix": config.commit_prefix,
        **{name: value for name, value in chosen.items() if value},
        **(limits if config.max_iterations is not None else {}),
    }


def _adopt(task: Task) -> Task:
    """Return the task with an id of ours; that of orc, such as TASK-001, is kept."""
    if not task.id or is_task_id(task.id):
        return task
    return replace(task, id=adopt_task_id(task.id), external_id=task.external_id or task.id)


def _find_phase(state: State, phase: str) -> int:
    index = state.plan.index(phase)
    if index is None:
        known = ", ".join(one.id for one in state.plan.phases)
        raise UsageError(f"{state.task} has no phase {phase!r:.80}", f"its phases: {known}")
    return index


def _require_next(state: State, phase: str) -> None:
    index = _find_phase(state, phase)
    if state.phases[index].status in ("completed", "skipped"):
        status = state.phases[index].status
        raise UsageError(f"{phase} of {state.task} is {status}", "resume_from_phase runs it again")
    if index != state.phase:
        raise UsageError(f"the next phase of {state.task} is {state.current.id}, not {phase}", "run it first")


def _build_result(project: Project, task: TaskId, phase: str, outcome: Outcome) -> PhaseResult:
    state = project.state(task)
    done = state.phases[_find_phase(state, phase)]
    attempts = [one for one in project.journal.attempts(task) if one.phase == phase]
    used = sum((one.usage for one in attempts), Usage())
    is_done = done.status in ("completed", "skipped")
    has_failed = not is_done and outcome.code not in (None, Code.INTERRUPTED)
    return PhaseResult(
        phase,
        "failed" if has_failed else done.status,
        done.iterations,
        sum(one.duration_ms or 0 for one in attempts) / 1000,
        read_answer(project, attempts[-1] if attempts else None),
        "" if is_done else outcome.message or (done.gate.reason if done.gate else ""),
        done.commit,
        used.input_tokens,
        used.output_tokens,
    )
