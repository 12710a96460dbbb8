"""Forecasts the waiting tasks of a project from its past tasks and the user's limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from heapq import nsmallest

from msgspec import MsgspecError, Struct
from msgspec.structs import replace

from ostler.errors import SettingsInvalid
from ostler.model.ids import TaskId
from ostler.model.status import EXECUTABLE, TaskStatus
from ostler.model.task import Task
from ostler.project.project import Project
from ostler.store.queries.past_attempts import History, read_history
from ostler.views.forecast.forecast import Forecast, WaitingTask, make_forecast
from ostler.views.forecast.needs import LEAST_TASKS, Estimator, list_past_tasks
from ostler.views.forecast.schedule import Capacity
from ostler.views.forecast.text import add_text
from ostler.views.task import TaskView

_DONE = ("completed", "skipped")
_MOST_READ = 20  # tasks whose models are read; of a longer queue, the first ones
_UNEXPECTED = (ArithmeticError, LookupError, ValueError, MsgspecError)


def forecast_views(
    project: Project, views: Iterable[TaskView], environ: Mapping[str, str], now: float, *, is_active: bool
) -> Forecast | None:
    """Return the forecast of these tasks; None when none of them waits, or the settings are invalid."""
    views = list(views)
    try:
        running = [view for view in views if view.status is TaskStatus.IN_PROGRESS]
        waiting = [view for view in views if _is_waiting(view)]
        ready = _leave_out_blocked(waiting, running)
        queue = _Queue([_to_waiting(one) for one in ready], [_to_waiting(one) for one in running])
        queue.blocked = len(waiting) - len(ready)
        return _forecast(project, queue, environ, now, is_active=is_active)
    except _UNEXPECTED:
        # A list of tasks is more important than its forecast: without a usable value there is none.
        return None


def forecast_requests(
    project: Project, tasks: Iterable[Task], environ: Mapping[str, str], now: float
) -> Forecast | None:
    """Return the forecast of these tasks alone, which need not be recorded."""
    tasks = list(tasks)
    try:
        queue = _Queue([_plan_request(project, task) for task in tasks], requests=tasks)
        return _forecast(project, queue, environ, now, is_active=False)
    except _UNEXPECTED:
        return None


def _plan_request(project: Project, task: Task) -> WaitingTask:
    row = project.journal.row(task.id)
    if row is not None:
        return _to_waiting(project.views([row])[0])
    from ostler.project.tasks.planning import plan_task  # noqa: PLC0415  (reading a status needs no plan)

    phases = plan_task(task, project.loaded, project.layout.root).phases
    return WaitingTask(task.id, task.weight, tuple(phase.id for phase in phases), task.priority)


class _Queue(Struct):
    """The tasks of a forecast."""

    waiting: list[WaitingTask]
    running: list[WaitingTask] = []
    requests: list[Task] = []  # the same as `waiting`; empty: they are recorded
    blocked: int = 0  # further tasks that depend on tasks that neither wait nor run

    def read_requests(self, project: Project) -> list[Task]:
        """Return the first tasks as they were added."""
        if self.requests:
            return self.requests[:_MOST_READ]
        first = nsmallest(_MOST_READ, self.waiting, key=lambda task: (task.priority, task.created_at))
        return [project.task(TaskId(task.id)) for task in first]


def _forecast(
    project: Project, queue: _Queue, environ: Mapping[str, str], now: float, *, is_active: bool
) -> Forecast | None:
    """Return the forecast of these tasks, with its text; `is_active`: a run processes them."""
    if not queue.waiting:
        return None
    history = read_history(project.layout.database)
    estimator = Estimator(list_past_tasks(history))
    # Without past tasks no settings are loaded: the first status of a project stays fast.
    is_known = estimator.tasks >= LEAST_TASKS
    capacity = _read_capacity(project, queue, history, environ, now) if is_known else Capacity(1)
    if capacity is None:
        return None
    forecast = make_forecast(queue.waiting, queue.running, estimator, capacity, now)
    if forecast is None:
        return None
    forecast = replace(forecast, is_list_price=_is_subscription(history), tasks_blocked=queue.blocked)
    return add_text(forecast, now, is_active=is_active)


def _leave_out_blocked(waiting: list[TaskView], running: Iterable[TaskView]) -> list[TaskView]:
    """Return the tasks whose dependencies wait or run themselves, so that they will be started."""
    if not any(view.waits_for for view in waiting):
        return waiting
    coming = {view.id for view in (*waiting, *running)}
    while True:
        ready = [view for view in waiting if coming.issuperset(view.waits_for)]
        if len(ready) == len(waiting):
            return ready
        coming -= {view.id for view in waiting} - {view.id for view in ready}
        waiting = ready


def _is_waiting(view: TaskView) -> bool:
    is_deferred = view.status is TaskStatus.DEFERRED and view.resumes_at is not None
    return (view.status in EXECUTABLE or is_deferred) and not view.held


def _to_waiting(view: TaskView) -> WaitingTask:
    # Thousands of tasks are converted; most have neither time.
    times = [datetime.fromisoformat(at).timestamp() for at in (view.not_before, view.resumes_at) if at]
    phases = tuple([phase.id for phase in view.phases if phase.status not in _DONE])
    return WaitingTask(
        view.id, view.weight, phases, view.priority, view.created_at, max(times) if times else 0.0
    )


def _read_capacity(
    project: Project, queue: _Queue, history: History, environ: Mapping[str, str], now: float
) -> Capacity | None:
    from ostler.project.agents.model_choice import select_models  # noqa: PLC0415
    from ostler.project.tasks.account_rooms import find_accounts  # noqa: PLC0415
    from ostler.store.spending import SpendingReader, next_day_start  # noqa: PLC0415

    try:
        settings = project.settings
    except SettingsInvalid:
        return None
    day_usd, spent_usd, limits = settings.budget.day_usd, 0.0, settings.limits
    if day_usd is not None:
        with SpendingReader(project.layout.database) as reader:
            spent_usd = reader.spent_today(now).usd
    pools = (select_models(task, project.loaded) for task in queue.read_requests(project))
    accounts = find_accounts(pools, history, settings, environ, now)
    early_seconds = limits.use_before_reset_seconds if limits.use_before_reset else None
    return Capacity(settings.run.jobs, accounts, day_usd, spent_usd, next_day_start, early_seconds)


def _is_subscription(history: History) -> bool:
    """Return whether every past attempt with a known bill ran on a subscription."""
    billing = {attempt.billing for attempt in history.attempts} - {"unknown"}
    return billing == {"subscription"}
