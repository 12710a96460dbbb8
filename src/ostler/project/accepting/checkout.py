"""How a person gets the files of a task: the command that checks them out, and links for an editor."""

from __future__ import annotations

import shlex
from pathlib import Path
from urllib.parse import quote

from msgspec import Struct

from ostler.config.editors import build_editor_links
from ostler.errors import UsageError
from ostler.files.paths import resolve_beneath
from ostler.git.kept import kept_task_ref
from ostler.git.move.task_ref import find_task_ref_name
from ostler.git.publish.checkout import find_checkout
from ostler.git.refs import resolve_commit
from ostler.model.ids import TaskId
from ostler.model.state import State
from ostler.project.project import Project


class EditorLink(Struct, frozen=True):
    """A link that the browser hands to an editor."""

    name: str
    url: str


class Checkout(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.checkout/1"
    id: TaskId
    command: str  # empty: there is nothing to check out
    pull_request: str = ""  # the command that checks out its pull request
    worktree: str | None  # null: removed, or on another machine
    editor_links: tuple[EditorLink, ...]
    reason: str = ""  # why a command or the links are missing


def describe_checkout(project: Project, task: TaskId, path: str = "", line: int = 1) -> Checkout:
    """Return the command and the links; raise UsageError for a path that is no file of the worktree."""
    state = project.state(task)
    worktree = _find_worktree(project, state)
    links = _list_links(project, worktree, path, line) if worktree else ()
    command = _find_command(project, state)
    reason = "" if worktree else "its worktree is not on this machine, so an editor has no file to open"
    return Checkout(
        id=task,
        command=command,
        pull_request=f"gh pr checkout {shlex.quote(state.pr_url)}" if state.pr_url else "",
        worktree=str(worktree) if worktree else None,
        editor_links=links,
        reason=reason if command else f"{task} has no commit to check out",
    )


def _find_worktree(project: Project, state: State) -> Path | None:
    place = project.layout.worktree_of_record(state.worktree) if state.worktree else None
    return place if place is not None and place.is_dir() else None


def _find_command(project: Project, state: State) -> str:
    repository = project.repository()
    if repository is None or state.branch is None:
        return ""
    if project.settings.engine.moves_tasks:
        remote = shlex.quote(project.settings.engine.remote)
        return f"git fetch {remote} {find_task_ref_name(state.task)} && git switch --detach FETCH_HEAD"
    branch = shlex.quote(state.branch)
    if resolve_commit(repository, f"refs/heads/{state.branch}"):
        # Git refuses a branch that another worktree has checked out.
        detach = "--detach " if find_checkout(repository, state.branch, None) else ""
        return f"git switch {detach}{branch}"
    kept = kept_task_ref(state.task)
    return f"git switch -c {branch} {kept}" if resolve_commit(repository, kept) else ""


def _list_links(project: Project, worktree: Path, path: str, line: int) -> tuple[EditorLink, ...]:
    """Return a link for each editor; to the worktree if no file is named."""
    place = worktree
    if path:
        place = resolve_beneath(worktree, path)
        if ".git" in Path(path).parts or not place.is_file():
            raise UsageError(f"the worktree has no file {path[:200]}", "name a file that the task has")
    found = build_editor_links(project.settings.server.editor, quote(str(place)), line if path else 1)
    return tuple(EditorLink(name, url) for name, url in found)
