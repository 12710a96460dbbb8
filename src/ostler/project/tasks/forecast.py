"""Forecasts the waiting tasks of a project from its past tasks and the user's limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest

from msgspec import MsgspecError
from msgspec.structs import replace

from ostler.errors import SettingsInvalid
from ostler.model.ids import TaskId
from ostler.model.task import Task
from ostler.project.project import Project
from ostler.project.tasks.lists.status_filter import find_left
from ostler.project.tasks.lists.waiting import Queue, read_queue, to_waiting
from ostler.store.queries.past_attempts import History
from ostler.views.forecast.forecast import Forecast, WaitingTask, make_forecast
from ostler.views.forecast.needs import LEAST_TASKS, Estimator, list_past_tasks
from ostler.views.forecast.schedule import Capacity
from ostler.views.forecast.text import add_text

_MOST_READ = 20  # tasks whose models are read; of a longer queue, the first ones
_UNEXPECTED = (ArithmeticError, LookupError, ValueError, MsgspecError)


def forecast_queue(
    project: Project, environ: Mapping[str, str], now: float, *, is_active: bool
) -> Forecast | None:
    """Return the forecast of the open tasks; None when none of them waits, or the settings are invalid."""
    try:
        return _forecast(
            project, read_queue(project.journal, find_left(project)), environ, now, is_active=is_active
        )
    except _UNEXPECTED:
        # A list of tasks is more important than its forecast: without a usable value there is none.
        return None


def forecast_requests(
    project: Project, tasks: Iterable[Task], environ: Mapping[str, str], now: float
) -> Forecast | None:
    """Return the forecast of these tasks alone, which need not be recorded."""
    tasks = list(tasks)
    try:
        waiting = [_plan_request(project, task) for task in tasks]
        return _forecast(project, Queue(waiting), environ, now, is_active=False, requests=tasks)
    except _UNEXPECTED:
        return None


def _plan_request(project: Project, task: Task) -> WaitingTask:
    row = project.journal.row(task.id)
    if row is not None:
        return to_waiting(row)
    from ostler.project.tasks.planning import plan_task  # noqa: PLC0415  (reading a status needs no plan)

    phases = plan_task(task, project.loaded, project.layout.root).phases
    return WaitingTask(task.id, task.weight, tuple(phase.id for phase in phases), task.priority)


def _forecast(
    project: Project,
    queue: Queue,
    environ: Mapping[str, str],
    now: float,
    *,
    is_active: bool,
    requests: Sequence[Task] = (),
) -> Forecast | None:
    """Return the forecast of these tasks, with its text.

    `is_active`: a run processes them; `requests` are the same tasks if they are not recorded.
    """
    if not queue.waiting:
        return None
    history = project.store.read_history()
    estimator = Estimator(list_past_tasks(history))
    # Without past tasks no settings are loaded: the first status of a project stays fast.
    is_known = estimator.tasks >= LEAST_TASKS
    capacity = (
        _read_capacity(project, _find_tasks(project, queue, requests), history, environ, now)
        if is_known
        else Capacity(1)
    )
    if capacity is None:
        return None
    forecast = make_forecast(queue.waiting, queue.running, estimator, capacity, now)
    if forecast is None:
        return None
    forecast = replace(forecast, is_list_price=_is_subscription(history), tasks_blocked=queue.blocked)
    return add_text(forecast, now, is_active=is_active)


def _find_tasks(project: Project, queue: Queue, requests: Sequence[Task]) -> Iterator[Task]:
    """Return the first tasks as they were added."""
    if requests:
        return iter(requests[:_MOST_READ])
    first = nsmallest(_MOST_READ, queue.waiting, key=lambda task: (task.priority, task.created_at))
    return (project.task(TaskId(task.id)) for task in first)


def _read_capacity(
    project: Project, tasks: Iterable[Task], history: History, environ: Mapping[str, str], now: float
) -> Capacity | None:
    from ostler.project.agents.model_choice import select_models  # noqa: PLC0415
    from ostler.project.tasks.account_rooms import find_accounts  # noqa: PLC0415
    from ostler.store.spending import next_day_start  # noqa: PLC0415

    try:
        settings = project.settings
    except SettingsInvalid:
        return None
    day_usd, spent_usd, limits = settings.budget.day_usd, 0.0, settings.limits
    if day_usd is not None:
        with project.store.open_spending() as reader:
            spent_usd = reader.spent_today(now).usd
    pools = (select_models(task, project.loaded) for task in tasks)
    accounts = find_accounts(pools, history, settings, environ, now)
    early_seconds = limits.use_before_reset_seconds if limits.use_before_reset else None
    return Capacity(settings.run.jobs, accounts, day_usd, spent_usd, next_day_start, early_seconds)


def _is_subscription(history: History) -> bool:
    """Return whether every past attempt with a known bill ran on a subscription."""
    billing = {attempt.billing for attempt in history.attempts} - {"unknown"}
    return billing == {"subscription"}
