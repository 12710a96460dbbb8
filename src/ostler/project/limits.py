"""The limits of the user's accounts, as a project or a directory without one shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ostler.errors import SettingsInvalid, UsageError
from ostler.model.ids import TaskId
from ostler.model.status import TaskStatus
from ostler.model.task import Task
from ostler.project.project import Project
from ostler.project.running.current_attempt import find_current_attempt, require_person
from ostler.store.accounts.sqlite import open_accounts, read_accounts
from ostler.views.limits import AccountView, LimitsView, view_limits
from ostler.views.task import TaskView

if TYPE_CHECKING:
    from ostler.calls.models.start_policy import StartHold


def read_limits(environ: Mapping[str, str], now: float) -> LimitsView:
    """Return every account that is recorded; needs no project and no settings, and changes nothing."""
    known = read_accounts(environ, now)
    return view_limits(known.limits, known.windows, now)


def read_project_limits(project: Project, environ: Mapping[str, str], now: float) -> LimitsView:
    """Return the accounts of the project's models first, and the share at which no further task starts."""
    # The executors of the models are large, and a status needs none of them.
    from ostler.calls.models.start_policy import stop_threshold  # noqa: PLC0415
    from ostler.project.agents.model_pool import find_models  # noqa: PLC0415

    known = read_accounts(environ, now)
    # A task without role, model or executor may use every model.
    models = [model for model in find_models(project, Task("", role="")).models if model.enabled]
    stop_at = stop_threshold(project.settings.limits)
    return view_limits(known.limits, known.windows, now, models=models, stop_at=stop_at)


def add_start_hold(view: TaskView, project: Project, environ: Mapping[str, str], now: float) -> TaskView:
    """Return the view of a task that has not begun with the reason why a run does not start it."""
    if view.status != TaskStatus.PENDING or view.attempts:
        return view
    hold = find_start_hold(project, environ, TaskId(view.id), now)
    return replace(view, hold=hold.message if hold else None)


def find_start_hold(
    project: Project, environ: Mapping[str, str], task: TaskId, now: float
) -> StartHold | None:
    """Return the hold of a task that has not begun; None: it may start now, or the settings are invalid."""
    from ostler.calls.models.start_policy import (  # noqa: PLC0415
        find_first_hold,
        find_start_holds,
        has_start_holds,
        leave_out_closed,
    )
    from ostler.project.agents.model_pool import find_models  # noqa: PLC0415

    try:
        known, settings = read_accounts(environ, now), project.settings.limits
    except SettingsInvalid:
        return None
    uses = leave_out_closed(known.windows, known.limits)
    if not has_start_holds(uses, settings):
        return None
    found = project.task(task)
    pool = find_models(project, found)
    return find_first_hold(pool, find_start_holds(pool, uses, settings, found.priority, now))


def forget_account(name: str, view: LimitsView, environ: Mapping[str, str]) -> AccountView:
    """Delete what is recorded about the account with this name or id; raises UsageError without one."""
    require_person(find_current_attempt(environ, None), "forget the limits of an account")
    account = _find_account(name, [one for one in view.accounts if one.windows or one.closed])
    with closing(open_accounts(environ)) as accounts:
        accounts.forget(account.id)
    return account


def _find_account(name: str, accounts: Sequence[AccountView]) -> AccountView:
    found = [one for one in accounts if name in (one.name, one.label, one.id)]
    if len(found) == 1:
        return found[0]
    if found:
        ids = " or ".join(one.id for one in found)
        raise UsageError(f'several accounts have the name "{name}"', f"use an id: {ids}")
    known = ", ".join(f'"{one.name}"' for one in accounts)
    hint = f"recorded accounts: {known}" if known else "no account is recorded"
    raise UsageError(f'unknown account "{name}"', hint)
