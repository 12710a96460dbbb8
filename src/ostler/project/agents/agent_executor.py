"""The marketing agents' AgentExecutor: writes one document and returns a result instead of raising.

    from ostler import Task
    from ostler.compat import AgentExecutor
    from ostler.testing.mocks import MockClaudeClient

    async def main():
        executor = AgentExecutor(MockClaudeClient(), ".")
        result = await executor.execute(Task("Who buys hay", skill="research"))
        if result.error:
            print(result.error.code, result.error)
        else:
            print(result.output_path, result.tokens_used.total)

The task is added to the project, claimed and run as by `ostler run`, with the given client instead of
that of the settings.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace

from ostler.clock import Clock, SystemClock
from ostler.errors import Code, OstlerError, UsageError, WarningCode
from ostler.llm.client import ClaudeClient
from ostler.model.event import TaskClaimed
from ostler.model.ids import TaskId
from ostler.model.state import State
from ostler.model.status import EXECUTABLE, TaskStatus
from ostler.model.task import Task
from ostler.model.usage import Usage
from ostler.project.agents.executor_config import (
    AgentConfig,
    ExecutorConfig,
    apply_config,
    check_config,
    to_settings,
)
from ostler.project.agents.given_client import create_registry
from ostler.project.ostler import Ostler
from ostler.project.project import Project
from ostler.project.running.execution import (
    ExecutionError,
    ExecutionErrorCode,
    ExecutionResult,
    TokensUsed,
    create_failure,
)

_WRITTEN = (TaskStatus.COMPLETED, TaskStatus.APPROVED, TaskStatus.NEEDS_REVIEW)
_NO_OVERRIDES = AgentConfig()
_ABORTED = "aborted by its caller"


class HasRoot(Protocol):
    """An object of a project."""

    root: Path


class AgentExecutor:
    """Executes tasks with one client; stateless, so that many executions can run in parallel."""

    def __init__(
        self,
        client: ClaudeClient,
        # A project, a path, or an object with the path, such as WorkspaceManager; None: config.project_root
        project: Project | Path | str | HasRoot | None = None,
        config: ExecutorConfig | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._config = config or ExecutorConfig()
        self._root = _root_of(self._config.project_root if project is None else project)
        self._client = client
        self._environ = dict(os.environ if environ is None else environ)
        if project is not None:
            self._environ.pop("OSTLER_PROJECT", None)  # the explicit project has precedence
        self._clock = clock or SystemClock()

    async def execute(
        self,
        task: Task,
        signal: asyncio.Event | None = None,
        agent_config: AgentConfig | None = None,
    ) -> ExecutionResult:
        """Run a new task, or one of the project that can start, and return the result.

        Setting `signal` aborts it: before the start nothing is changed, afterwards the task is cancelled.
        Cancelling the coroutine raises, and the task can be executed again.
        """
        began = self._clock.monotonic()
        if not isinstance(task, Task):  # pyright: ignore[reportUnnecessaryIsInstance]
            return create_failure("", "", UsageError(f"task: expected a Task, got {task!r:.80}"))
        if signal is not None and not isinstance(signal, asyncio.Event):  # pyright: ignore[reportUnnecessaryIsInstance]
            wrong = UsageError(f"signal: expected an asyncio.Event, got {signal!r:.80}")
            return create_failure(task.id, task.skill, wrong)
        try:
            result = await self._execute(task, signal or asyncio.Event(), agent_config or _NO_OVERRIDES)
        except Exception as error:  # noqa: BLE001  (every error becomes a result)
            result = create_failure(task.id, task.skill, error)
        return replace(result, duration_ms=round((self._clock.monotonic() - began) * 1000))

    async def _execute(self, task: Task, signal: asyncio.Event, overrides: AgentConfig) -> ExecutionResult:
        if not task.id:
            _require_not_aborted(signal)
        check_config(self._config, overrides)
        async with self._open(overrides, signal) as ostler:
            ostler.project.require_person("run tasks")
            existing = _find_task(task, ostler.project)
            _require_document(existing or task)
            apply_config(existing or task, self._config, overrides)  # raises for an unknown tier
            _require_not_aborted(signal)
            added = existing or await ostler.add(task)
            missing = _find_missing_context(added, ostler.project)
            result = await _run(ostler, added, signal)
            return replace(result, warnings=(*missing, *result.warnings))

    def _open(self, overrides: AgentConfig, signal: asyncio.Event) -> Ostler:
        """Each execution is a separate run, so that its claim can be identified."""
        flags = to_settings(self._config, overrides)
        return Ostler(
            Project.open(self._root, self._environ, flags, create=True),
            self._environ,
            executors=create_registry(self._client, self._config, signal),
            amend=partial(apply_config, config=self._config, overrides=overrides),
            clock=self._clock,
        )


async def _run(ostler: Ostler, task: Task, signal: asyncio.Event) -> ExecutionResult:
    watch = asyncio.create_task(_cancel_on_signal(signal, ostler, task.id))
    error: Exception | None = None
    try:
        await ostler.run_all([task.id], jobs=1, skip_locked=True, details=False, wait_for_outage=False)
    except Exception as raised:  # noqa: BLE001  (the result needs the task and its tokens)
        error = raised
    finally:
        watch.cancel()
    state = ostler.project.state(task.id)
    resumes_at = state.resumes_at if state.status is TaskStatus.DEFERRED else None
    error = error or _explain_not_started(ostler, state, signal) or _explain_not_written(state)
    result = create_failure(task.id, task.skill, error, resumes_at) if error else _create_success(task, state)
    return replace(result, tokens_used=_sum_tokens(ostler, task.id))


async def _cancel_on_signal(signal: asyncio.Event, ostler: Ostler, task: TaskId) -> None:
    """A task of another run is not cancelled."""
    await signal.wait()
    if _has_claimed(ostler, task):
        with suppress(UsageError):  # it has just ended
            ostler.cancel(task, _ABORTED)
    else:
        ostler.stop()


def _create_success(task: Task, state: State) -> ExecutionResult:
    others = tuple(code for code in state.warnings if code != WarningCode.RESPONSE_TRUNCATED)
    review = (state.message,) if state.status is TaskStatus.NEEDS_REVIEW else ()
    return ExecutionResult(
        task.id,
        task.skill,
        "completed",
        output_path=state.output,
        warning=_create_truncation_warning(task.id)
        if WarningCode.RESPONSE_TRUNCATED in state.warnings
        else None,
        warnings=(*others, *review),
    )


def _create_truncation_warning(task: TaskId) -> ExecutionError:
    message = "the answer reached its maximum length; the end of the document is missing"
    return ExecutionError(message, ExecutionErrorCode.RESPONSE_TRUNCATED, task)


def _explain_not_started(ostler: Ostler, state: State, signal: asyncio.Event) -> OstlerError | None:
    """Only one of several runs records its claim in the journal."""
    if _has_claimed(ostler, state.task):
        return None
    if signal.is_set():
        return _aborted()
    if ostler.project.is_claimed(state.task):
        return OstlerError(
            Code.CONFLICT, f"{state.task} is claimed by another run", "wait until it has ended"
        )
    if (hold := ostler.not_started.get(state.task)) is not None:
        return OstlerError(hold.code, hold.message)
    return _not_executable(state.task, state.message or f"is {state.status} and cannot start now")


def _explain_not_written(state: State) -> OstlerError | None:
    if state.status in _WRITTEN:
        return None
    return OstlerError(state.code or Code.UNKNOWN, state.message or f"{state.task} is {state.status}")


def _sum_tokens(ostler: Ostler, task: TaskId) -> TokensUsed:
    ours = (one.usage for one in ostler.project.journal.attempts(task) if one.owner == ostler.name)
    used = sum(ours, Usage())
    return TokensUsed(used.input_tokens, used.output_tokens)


def _has_claimed(ostler: Ostler, task: TaskId) -> bool:
    records = ostler.project.journal.read(task)
    claims = [record.event.run for record in records if isinstance(record.event, TaskClaimed)]
    return claims[-1:] == [ostler.name]


def _find_task(task: Task, project: Project) -> Task | None:
    """Return the task as it was added, if it can start; None for a new one."""
    if not task.id or project.journal.row(task.id) is None:
        return None
    state = project.state(task.id)
    if state.status not in EXECUTABLE:
        raise _not_executable(task.id, f"is {state.status}")
    return project.task(task.id)


def _require_document(task: Task) -> None:
    if not task.is_document:
        raise _not_executable(task.id or repr(task.title), "has neither a skill nor an output")


def _find_missing_context(task: Task, project: Project) -> tuple[str, ...]:
    """Return the warning about a task without product context; the skill that writes it needs none."""
    folder = project.settings.documents.context
    is_written = task.output is not None and task.output.path.startswith(f"{folder}/")
    if is_written or any((project.layout.root / folder).glob("*.md")):
        return ()
    return (f"{ExecutionErrorCode.CONTEXT_NOT_FOUND}: {folder} has no Markdown file",)


def _require_not_aborted(signal: asyncio.Event) -> None:
    if signal.is_set():
        raise _aborted()


def _not_executable(task: str, why: str) -> OstlerError:
    return OstlerError(
        Code.TASK_NOT_EXECUTABLE, f"{task} {why}", "only pending, assigned and revision tasks can start"
    )


def _aborted() -> OstlerError:
    return OstlerError(Code.ABORTED, f"{_ABORTED} before the start")


def _root_of(project: Project | Path | str | HasRoot) -> Path:
    match project:
        case Project():
            return project.layout.root
        case Path() | str():
            return Path(project)
        case _:
            return project.root
