"""Apply an action to a task, and end a cancelled task at once when no run is active."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from ostler.errors import SettingsInvalid
from ostler.model.ids import TaskId
from ostler.model.status import TaskStatus
from ostler.project.actions import decode_params, find_action
from ostler.project.decisions.action import NotWaiting
from ostler.project.project import Project
from ostler.views.task import TaskView


def apply_action(
    project: Project, environ: Mapping[str, str], task: TaskId, name: str, **values: object
) -> TaskView:
    """Record the decision and return the task; for callers without a running event loop."""
    action = find_action(name)
    if action.deletes:
        # Few commands delete something.
        from ostler.project.disposal.dispose import dispose_task  # noqa: PLC0415

        decode_params(action, values)
        return dispose_task(project, task, name, values)
    if not action.ends_task:
        # Few tasks have files.
        from ostler.project.tasks.files.edited_file import refuse_state_edit  # noqa: PLC0415

        refuse_state_edit(project, task, name)
    try:
        view = project.act(task, name, **values)
    except NotWaiting as error:
        # Few decisions come too late.
        from ostler.project.decisions.earlier import name_earlier_decision  # noqa: PLC0415

        raise name_earlier_decision(project, task, error) from None
    state = project.state(task)
    if not action.ends_task and not state.cancel_requested:
        return view
    # The decision is recorded: while the settings are invalid, the next run ends the task.
    with suppress(SettingsInvalid):
        if project.settings.engine.kind != "local" and state.status is TaskStatus.IN_PROGRESS:
            return view  # its worker ends it; a claim of this machine would stop that worker first
        asyncio.run(_settle(project, environ, task))
    return project.show(task)


async def _settle(project: Project, environ: Mapping[str, str], task: TaskId) -> None:
    # Most actions need no engine.
    from ostler.project.ostler import Ostler  # noqa: PLC0415

    waited = project.journal.wait_seconds
    ostler = Ostler(project, environ)
    try:
        await ostler.settle(task)
    finally:
        await ostler.close()
        # The threads of a server go on with the project, and must not wait as long as a run.
        project.journal.wait_when_busy(waited)
