"""Apply the actions of the `ostler watch` screen and describe the result in one line."""

from __future__ import annotations

import os

from msgspec import Struct

from ostler.cli.watch.handle_key import Action, ActionRequest
from ostler.errors import OstlerError, UsageError
from ostler.model.ids import TaskId
from ostler.model.state import State
from ostler.project.actions import ACTIONS, decode_params, find_action
from ostler.project.apply_action import apply_action
from ostler.project.decisions.action import Action as ProjectAction
from ostler.project.decisions.action import NotWaiting
from ostler.project.project import Project
from ostler.project.reviews.allowed import find_approval, find_send_back, find_version
from ostler.project.reviews.bundle import list_drafts
from ostler.project.reviews.conflict import ReviewConflict
from ostler.project.reviews.late_text import save_late_text
from ostler.project.reviews.send import NewReview, send_review
from ostler.project.running.active_runs import list_active_runs
from ostler.views.task import TaskView

HOLD_SECONDS = 5.0
_REVIEWS: tuple[Action, ...] = ("approve", "merge", "send back")
_NAMES: dict[Action, str] = {"send back": "reject", "merge": "approve"}  # of proposals
_HELD: tuple[Action, ...] = (*_REVIEWS, "resume", "retry")


class Held(Struct, frozen=True):
    """A decision that is sent in a moment, unless the person takes it back."""

    request: ActionRequest
    until: float  # monotonic
    version: str  # of the work when the key was pressed
    round: int

    def describe(self, now: float) -> str:
        seconds = max(1, round(self.until - now))
        return f"{self.request.action} {self.request.task} in {seconds} s   u: undo"


def can_be_held(request: ActionRequest) -> bool:
    return request.action in _HELD


def hold_action(project: Project, request: ActionRequest, now: float, version: str | None) -> Held:
    """Return the decision to send later, about this version of the work or the present one.

    Raises UsageError if it is not possible now.
    """
    task = TaskId(request.task)
    state = project.state(task)
    if _is_review(request, state):
        allowed = find_send_back(state) if request.action == "send back" else find_approval(project, state)
        if not allowed.allowed:
            raise UsageError(_keep_text(project, request, f"{task}: {allowed.reason}"))
        if request.action == "send back" and not request.text.strip() and not list_drafts(project, task):
            raise UsageError("there is nothing to send back", "write a message, or comments with v")
    else:
        action = find_action(_NAMES.get(request.action, request.action))
        action.decide(state, decode_params(action, _values(action, request)))
    shown = find_version(state) if version is None else version
    return Held(request, now + HOLD_SECONDS, shown, project.journal.reviews.next_number(task))


def send_held(project: Project, held: Held) -> str:
    """Send a decision; return the line to show."""
    request, task = held.request, TaskId(held.request.task)
    if not _is_review(request, project.state(task)):
        return run_action(project, request)
    new = NewReview(
        verdict="changes" if request.action == "send back" else "approve",
        commit=held.version,
        text=request.text,
        then="merge" if request.action == "merge" else "",
        round=held.round,
    )
    try:
        send_review(project, os.environ, task, new)
    except ReviewConflict as error:
        return _keep_text(project, request, error.message)
    except OstlerError as error:
        return error.message
    view = project.show(task)
    return f"{task} is {view.status}{_describe_next(project, view)}"


def run_action(project: Project, request: ActionRequest) -> str:
    """Record the decision; return the line to show, also when the task's state does not allow it."""
    name = _NAMES.get(request.action, request.action)
    values = _values(ACTIONS[name], request)
    try:
        view = apply_action(project, os.environ, TaskId(request.task), name, **values)
    except NotWaiting as error:
        return _keep_text(project, request, join_error(error))
    except OstlerError as error:
        return join_error(error)
    return f"{view.id} is {view.status}{_describe_next(project, view)}"


def _keep_text(project: Project, request: ActionRequest, message: str) -> str:
    """Return the message of a refused action; a text that came too late is kept, which is named first."""
    is_kept = request.action == "send back" and save_late_text(project, TaskId(request.task), request.text)
    return f"your text is kept as a draft; {message}" if is_kept else message


def join_error(error: OstlerError) -> str:
    return f"{error.message}  {error.hint}" if error.hint else error.message


def _is_review(request: ActionRequest, state: State) -> bool:
    """Return whether it is about work: a proposal has none, and is started or cancelled."""
    return request.action in _REVIEWS and not state.held


def _values(action: ProjectAction, request: ActionRequest) -> dict[str, str]:
    return {"text": request.text} if "text" in action.params.__struct_fields__ else {}


def _describe_next(project: Project, view: TaskView) -> str:
    if view.status not in ("pending", "revision"):
        return ""
    if list_active_runs(project.layout):
        return "; the active run continues it"
    return f"; next: ostler run {view.id}"
