"""GitHub issues: those with a label are tasks, and a completed task gets one comment."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from ostler.errors import UsageError
from ostler.git.discovery import discover_repository
from ostler.git.publish.gh import GhError, run_gh
from ostler.git.publish.github import parse_repository_name, require_known_host
from ostler.git.publish.remote import find_remote
from ostler.model.task import Task
from ostler.sources.found import FoundTask, with_short_title
from ostler.sources.origin import IssueOrigin

_T = TypeVar("_T")
_MAX_ISSUES = 1000  # the limit of GitHub's search


class _Issue(Struct, frozen=True):
    number: int
    title: str
    body: str | None = None
    url: str = ""


class _Comment(Struct, frozen=True):
    body: str = ""


class _Comments(Struct, frozen=True):
    comments: list[_Comment]


def list_issues(repository: str, label: str) -> list[FoundTask]:
    """Return the tasks of the open issues with this label, oldest first."""
    require_known_host(repository)
    fields = ("--state=open", f"--limit={_MAX_ISSUES}", "--json=number,title,body,url")
    output = run_gh("issue", "list", f"--repo={repository}", f"--label={label}", *fields)
    issues = _read(output, list[_Issue])
    return [_found(repository, issue) for issue in sorted(issues, key=lambda issue: issue.number)]


def comment_once(origin: IssueOrigin, marker: str, text: str) -> bool:
    """Add a comment unless one with the marker exists; return whether it was added."""
    require_known_host(origin.repository)
    where = (str(origin.number), f"--repo={origin.repository}")
    output = run_gh("issue", "view", *where, "--json=comments")
    if any(marker in comment.body for comment in _read(output, _Comments).comments):
        return False
    run_gh(
        "issue", "comment", *where, "--body-file=-", stdin=f"{text}\n\n{marker}\n".encode(errors="replace")
    )
    return True


def normalize_repository(name: str) -> str:
    """Return [HOST/]OWNER/NAME in the normalized spelling of sources."""
    plain = name.strip().removesuffix(".git").lower().removeprefix("github.com/")
    if plain.count("/") not in (1, 2) or not all(plain.split("/")) or any(c.isspace() for c in plain):
        raise UsageError(f"invalid repository {name!r:.80}", "use OWNER/NAME")
    return plain


def remote_repository(root: Path, target: str) -> str:
    """Return the repository of the project's remote; raise UsageError when it is not on GitHub."""
    repository = discover_repository(root)
    remote = find_remote(repository, target) if repository else None
    name = parse_repository_name(remote.destination.url) if remote else None
    if name is None:
        raise UsageError("this project has no remote on GitHub", "pass the repository: --repo OWNER/NAME")
    return name


def _read(output: str, kind: type[_T]) -> _T:
    try:
        return msgspec.json.decode(output, type=kind)
    except msgspec.DecodeError as error:
        raise GhError(f"gh printed invalid JSON: {error}", "check gh --version") from error


def _found(repository: str, issue: _Issue) -> FoundTask:
    body = (issue.body or "").replace("\r\n", "\n").strip()
    origin = IssueOrigin(repository, issue.number)
    task = Task(issue.title, f"{body}\n\n{issue.url}".strip(), source=str(origin))
    return FoundTask(with_short_title(task), issue.url or str(origin))
