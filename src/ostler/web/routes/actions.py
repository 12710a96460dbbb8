"""The routes that act on a task: one per row of the table of actions, and `run`."""

from __future__ import annotations

from ostler.clock import format_rfc3339
from ostler.errors import UsageError
from ostler.model.ids import TaskId
from ostler.model.status import EXECUTABLE, TERMINAL, WAITS_FOR_PERSON, TaskStatus
from ostler.project.actions import ACTIONS, Action, Params
from ostler.project.apply_action import apply_action
from ostler.project.bulk_retry import RetriedTasks, RetryFilter, retry_matching
from ostler.project.decisions.action import NotWaiting
from ostler.project.preflight import check_ready, require_startable
from ostler.project.project import Project
from ostler.project.reviews.late_text import keep_late_text
from ostler.views.task import TaskView
from ostler.web.requests import ActionQuery, EmptyBody
from ostler.web.responses import RequestError
from ostler.web.route import Empty, RequestParts, Route
from ostler.web.routes.tasks import find_task
from ostler.web.site import Site


def action_routes(base: str) -> tuple[Route, ...]:
    """Return the routes of all actions below a task's path."""
    return tuple(_make_route(action, base) for action in ACTIONS.values())


def _make_route(action: Action, base: str) -> Route:
    def handler(site: Site, project: Project, request: RequestParts[ActionQuery, Params]) -> TaskView:
        task = find_task(project, request.path["task"])
        values = {name: getattr(request.body, name) for name in action.params.__struct_fields__}
        text = str(values["text"]) if action.name == "reject" else ""
        try:
            with keep_late_text(project, task, text):
                _require_unchanged(project, task, request.query.waiting_since)
                return apply_action(project, site.environ, task, action.name, **values)
        except UsageError as error:
            raise _conflict(error) from None

    # The route reads its name and its body's type from the handler.
    handler.__name__ = action.name
    handler.__annotations__["request"] = RequestParts[ActionQuery, action.params]
    return Route("POST", f"{base}/{action.name}", action.summary, handler, slow=action.ends_task)


def _require_unchanged(project: Project, task: TaskId, waiting_since: str) -> None:
    """Raise if the task is not in the state that the person has seen: the decision was about another one."""
    if waiting_since and waiting_since != format_rfc3339(project.journal.listing.status_since(task)):
        status = project.state(task).status
        raise NotWaiting(f"{task} has changed since you saw it: it is {status}", f"ostler show {task}")


def retry_many(site: Site, project: Project, request: RequestParts[Empty, RetryFilter]) -> RetriedTasks:
    """Make the matching tasks pending again."""
    return retry_matching(project, site.environ, request.body)


def run(site: Site, project: Project, request: RequestParts[Empty, EmptyBody]) -> TaskView:
    """Check that this server can run the task, as it runs every ready one; 409 with the reason if not."""
    task = find_task(project, request.path["task"])
    if not site.runs_tasks:
        raise RequestError(409, "this server does not run tasks (--view-only)", f"ostler run {task}")
    try:
        return _require_ready(project, task)
    except UsageError as error:
        raise _conflict(error) from None


def _require_ready(project: Project, task: TaskId) -> TaskView:
    view = project.show(task)
    if view.status in TERMINAL and view.status not in (TaskStatus.COMPLETED, TaskStatus.APPROVED):
        raise UsageError(f"{task} is {view.status}", f"reopen it: ostler retry {task}")
    if view.status in WAITS_FOR_PERSON:
        raise UsageError(f"{task} is {view.status}: it waits for you", f"ostler show {task}")
    require_startable(project, task, [task])
    if view.status in EXECUTABLE:
        check_ready(project, [project.task(task)])
    return view


def _conflict(error: UsageError) -> RequestError:
    """409: the task's state does not allow the action."""
    conflict = RequestError(409, error.message, error.hint, error.code)
    conflict.problems = error.problems
    return conflict
