"""One door to all performers, and the one place where an error becomes an event."""

from __future__ import annotations

import asyncio
from typing import assert_never

from ostler.engine.core.step import CallAgent, Checkpoint, Finish, PrepareWorkspace, ReleaseWorkspace, Step
from ostler.engine.steps.call import call_agent
from ostler.engine.steps.checkpoint import make_checkpoint
from ostler.engine.steps.finish import finish
from ostler.engine.steps.tools import Answer, Case, Tools, to_its_end
from ostler.engine.steps.workspace import prepare, release
from ostler.errors import Code, OstlerError, UsageError
from ostler.files.disk import machine_error
from ostler.model.event import StepFailed

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


async def perform(step: Step, case: Case, tools: Tools) -> Answer | None:
    """Carry a step out; None when it was cancelled before anything came of it."""
    try:
        return await _dispatch(step, case, tools)
    except asyncio.CancelledError:
        return None
    except OstlerError as error:
        if error.code in HOST_TROUBLE or _is_read_only(error):
            raise
        return Answer(StepFailed(error.code, error.message))
    except (OSError, RuntimeError, MemoryError) as surprise:
        told = machine_error(surprise)
        if told is None:
            raise
        raise told from surprise


def _is_read_only(error: OstlerError) -> bool:
    return isinstance(error, UsageError) and error.code is Code.WORKSPACE_WRITE_FAILED


async def _dispatch(step: Step, case: Case, tools: Tools) -> Answer:
    match step:
        case PrepareWorkspace():
            return Answer(await to_its_end(prepare, case.state, tools))
        case CallAgent():
            return await call_agent(step, case, tools)
        case Checkpoint():
            return await make_checkpoint(step, case, tools)
        case Finish():
            return Answer(finish(step, case.state))
        case ReleaseWorkspace():
            return Answer(await to_its_end(release, case.state, tools))
        case _:
            assert_never(step)
