"""Dispatches steps to their performers, and turns errors into events."""

from __future__ import annotations

import asyncio
from typing import assert_never

from msgspec.structs import replace

from ostler.calls.thread import run_in_thread
from ostler.engine.core.step import (
    CallAgent,
    CheckFinal,
    CheckGate,
    Checkpoint,
    Finish,
    PrepareWorkspace,
    Publish,
    ReleaseWorkspace,
    Step,
)
from ostler.engine.steps.call import call_agent
from ostler.engine.steps.finish import build_end_event
from ostler.engine.steps.prepare import prepare_workspace
from ostler.engine.steps.progress import report_progress
from ostler.engine.steps.protection import apply_protection
from ostler.engine.steps.services import StepResult, StepServices, TaskContext
from ostler.engine.steps.usage import add_unrecorded_usage
from ostler.engine.steps.workspaces.work_in_progress import (
    keep_workspace,
    try_release_workspace,
    try_save_work_in_progress,
)
from ostler.errors import CODES, Code, Origin, OstlerError, UsageError
from ostler.files.disk import to_disk_error, to_machine_error
from ostler.model.event import StepFailed
from ostler.model.notice import AgentWarned, Notice
from ostler.model.status import TaskStatus


async def perform(step: Step, context: TaskContext, services: StepServices) -> StepResult | None:
    """Perform a step; return None if it was cancelled without a result.

    Errors of the host and of the whole repository are raised, because they end the run; others become a
    StepFailed event, except at the end of a task, which they must not prevent.
    """
    try:
        return await _perform(step, context, services)
    except asyncio.CancelledError:  # also while the cause of an error is examined
        return None


async def _perform(step: Step, context: TaskContext, services: StepServices) -> StepResult:
    try:
        result = await _dispatch(step, context, apply_protection(context, services))
        return replace(result, event=add_unrecorded_usage(result.event, context.state, services.journal))
    except OstlerError as error:
        return await _fail(step, context, services, error)
    except PermissionError as denied:
        error = to_disk_error(denied.filename or "a file", denied)
        return await _fail(step, context, services, error)
    except (OSError, RuntimeError, MemoryError) as surprise:
        error = to_machine_error(surprise)
        if error is None:
            raise
        raise error from surprise


async def _fail(step: Step, context: TaskContext, services: StepServices, error: OstlerError) -> StepResult:
    """Return the failure of the step; raise what ends the run."""
    if CODES[error.code].origin is Origin.HOST or _is_read_only(error):
        raise error
    if isinstance(step, Finish | ReleaseWorkspace):
        return _end_with_warning(step, context, services, error)
    from ostler.engine.steps.project_fault import find_project_fault  # noqa: PLC0415  (imported on use)

    if fault := await run_in_thread(find_project_fault, error, services):
        raise fault from error
    return StepResult(_build_step_failed(error))


def _end_with_warning(
    step: Finish | ReleaseWorkspace, context: TaskContext, services: StepServices, error: OstlerError
) -> StepResult:
    """Record the end although a part of it failed: a repeat would fail too."""
    if isinstance(step, Finish):
        warning = f"a part of the end of the task failed: {error.message}"
        return StepResult(build_end_event(step, context.state), (AgentWarned(warning),))
    released = keep_workspace(context.state, error.message, services)
    return StepResult(released, (AgentWarned(released.warning),))


def _build_step_failed(error: OstlerError) -> StepFailed:
    from ostler.git.publish.merge import MergeConflict  # noqa: PLC0415  (imported on use)

    message = f"{error.message}; next: {error.hint}" if error.hint else error.message
    files, onto = (error.files, error.conflict_commit) if isinstance(error, MergeConflict) else ((), "")
    return StepFailed(error.code, message, files, onto)


def _is_read_only(error: OstlerError) -> bool:
    return isinstance(error, UsageError) and error.code is Code.WORKSPACE_WRITE_FAILED


# A step that a task reaches later is imported then, so that the first agent starts sooner.
async def _dispatch(step: Step, context: TaskContext, services: StepServices) -> StepResult:
    match step:
        case PrepareWorkspace():
            return await prepare_workspace(context, services)
        case CallAgent():
            return await call_agent(step, context, services)
        case Checkpoint():
            from ostler.engine.steps.checkpoint import make_checkpoint  # noqa: PLC0415  (imported on use)

            return await make_checkpoint(step, context, services)
        case CheckGate():
            from ostler.engine.steps.gate import check_gate  # noqa: PLC0415  (imported on use)

            return await check_gate(step, context, services)
        case CheckFinal():
            from ostler.engine.steps.final_check import check_final  # noqa: PLC0415  (imported on use)

            return await check_final(step, context, services)
        case Publish():
            from ostler.engine.steps.publish import publish  # noqa: PLC0415  (imported on use)

            with report_progress("publishing", context, services):
                return await publish(step, context, services)
        case Finish():
            return await _finish(step, context, services)
        case ReleaseWorkspace():
            released = await run_in_thread(try_release_workspace, context.state, services)
            return StepResult(released, (AgentWarned(released.warning),) if released.warning else ())
        case _:
            assert_never(step)


async def _finish(step: Finish, context: TaskContext, services: StepServices) -> StepResult:
    """Record the end; a failure to keep the work is part of its message, because a repeat would fail too."""
    ending, notices = step.ending, ()
    if ending.status is TaskStatus.FAILED:
        warning = await run_in_thread(try_save_work_in_progress, context.state, services)
        message = f"{ending.message} ({warning})" if warning else ending.message
        step = replace(step, ending=replace(ending, message=message))
    elif ending.status is TaskStatus.COMPLETED:
        notices = await _notify_completed(context, services)
    return StepResult(build_end_event(step, context.state), notices)


async def _notify_completed(context: TaskContext, services: StepServices) -> tuple[Notice, ...]:
    """Start follow-up tasks and update the source; repeated if the run dies before the end is recorded."""
    if not context.task.next and not context.task.source:
        return ()
    return await run_in_thread(services.on_completed, context.task, context.state)
