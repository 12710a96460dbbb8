"""Rebuilds tasks from their readable files: task.md, state.yaml, the logs of attempts, and kept commits."""

from __future__ import annotations

from functools import reduce
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ostler.engine.records import append_event
from ostler.engine.task_files import is_state_file_current, write_state_file, write_task_file
from ostler.errors import Code, OstlerError, UsageError, WarningCode, read_code
from ostler.files.yaml import read_yaml
from ostler.git.commit.trailers import find_start_commit
from ostler.git.kept import kept_task_ref
from ostler.git.refs import resolve_commit
from ostler.model.attempt import Attempt
from ostler.model.event import (
    CheckpointMade,
    DecisionRecorded,
    Event,
    TaskCancelled,
    TaskClaimed,
    TaskCompleted,
    TaskFailed,
    TaskPaused,
    TaskRebuilt,
    TaskStarted,
    WorkspaceReleased,
)
from ostler.model.ids import TaskId
from ostler.model.rows import decode_state
from ostler.model.status import TERMINAL, TaskStatus, read_status
from ostler.model.task import Task
from ostler.model.usage import Usage, add_cost
from ostler.model.warning import WarningDetail
from ostler.project.project import Project
from ostler.project.recovery.numbers import OWNER, find_next_round, follow_files
from ostler.project.reviews.archive import restore_reviews
from ostler.sources.task_file import read_task

_LOGS = "transcripts/*.log.ndjson"
_AGAIN = "the journal was rebuilt: the task starts again; its branch and its transcripts are kept"
_NOT_CHECKED = "its gates are not in the files it was rebuilt from: the results were not checked again"
_PASSED = "completed before the journal was rebuilt"
_LARGEST_BYTES = 10 * 1024 * 1024


class _LogLine(Struct, frozen=True):
    """The first or the last line of an attempt's log."""

    type: str = ""
    at: float = 0.0
    phase: str = ""
    number: int = 0
    iteration: int = 0
    executor: str = ""
    model: str = ""
    status: str = "interrupted"
    code: str | None = None
    message: str = ""
    seconds: float = 0.0
    usage: Usage = Usage()
    cost_usd: float | None = None


class _StateFile(Struct, frozen=True):
    """What state.yaml has of a task."""

    status: str = ""
    code: str | None = None
    message: str | None = None
    branch: str | None = None
    commit: str | None = None
    warnings: tuple[str, ...] = ()


class RebuiltTask(Struct, frozen=True):
    id: TaskId
    status: TaskStatus
    notes: tuple[str, ...] = ()  # what could not be rebuilt


def read_task_folder(folder: Path) -> Task:
    """Return the task of a directory, as a person or the last edit left its file; raises OstlerError."""
    where = folder / "task.md"
    try:
        with where.open("rb") as file:
            text = file.read(_LARGEST_BYTES).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{where} cannot be read: {error}") from error
    return replace(read_task(text, str(where)), id=TaskId(folder.name))


def rebuild_task(project: Project, task: Task, folder: Path) -> RebuiltTask:
    """Add the task of a directory to the journal; raises OstlerError if it cannot be rebuilt."""
    known = tuple(one for one in task.after if project.journal.row(one) is not None)
    notes = [f"it does not wait for {one} any more" for one in task.after if one not in known]
    created = project.add(replace(task, after=known))
    attempts = _add_attempts(project, created.id, folder)
    found = _read_state(folder)
    for event in _list_events(project, created.id, found, attempts):
        append_event(project.journal, created.id, event, project.now())
    if attempts or project.state(created.id).status in TERMINAL:
        append_event(project.journal, created.id, _warn(project, created.id, found), project.now())
    state = project.state(created.id)
    if state.status is TaskStatus.PAUSED:
        notes.append(f"it was {found.status or 'started'}: resume it with ostler resume {created.id}")
    return RebuiltTask(created.id, state.status, tuple(notes))


def restore_files(project: Project) -> None:
    """Write task.md of each task that lacks it, and the current state.yaml; add the reviews of files."""
    for row in project.journal.rows():
        folder, state = project.layout.task(row.id), decode_state(row)
        if state.purged_at is not None:
            continue
        restore_reviews(project, row.id)
        if not (folder / "task.md").exists():
            write_task_file(project.task(row.id), project.layout)
        if not is_state_file_current(state, project.layout):
            # A newer one would be taken for a change by a person.
            write_state_file(state, project.layout)


def _warn(project: Project, task: TaskId, found: _StateFile) -> TaskRebuilt:
    """Return the event with the warnings of the task, and with a round that no commit of it has."""
    warnings = (*(one for one in found.warnings if one != WarningCode.REBUILT), WarningCode.REBUILT)
    text = _NOT_CHECKED if project.state(task).status in TERMINAL else _AGAIN
    return TaskRebuilt(find_next_round(project, task), warnings, (WarningDetail(WarningCode.REBUILT, text),))


def _read_state(folder: Path) -> _StateFile:
    where = folder / "state.yaml"
    try:
        return msgspec.convert(read_yaml(where.read_text("utf-8"), str(where)).value, _StateFile)
    except (OSError, UnicodeDecodeError, OstlerError, msgspec.ValidationError):
        return _StateFile()


def _list_events(
    project: Project, task: TaskId, found: _StateFile, attempts: tuple[Attempt, ...]
) -> list[Event]:
    """Return the events that lead to the status of the file; a started task that is open is paused."""
    status = _read_status(found.status, attempts)
    if status in (TaskStatus.PENDING, TaskStatus.ASSIGNED) and not attempts:
        return []
    usage = sum((one.usage for one in attempts), Usage())
    cost = reduce(add_cost, (one.cost_usd for one in attempts), None)
    if status not in TERMINAL:
        return [TaskPaused(None, _AGAIN, usage=usage, cost_usd=cost)]
    message = found.message or ""
    ended: Event
    if status in (TaskStatus.COMPLETED, TaskStatus.APPROVED):
        ended = TaskCompleted(usage=usage, cost_usd=cost)
    elif status in (TaskStatus.CANCELLED, TaskStatus.ABANDONED):
        ended = TaskCancelled(message, usage=usage, cost_usd=cost)
    else:
        code = read_code(found.code or "")
        ended = TaskFailed(code, message, counts=False, usage=usage, cost_usd=cost)
    work = _restore_work(project, task, found)
    if isinstance(ended, TaskCompleted):
        # Otherwise a task that builds on this one would wait for its phases.
        phases = project.state(task).plan.phases
        work += [DecisionRecorded("skip", _PASSED, phase.id, OWNER) for phase in phases]
    return [TaskClaimed(OWNER), *work, ended, _release(project, task)]


def _read_status(text: str, attempts: tuple[Attempt, ...]) -> TaskStatus:
    try:
        return read_status(text)
    except ValueError:
        return TaskStatus.IN_PROGRESS if attempts else TaskStatus.PENDING


def _restore_work(project: Project, task: TaskId, found: _StateFile) -> list[Event]:
    """Return the branch and the commit of an ended task, by which it is shown and built on."""
    repository, commit = project.repository(), _find_commit(project, task, found.commit)
    if repository is None or not commit:
        return []
    branch = found.branch or f"{project.settings.git.branch_prefix}{task}"
    base = find_start_commit(repository, task, commit)
    phase = project.state(task).current.id
    return [TaskStarted(None, branch, base or commit), CheckpointMade(phase, commit)]


def _release(project: Project, task: TaskId) -> WorkspaceReleased:
    kept = project.layout.worktree(task).is_dir()
    return WorkspaceReleased(kept=kept, commit=_find_commit(project, task) or None)


def _find_commit(project: Project, task: TaskId, recorded: str | None = None) -> str:
    """Return the recorded commit, else the kept one, else the tip of the task's branch, else nothing."""
    repository = project.repository()
    if repository is None:
        return ""
    names = (recorded or "", kept_task_ref(task), f"refs/heads/{project.settings.git.branch_prefix}{task}")
    return next(filter(None, (resolve_commit(repository, name) for name in names if name)), "")


def _add_attempts(project: Project, task: TaskId, folder: Path) -> tuple[Attempt, ...]:
    """Record the attempts of the logs, under their numbers: a later attempt must not reuse a file name."""
    found = filter(None, (_read_attempt(task, log) for log in sorted(folder.glob(_LOGS))))
    attempts = {one.number: one for one in found}
    follow_files(project, task, folder, tuple(attempts.values()))
    return tuple(attempts.values())


def _read_attempt(task: TaskId, log: Path) -> Attempt | None:
    try:
        lines = log.read_bytes().splitlines()
        first = msgspec.json.decode(lines[0], type=_LogLine)
        last = msgspec.json.decode(lines[-1], type=_LogLine)
    except (OSError, IndexError, msgspec.DecodeError):
        return None
    if first.number < 1:
        return None
    ended = last if last.type == "attempt_ended" else _LogLine(code=Code.INTERRUPTED)
    status = ended.status if ended.status in ("succeeded", "failed") else "interrupted"
    return Attempt(
        task=task,
        step="",
        owner=OWNER,
        phase=first.phase,
        iteration=first.iteration,
        executor=first.executor,
        started_at=first.at,
        number=first.number,
        model=first.model,
        status=status,
        duration_ms=int(ended.seconds * 1000),
        code=read_code(ended.code) if ended.code else None,
        message=ended.message,
        usage=ended.usage,
        cost_usd=ended.cost_usd,
    )
