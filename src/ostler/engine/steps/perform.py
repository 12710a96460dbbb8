"""One door to all performers, and the one place where an error becomes an event."""

from __future__ import annotations

import asyncio
from typing import assert_never

from msgspec.structs import replace

from ostler.engine.core.step import (
    CallAgent,
    CheckGate,
    Checkpoint,
    Finish,
    PrepareWorkspace,
    Publish,
    ReleaseWorkspace,
    Step,
)
from ostler.engine.steps.bill import billed
from ostler.engine.steps.busy import busy
from ostler.engine.steps.call import call_agent
from ostler.engine.steps.checkpoint import make_checkpoint
from ostler.engine.steps.finish import finish
from ostler.engine.steps.gate import check_gate
from ostler.engine.steps.keep import keep_work
from ostler.engine.steps.prepare import prepare_workspace
from ostler.engine.steps.publish import publish
from ostler.engine.steps.tools import HOST_TROUBLE, Answer, Case, Tools, to_its_end
from ostler.engine.steps.workspace import release
from ostler.errors import Code, OstlerError, UsageError
from ostler.files.disk import machine_error
from ostler.git.merge import MergeConflict
from ostler.model.event import StepFailed
from ostler.model.notice import Notice
from ostler.model.status import TaskStatus


async def perform(step: Step, case: Case, tools: Tools) -> Answer | None:
    """Carry a step out; None when it was cancelled before anything came of it."""
    try:
        answer = await _dispatch(step, case, tools)
        return replace(answer, event=billed(answer.event, case.state, tools.journal))
    except asyncio.CancelledError:
        return None
    except OstlerError as error:
        if error.code in HOST_TROUBLE or _is_read_only(error):
            raise
        return Answer(_failed(error))
    except (OSError, RuntimeError, MemoryError) as surprise:
        told = machine_error(surprise)
        if told is None:
            raise
        raise told from surprise


def _failed(error: OstlerError) -> StepFailed:
    said = f"{error.message}; next: {error.hint}" if error.hint else error.message
    files, onto = (error.files, error.onto) if isinstance(error, MergeConflict) else ((), "")
    return StepFailed(error.code, said, files, onto)


def _is_read_only(error: OstlerError) -> bool:
    return isinstance(error, UsageError) and error.code is Code.WORKSPACE_WRITE_FAILED


async def _dispatch(step: Step, case: Case, tools: Tools) -> Answer:
    match step:
        case PrepareWorkspace():
            return Answer(await prepare_workspace(case, tools))
        case CallAgent():
            return await call_agent(step, case, tools)
        case Checkpoint():
            return await make_checkpoint(step, case, tools)
        case CheckGate():
            return await check_gate(step, case, tools)
        case Publish():
            with busy("publishes", case, tools):
                return await publish(step, case, tools)
        case Finish():
            if step.ending.status is TaskStatus.FAILED:
                await to_its_end(keep_work, case.state, tools)
            notices = await _follow_up(case, tools) if step.ending.status is TaskStatus.COMPLETED else ()
            return Answer(finish(step, case.state), notices)
        case ReleaseWorkspace():
            return Answer(await to_its_end(release, case.state, tools))
        case _:
            assert_never(step)


async def _follow_up(case: Case, tools: Tools) -> tuple[Notice, ...]:
    """What a completed task sets going; a run that dies before the end is recorded does it again."""
    if not case.task.next and not case.task.source:
        return ()
    return await to_its_end(tools.completed, case.task, case.state)
