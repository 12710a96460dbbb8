"""Issues on GitHub: those with a label are tasks, and a completed one is told in one comment."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from ostler.errors import UsageError
from ostler.git.discovery import discover
from ostler.git.gh import GhError, run_gh
from ostler.git.github import repository_name, require_known_host
from ostler.git.remote import find_remote
from ostler.model.task import Task
from ostler.sources.found import Found, titled
from ostler.sources.origin import IssueOrigin

_T = TypeVar("_T")
_MOST = 1000  # as many as GitHub's search gives


class _Issue(Struct, frozen=True):
    number: int
    title: str
    body: str | None = None
    url: str = ""


class _Comment(Struct, frozen=True):
    body: str = ""


class _Comments(Struct, frozen=True):
    comments: list[_Comment]


def list_issues(repository: str, label: str) -> list[Found]:
    """The tasks of the open issues with that label, the oldest first."""
    require_known_host(repository)
    fields = ("--state=open", f"--limit={_MOST}", "--json=number,title,body,url")
    told = run_gh("issue", "list", f"--repo={repository}", f"--label={label}", *fields)
    issues = _read(told, list[_Issue])
    return [_found(repository, issue) for issue in sorted(issues, key=lambda issue: issue.number)]


def comment_once(origin: IssueOrigin, marker: str, text: str) -> bool:
    """Write the comment, unless one with the marker is there; False when it was."""
    require_known_host(origin.repository)
    where = (str(origin.number), f"--repo={origin.repository}")
    told = run_gh("issue", "view", *where, "--json=comments")
    if any(marker in comment.body for comment in _read(told, _Comments).comments):
        return False
    run_gh(
        "issue", "comment", *where, "--body-file=-", stdin=f"{text}\n\n{marker}\n".encode(errors="replace")
    )
    return True


def plain_repository(name: str) -> str:
    """The [HOST/]OWNER/NAME in the one spelling that sources have."""
    plain = name.strip().removesuffix(".git").lower().removeprefix("github.com/")
    if plain.count("/") not in (1, 2) or not all(plain.split("/")) or any(c.isspace() for c in plain):
        raise UsageError(f"{name!r:.80} is no repository", "write it as OWNER/NAME")
    return plain


def remote_repository(root: Path, target: str) -> str:
    """The repository that the project is published to; raises when it is none that gh knows."""
    repository = discover(root)
    remote = find_remote(repository, target) if repository else None
    name = repository_name(remote.destination.url) if remote else None
    if name is None:
        raise UsageError("this project has no remote on GitHub", "name the repository: --repo OWNER/NAME")
    return name


def _read(told: str, kind: type[_T]) -> _T:
    try:
        return msgspec.json.decode(told, type=kind)
    except msgspec.DecodeError as error:
        raise GhError(
            f"gh gave an answer that cannot be read: {error}", "gh --version shows which it is"
        ) from error


def _found(repository: str, issue: _Issue) -> Found:
    body = (issue.body or "").replace("\r\n", "\n").strip()
    origin = IssueOrigin(repository, issue.number)
    task = Task(issue.title, f"{body}\n\n{issue.url}".strip(), source=str(origin))
    return Found(titled(task), issue.url or str(origin))
