"""Forecasts the waiting tasks of a project from its past tasks and the user's limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from msgspec.structs import replace

from ostler.errors import SettingsInvalid
from ostler.model.status import EXECUTABLE, TaskStatus
from ostler.model.task import Task
from ostler.project.project import Project
from ostler.store.past_attempts import History, read_history
from ostler.views.forecast.forecast import Forecast, WaitingTask, make_forecast
from ostler.views.forecast.needs import LEAST_TASKS, Estimator, list_past_tasks
from ostler.views.forecast.schedule import Capacity
from ostler.views.forecast.text import describe_forecast
from ostler.views.task import TaskView

_DONE = ("completed", "skipped")


def forecast_views(
    project: Project, views: Iterable[TaskView], environ: Mapping[str, str], now: float, *, is_active: bool
) -> Forecast | None:
    """Return the forecast of these tasks; None when none of them waits, or the settings are invalid."""
    views = list(views)
    waiting = [_to_waiting(view) for view in views if _is_waiting(view)]
    running = [_to_waiting(view) for view in views if view.status is TaskStatus.IN_PROGRESS]
    return forecast_tasks(project, waiting, running, environ, now, is_active=is_active)


def forecast_requests(
    project: Project, tasks: Iterable[Task], environ: Mapping[str, str], now: float
) -> Forecast | None:
    """Return the forecast of these tasks alone, which need not be recorded."""
    waiting = [_plan_request(project, task) for task in tasks]
    return forecast_tasks(project, waiting, [], environ, now, is_active=False)


def _plan_request(project: Project, task: Task) -> WaitingTask:
    row = project.journal.row(task.id)
    if row is not None:
        return _to_waiting(project.views([row])[0])
    from ostler.project.tasks.planning import plan_task  # noqa: PLC0415  (reading a status needs no plan)

    phases = plan_task(task, project.loaded, project.layout.root).phases
    return WaitingTask(task.id, task.weight, tuple(phase.id for phase in phases), task.priority)


def forecast_tasks(
    project: Project,
    waiting: Sequence[WaitingTask],
    running: Sequence[WaitingTask],
    environ: Mapping[str, str],
    now: float,
    *,
    is_active: bool,
) -> Forecast | None:
    """Return the forecast of these tasks, with its text; `is_active`: a run processes them."""
    if not waiting:
        return None
    history = read_history(project.layout.database)
    estimator = Estimator(list_past_tasks(history))
    # Without past tasks no settings are loaded: the first status of a project stays fast.
    capacity = (
        Capacity(1) if estimator.tasks < LEAST_TASKS else _read_capacity(project, history, environ, now)
    )
    forecast = None if capacity is None else make_forecast(waiting, running, estimator, capacity, now)
    if forecast is None:
        return None
    forecast = replace(forecast, is_list_price=_is_subscription(history))
    return replace(forecast, text=describe_forecast(forecast, now, is_active=is_active))


def _is_waiting(view: TaskView) -> bool:
    is_deferred = view.status is TaskStatus.DEFERRED and view.resumes_at is not None
    return (view.status in EXECUTABLE or is_deferred) and not view.held


def _to_waiting(view: TaskView) -> WaitingTask:
    times = [datetime.fromisoformat(at).timestamp() for at in (view.not_before, view.resumes_at) if at]
    return WaitingTask(
        view.id,
        view.weight,
        tuple(phase.id for phase in view.phases if phase.status not in _DONE),
        view.priority,
        view.created_at,
        max(times, default=0.0),
    )


def _read_capacity(
    project: Project, history: History, environ: Mapping[str, str], now: float
) -> Capacity | None:
    from ostler.project.tasks.account_rooms import find_accounts  # noqa: PLC0415
    from ostler.store.spending import SpendingReader, next_day_start  # noqa: PLC0415

    try:
        settings = project.settings
    except SettingsInvalid:
        return None
    day_usd, spent_usd = settings.budget.day_usd, 0.0
    if day_usd is not None:
        with SpendingReader(project.layout.database) as reader:
            spent_usd = reader.spent_today(now).usd
    accounts = find_accounts(history, settings.limits, environ, now)
    return Capacity(settings.run.jobs, accounts, day_usd, spent_usd, next_day_start)


def _is_subscription(history: History) -> bool:
    """Return whether every past attempt with a known bill ran on a subscription."""
    billing = {attempt.billing for attempt in history.attempts} - {"unknown"}
    return billing == {"subscription"}
