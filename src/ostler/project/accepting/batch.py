"""Accepts the work of many tasks in the order of their dependencies: merge, publish, rebase or approve."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from msgspec import Struct

from ostler.engine.core.requests import NOT_PUBLISHED
from ostler.engine.core.verdicts import find_gate, name_current_gate
from ostler.errors import GitError, UsageError
from ostler.git.move.task_ref import find_task_ref_name
from ostler.git.publish.merge import is_ancestor
from ostler.git.refs import find_base
from ostler.git.repository import Repository
from ostler.git.stack import Work, is_contained
from ostler.model.ids import TaskId
from ostler.model.plan import PublishAs
from ostler.model.state import State
from ostler.model.status import TaskStatus
from ostler.project.apply_action import apply_action
from ostler.project.decisions.accept import waits_to_be_merged
from ostler.project.project import Project
from ostler.views.verdicts import Verdicts, view_verdicts

AcceptHow = Literal["merge", "publish", "rebase", "approve"]
AcceptResult = Literal[
    "requested", "already requested", "needs you", "failed", "refused",
    "merged", "published", "rebased", "approved",
    "already merged", "already published", "already rebased", "already approved",
    "not merged", "not published", "not rebased", "not approved",
]  # fmt: skip
_DONE: dict[AcceptHow, AcceptResult] = {
    "merge": "merged",
    "publish": "published",
    "rebase": "rebased",
    "approve": "approved",
}
_ALREADY: dict[AcceptHow, AcceptResult] = {
    "merge": "already merged",
    "publish": "already published",
    "rebase": "already rebased",
    "approve": "already approved",
}
_NOT_DONE: dict[AcceptHow, AcceptResult] = {
    "merge": "not merged",
    "publish": "not published",
    "rebase": "not rebased",
    "approve": "not approved",
}
_REQUESTS: dict[AcceptHow, PublishAs] = {"merge": "merge", "publish": "pr", "rebase": "rebase"}
_WAITS = (TaskStatus.PENDING, TaskStatus.ASSIGNED, TaskStatus.IN_PROGRESS, TaskStatus.NEEDS_REVIEW)


class AcceptLine(Struct, frozen=True):
    """The result of accepting the work of one task."""

    id: TaskId
    result: AcceptResult
    commit: str | None = None
    gates: str = ""  # the verdicts about this commit, as in `verdicts`
    message: str = ""
    hint: str = ""  # what to do next
    verdicts: Verdicts | None = None

    @property
    def is_open(self) -> bool:
        """Whether the target does not have the work, and no run is to bring it there."""
        return self.result in ("needs you", "failed", "refused", *_NOT_DONE.values())


def order_tasks(project: Project, named: Iterable[TaskId], how: AcceptHow) -> list[TaskId]:
    """Return the tasks after those that they build on; a merge adds the unmerged ones of these.

    Raises UsageError where nothing can be merged or rebased: without git, and in a cluster.
    """
    if how == "merge" and project.settings.engine.moves_tasks:
        named = list(named)
        fetch = f"git fetch {project.settings.engine.remote} {find_task_ref_name(named[0])}"
        raise UsageError(
            "in a cluster, a merge would change only the clone of one worker",
            f"{fetch} && git merge FETCH_HEAD",
        )
    if how != "approve":
        _require_repository(project)
    chosen, ordered = dict.fromkeys(named), dict[TaskId, None]()

    def add(task: TaskId) -> None:
        if task in ordered:
            return
        state = project.state(task)
        for one in state.predecessors:
            if not one.merged and (how == "merge" or one.task in chosen):
                add(one.task)
        for other in state.after:
            if other in chosen:
                add(other)
        ordered[task] = None

    for task in chosen:
        add(task)
    return list(ordered)


def accept_tasks(
    project: Project, environ: Mapping[str, str], tasks: Iterable[TaskId], how: AcceptHow
) -> list[AcceptLine]:
    """Request it for each task; a task that builds on a refused one is not started."""
    chosen, lines = set(tasks := list(tasks)), list[AcceptLine]()
    for task in order_tasks(project, tasks, how):
        lines.append(accept_task(project, environ, task, how, lines, is_named=task in chosen))
    return lines


def accept_task(
    project: Project,
    environ: Mapping[str, str],
    task: TaskId,
    how: AcceptHow,
    earlier: Iterable[AcceptLine],
    *,
    is_named: bool,
) -> AcceptLine:
    """Record the request for one task, unless it was recorded or carried out before.

    A named task that waits for a review is approved with it, except to rebase it.
    """
    state = project.state(task)
    if below := _find_open_predecessor(state, earlier):
        return _make_line(state, _NOT_DONE[how], f"it builds on {below}")
    try:
        if (found := _find_earlier(project, state, how)) is not None:
            return _make_line(state, found)
        name, values = _choose_action(state, how, is_named=is_named)
        apply_action(project, environ, task, name, **values)
    except (UsageError, GitError) as error:  # as of a commit that is gone: the others are accepted
        return _make_line(state, "refused", error.message, error.hint)
    return _make_line(project.state(task), "requested")


def describe_result(project: Project, task: TaskId, how: AcceptHow) -> AcceptLine:
    """Return the result of a task after a run tried it."""
    state = project.state(task)
    if state.status in (TaskStatus.FAILED, TaskStatus.QUARANTINED):
        return _make_line(state, "failed", state.message)
    if state.status is not TaskStatus.COMPLETED:
        return _make_line(state, "needs you", state.message)
    if state.message:
        result = "failed" if state.message.startswith(NOT_PUBLISHED) else _NOT_DONE[how]
        return _make_line(state, result, state.message)
    return _make_line(state, _DONE[how], _describe_place(state))


def _make_line(state: State, result: AcceptResult, message: str = "", hint: str = "") -> AcceptLine:
    verdicts = view_verdicts(state)
    gates = ", ".join(one.text for one in verdicts.gates if one.current) if verdicts else ""
    return AcceptLine(state.task, result, state.commit, gates, message, hint, verdicts)


def _describe_place(state: State) -> str:
    if state.pr_url:
        return state.pr_url
    return f"into {state.published_into}" if state.published_into else ""


def _find_open_predecessor(state: State, earlier: Iterable[AcceptLine]) -> str:
    """Return a task that this one builds on and that is not accepted; empty if there is none."""
    below = {one.task for one in state.predecessors} | set(state.after)
    return next((line.id for line in earlier if line.is_open and line.id in below), "")


def _choose_action(state: State, how: AcceptHow, *, is_named: bool) -> tuple[str, dict[str, str]]:
    """Return the action and its parameters; raise UsageError for what only a single decision may accept."""
    waits = state.status is TaskStatus.NEEDS_REVIEW and not waits_to_be_merged(state)
    # An approval cannot request a rebase: the work would be published as planned.
    if how == "rebase" or (how != "approve" and not (waits and is_named)):
        return how, {}
    _require_undisputed(state)
    return "approve", {} if how == "approve" else {"then": _REQUESTS[how]}


def _require_undisputed(state: State) -> None:
    """Raise for an approval that overrules a gate, or lets a change of guarded files pass."""
    one_by_one = f"ostler diff {state.task}   and then   ostler approve {state.task}"
    found = find_gate(state, name_current_gate(state))
    if state.status is TaskStatus.BLOCKED:
        raise UsageError(f"{state.task} is blocked: {state.message}", one_by_one)
    if found is not None and found.guarded:
        files = ", ".join(found.guarded[:3])
        message = f"{state.task} changes {files}, which is not approved together with other tasks"
        raise UsageError(message, one_by_one)
    if found is not None and (found.verdict in ("fail", "could_not_run") or found.original):
        raise UsageError(f"{state.task} would be approved although its gate did not pass", one_by_one)


def _find_earlier(project: Project, state: State, how: AcceptHow) -> AcceptResult | None:
    """Return the result of an earlier request; None if there is none."""
    if how != "approve" and state.status in _WAITS and state.requested_publishing == _REQUESTS[how]:
        return None if waits_to_be_merged(state) else "already requested"
    if state.status is TaskStatus.COMPLETED:
        return _ALREADY[how] if _IS_DONE[how](project, state) else None
    is_approved = how == "approve" and state.status in _WAITS[:3] and _has_approval(project, state)
    return "already approved" if is_approved else None


def _is_merged(project: Project, state: State) -> bool:
    """Return whether the target already contains the work of a task."""
    if state.base is None or state.commit is None:
        return False
    repository = _require_repository(project)
    return is_contained(
        repository, Work(state.task, state.base, state.commit), _find_target(project, state, repository)
    )


def _is_published(project: Project, state: State) -> bool:
    return state.pr_url is not None


def _is_rebased(project: Project, state: State) -> bool:
    if state.commit is None:
        return False
    repository = _require_repository(project)
    return is_ancestor(repository, _find_target(project, state, repository), state.commit)


def _has_approval(project: Project, state: State) -> bool:
    gates = [phase.gate for phase in state.phases if phase.gate] + [one.gate for one in state.gates]
    return any(gate.is_approved_by_person for gate in (*gates, state.merge) if gate)


_IS_DONE: dict[AcceptHow, Callable[[Project, State], bool]] = {
    "merge": _is_merged,
    "publish": _is_published,
    "rebase": _is_rebased,
    "approve": _has_approval,
}


def _find_target(project: Project, state: State, repository: Repository) -> str:
    return find_base(repository, project.settings.git.target or state.target or "").commit


def _require_repository(project: Project) -> Repository:
    repository = project.repository()
    if repository is None:
        raise UsageError("the project is not a git repository, so nothing can be merged", "git init")
    if not project.settings.git.worktree:
        raise UsageError(
            "git.worktree is false, and a merge needs worktrees",
            "ostler config reset git.worktree   or   git merge the branch that ostler show prints",
        )
    return repository
