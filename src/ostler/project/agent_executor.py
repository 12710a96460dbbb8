"""The seed's AgentExecutor: one document, from its task to the file, and never an exception.

    from ostler import AgentExecutor, Task
    from ostler.testing.mocks import MockClaudeClient

    async def main():
        executor = AgentExecutor(MockClaudeClient(), ".")
        result = await executor.execute(Task("Who buys hay", skill="research"))
        if result.error:
            print(result.error.code, result.error)
        else:
            print(result.output_path, result.tokens_used.total)

It has no engine of its own: the task is added to the project, claimed, run and kept as `ostler run` does it,
with the client that it is given in the place of the one that the settings name.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from ostler.clock import Clock, SystemClock
from ostler.errors import Code, OstlerError, UsageError, Warn
from ostler.llm.client import ClaudeClient
from ostler.model.event import TaskClaimed
from ostler.model.ids import TaskId
from ostler.model.state import State
from ostler.model.status import EXECUTABLE, TaskStatus
from ostler.model.task import Task
from ostler.model.usage import Usage
from ostler.project.execution import ExecutionError, ExecutionErrorCode, ExecutionResult, TokensUsed, failed
from ostler.project.executor_config import AgentConfig, ExecutorConfig, amend, settings_of
from ostler.project.given_client import registry_with
from ostler.project.ostler import Ostler
from ostler.project.project import Project

_WRITTEN = (TaskStatus.COMPLETED, TaskStatus.APPROVED, TaskStatus.NEEDS_REVIEW)
_AS_USUAL = AgentConfig()
_ABORTED = "aborted by its caller"


class AgentExecutor:
    """Executes tasks with one client; stateless, so that any number may be under way at once."""

    def __init__(
        self,
        client: ClaudeClient,
        project: Project | Path | str | None = None,  # none: config.project_root
        config: ExecutorConfig | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._config = config or ExecutorConfig()
        self._root = _root_of(self._config.project_root if project is None else project)
        self._executors = registry_with(client, self._config)
        self._environ = dict(os.environ if environ is None else environ)
        if project is not None:
            self._environ.pop("OSTLER_PROJECT", None)  # the place that was named counts
        self._clock = clock or SystemClock()

    async def execute(
        self,
        task: Task,
        signal: asyncio.Event | None = None,
        agent_config: AgentConfig | None = None,
    ) -> ExecutionResult:
        """Run a task that is new, or stands in the project and may be begun; the result says all.

        Setting `signal` ends it: before it began nothing is changed, afterwards the task is cancelled.
        Cancelling the coroutine instead leaves the task to be executed again, and is raised.
        """
        began = self._clock.monotonic()
        try:
            result = await self._execute(task, signal or asyncio.Event(), agent_config or _AS_USUAL)
        except Exception as error:  # noqa: BLE001  (a result is promised, whatever went wrong)
            result = failed(task.id, task.skill, error)
        return replace(result, duration_ms=round((self._clock.monotonic() - began) * 1000))

    async def _execute(self, task: Task, signal: asyncio.Event, wanted: AgentConfig) -> ExecutionResult:
        if not task.id:
            _require_wanted(signal)
        async with self._open(wanted) as ostler:
            known = _find(task, ostler.project)
            _require_document(known or task)
            _require_wanted(signal)
            added = known or await ostler.add(task)
            return await _run(ostler, added, signal)

    def _open(self, wanted: AgentConfig) -> Ostler:
        """A run of its own for each execution, so that its claim can be told from all others."""
        flags = settings_of(self._config)
        return Ostler(
            Project.open(self._root, self._environ, flags, create=True),
            self._environ,
            executors=self._executors,
            amend=partial(amend, config=self._config, wanted=wanted),
            clock=self._clock,
        )


async def _run(ostler: Ostler, task: Task, signal: asyncio.Event) -> ExecutionResult:
    watch = asyncio.create_task(_end_at(signal, ostler, task.id))
    trouble: Exception | None = None
    try:
        await ostler.run_all([task.id], jobs=1, leave_busy=True)
    except Exception as error:  # noqa: BLE001  (whose task it was, and what was used until then, is known)
        trouble = error
    finally:
        watch.cancel()
    state = ostler.project.state(task.id)
    trouble = trouble or _why_not_begun(ostler, state, signal) or _why_not_written(state)
    result = failed(task.id, task.skill, trouble) if trouble else _completed(task, state)
    return replace(result, tokens_used=_tokens_of(ostler, task.id))


async def _end_at(signal: asyncio.Event, ostler: Ostler, task: TaskId) -> None:
    """What another run has in hand is not ours to cancel."""
    await signal.wait()
    if _has_claimed(ostler, task):
        with suppress(UsageError):  # it has just ended by itself
            ostler.cancel(task, _ABORTED)
    else:
        ostler.stop()


def _completed(task: Task, state: State) -> ExecutionResult:
    others = tuple(word for word in state.warnings if word != Warn.RESPONSE_TRUNCATED)
    asks = (state.message,) if state.status is TaskStatus.NEEDS_REVIEW else ()
    return ExecutionResult(
        task.id,
        task.skill,
        "completed",
        output_path=state.output,
        warning=_truncated(task.id) if Warn.RESPONSE_TRUNCATED in state.warnings else None,
        warnings=(*others, *asks),
    )


def _truncated(task: TaskId) -> ExecutionError:
    message = "the answer was cut off at its longest; the document ends there"
    return ExecutionError(message, ExecutionErrorCode.RESPONSE_TRUNCATED, task)


def _why_not_begun(ostler: Ostler, state: State, signal: asyncio.Event) -> OstlerError | None:
    """Only one of those that try writes its claim into the journal."""
    if _has_claimed(ostler, state.task):
        return None
    if signal.is_set():
        return _aborted()
    if ostler.project.in_hand(state.task):
        return OstlerError(Code.CONFLICT, f"another run has {state.task} in hand", "wait for its end")
    return _not_executable(state.task, state.message or f"is {state.status} and cannot be begun now")


def _why_not_written(state: State) -> OstlerError | None:
    if state.status in _WRITTEN:
        return None
    return OstlerError(state.code or Code.UNKNOWN, state.message or f"{state.task} is {state.status}")


def _tokens_of(ostler: Ostler, task: TaskId) -> TokensUsed:
    ours = (one.usage for one in ostler.project.journal.attempts(task) if one.owner == ostler.name)
    used = sum(ours, Usage())
    return TokensUsed(used.input_tokens, used.output_tokens)


def _has_claimed(ostler: Ostler, task: TaskId) -> bool:
    records = ostler.project.journal.read(task)
    claims = [record.event.run for record in records if isinstance(record.event, TaskClaimed)]
    return claims[-1:] == [ostler.name]


def _find(task: Task, project: Project) -> Task | None:
    """The task as it was added, if it may be begun; None for a new one."""
    if not task.id or project.journal.row(task.id) is None:
        return None
    state = project.state(task.id)
    if state.status not in EXECUTABLE:
        raise _not_executable(task.id, f"is {state.status}")
    return project.task(task.id)


def _require_document(task: Task) -> None:
    if not task.is_document:
        raise _not_executable(task.id or repr(task.title), "names neither a skill nor an output")


def _require_wanted(signal: asyncio.Event) -> None:
    if signal.is_set():
        raise _aborted()


def _not_executable(task: str, why: str) -> OstlerError:
    return OstlerError(Code.TASK_NOT_EXECUTABLE, f"{task} {why}", "pending, assigned and revision are begun")


def _aborted() -> OstlerError:
    return OstlerError(Code.ABORTED, f"{_ABORTED} before it began")


def _root_of(project: Project | Path | str) -> Path:
    return project.layout.root if isinstance(project, Project) else Path(project)
