"""The numbers that follow those in use: attempts above the files of a task, rounds above its commits."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec.structs import replace

from ostler.engine.records import append_event
from ostler.errors import WarningCode
from ostler.git.commit.checkpoint import STEP_TRAILER
from ostler.git.kept import kept_task_ref
from ostler.git.refs import resolve_commit
from ostler.git.repository import Repository
from ostler.git.run.command import query_git, run_git
from ostler.model.attempt import Attempt
from ostler.model.event import TaskRebuilt
from ostler.model.ids import TaskId
from ostler.model.usage import Usage
from ostler.model.warning import WarningDetail
from ostler.project.project import Project

OWNER = "journal rebuild"
_FOLDERS = ("transcripts", "prompts")
_NUMBER = re.compile(r"-(\d{3,})\.")
_BEHIND = "the restored journal has no records of its last commits and attempts"


def follow_files(project: Project, task: TaskId, folder: Path, found: tuple[Attempt, ...] = ()) -> int:
    """Record attempts up to the highest number of a file, so that none is overwritten; return how many."""
    logged = {one.number: one for one in found}
    known = project.journal.attempts(task)
    count = first = known[-1].number if known else 0
    while count < max((_find_highest(folder), *logged)):
        unknown = _make_unknown(project, task)
        attempt = logged.get(count + 1, unknown)
        count = project.journal.begin_attempt(replace(attempt, status="running"))
        project.journal.end_attempt(replace(attempt, number=count))
    return count - first


def _find_highest(folder: Path) -> int:
    names = (file.name for name in _FOLDERS for file in (folder / name).glob("*"))
    return max((int(match[1]) for match in map(_NUMBER.search, names) if match), default=0)


def _make_unknown(project: Project, task: TaskId) -> Attempt:
    return Attempt(
        task=task,
        step="",
        owner=OWNER,
        phase=project.state(task).current.id,
        iteration=0,
        executor="",
        started_at=project.now(),
        status="interrupted",
        message="its log is missing",
        usage=Usage(),
    )


def find_next_round(project: Project, task: TaskId) -> int:
    """Return a round above those of all commits of the task, the rewound ones included; 0 without commits."""
    repository = project.repository()
    if repository is None:
        return 0
    rewound = f"refs/ostler/rewound/{task}/"
    listed = query_git(repository, "for-each-ref", "--format=%(refname)", rewound).split()
    refs = [ref for ref in (*_list_refs(project, task), *listed) if resolve_commit(repository, ref)]
    rounds = [int(ref.removeprefix(rewound)) for ref in listed if ref.removeprefix(rewound).isdecimal()]
    rounds += _read_rounds(repository, task, refs) if refs else []
    return max(rounds) + 1 if rounds else 0


def _list_refs(project: Project, task: TaskId) -> tuple[str, ...]:
    branch = project.state(task).branch or f"{project.settings.git.branch_prefix}{task}"
    return kept_task_ref(task), f"refs/heads/{branch}"


def _read_rounds(repository: Repository, task: TaskId, refs: list[str]) -> list[int]:
    start = f"{STEP_TRAILER}: {task}/"
    search = ("--fixed-strings", f"--grep={start}", "--no-commit-header", "--format=%B")
    text = run_git(repository, "rev-list", *search, *refs, "--").stdout.decode(errors="replace")
    return [int(one) for one in re.findall(rf"(?m)^{re.escape(start)}(\d+)", text)]


def follow_restored(project: Project) -> None:
    """Let each task of a backup continue after the commits and attempts that were made since."""
    for row in project.journal.rows():
        added = follow_files(project, row.id, project.layout.task(row.id))
        following = find_next_round(project, row.id)
        if added or (following and _has_later_commit(project, row.id)):
            detail = WarningDetail(WarningCode.REBUILT, _BEHIND)
            event = TaskRebuilt(following, (WarningCode.REBUILT,), (detail,))
            append_event(project.journal, row.id, event, project.now())


def _has_later_commit(project: Project, task: TaskId) -> bool:
    """Return whether a ref of the task has a commit that the journal does not name."""
    state, repository = project.state(task), project.repository()
    if repository is None:
        return False
    known = {None, "", state.commit, state.tip, state.base}
    return any(resolve_commit(repository, ref) not in known for ref in _list_refs(project, task))
