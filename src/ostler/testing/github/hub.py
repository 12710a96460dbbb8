"""The state of the fake GitHub: branches, forks, labels, users, issues and pull requests."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

READY = "clean"
WAITING = "blocked"


class Pull(Struct, frozen=True):
    """A pull request."""

    number: int
    title: str
    body: str
    head: str
    base: str
    url: str
    draft: bool = False
    state: str = "OPEN"
    labels: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()
    auto_merge: bool = False
    commit: str = ""  # the commit of its head at the last look, or at the merge
    fork: str = ""  # the owner of the fork that the head is in; empty: the repository itself


class Issue(Struct, frozen=True):
    """An issue."""

    number: int
    title: str
    body: str
    url: str
    labels: tuple[str, ...] = ()
    state: str = "OPEN"
    comments: tuple[str, ...] = ()


class Refused(Exception):
    """GitHub refuses a request, with this message."""


class Hub:
    """The repository owner/name; `bare` is the directory that branches are pushed to."""

    def __init__(self, name: str, url: str, bare: Path | None) -> None:
        self.name = name
        self.url = f"{url}/{name}"
        self.labels = ["automated", "bug"]
        self.people = ["una"]
        self.checks = READY  # or WAITING: checks must pass before a merge
        self.check_runs: dict[str, str] = {}  # name -> conclusion, of every head commit; empty: it runs
        self.forks: dict[str, Path] = {}  # owner -> the directory that its branches are pushed to
        self._bare = bare
        self._pulls: dict[int, Pull] = {}
        self._issues: dict[int, Issue] = {}
        self._lock = threading.RLock()

    @property
    def pulls(self) -> tuple[Pull, ...]:
        """Every pull request, oldest first."""
        with self._lock:
            return tuple(self._update_head(pull) for pull in self._pulls.values())

    @property
    def issues(self) -> tuple[Issue, ...]:
        """Every issue, oldest first."""
        with self._lock:
            return tuple(self._issues.values())

    def report(self, title: str, body: str = "", *labels: str) -> Issue:
        """Open an issue; issues and pull requests share one sequence of numbers."""
        with self._lock:
            number = self._next_number()
            url = f"{self.url}/issues/{number}"
            self._issues[number] = Issue(number, title, body, url, labels)
            return self._issues[number]

    def revise(self, number: int, **fields: Any) -> Issue:
        with self._lock:
            self._issues[number] = structs.replace(self._issues[number], **fields)
            return self._issues[number]

    def comment(self, number: int, text: str) -> Issue:
        with self._lock:
            return self.revise(number, comments=(*self._issues[number].comments, text))

    def open(self, head: str, base: str, title: str, body: str = "", *, draft: bool = False) -> Pull:
        """Open a pull request; a head in a fork is OWNER:BRANCH."""
        fork, _, branch = head.rpartition(":")
        with self._lock:
            if self._bare and not self.commit_of(branch, fork):
                raise Refused("Head sha can't be blank, Head ref must be a branch")
            if any(pull.state == "OPEN" for pull in self._pulls.values() if _is_head(pull, branch, fork)):
                owner = fork or self.name.partition("/")[0]
                raise Refused(f"A pull request already exists for {owner}:{branch}.")
            number = self._next_number()
            url = f"{self.url}/pull/{number}"
            self._pulls[number] = Pull(number, title, body, branch, base, url, draft, fork=fork)
            return self._update_head(self._pulls[number])

    def change(self, number: int, **fields: Any) -> Pull:
        with self._lock:
            self._pulls[number] = structs.replace(self._update_head(self._pulls[number]), **fields)
            return self._pulls[number]

    def get(self, number: int) -> Pull | None:
        return next((pull for pull in self.pulls if pull.number == number), None)

    def merge(self, number: int) -> Pull:
        with self._lock:
            if self.checks != READY:
                raise Refused("Pull request is not mergeable: the base branch requires all checks to pass")
            return self.change(number, state="MERGED", auto_merge=False)

    def merge_later(self, number: int) -> Pull:
        with self._lock:
            if self.checks == READY:
                raise Refused("Pull request Pull request is in clean status")
            return self.change(number, auto_merge=True)

    def commit_of(self, branch: str, fork: str = "") -> str:
        """Return the commit of a branch in the repository or in a fork; empty when it does not exist."""
        bare = self.forks.get(fork) if fork else self._bare
        if bare is None:
            return "" if fork else "0" * 40
        loose = bare / "refs" / "heads" / branch
        return loose.read_text().strip() if loose.is_file() else _packed(bare, branch)

    def _next_number(self) -> int:
        return len(self._pulls) + len(self._issues) + 1

    def _update_head(self, pull: Pull) -> Pull:
        if pull.state != "OPEN":
            return pull
        return structs.replace(pull, commit=self.commit_of(pull.head, pull.fork) or pull.commit)


def _is_head(pull: Pull, branch: str, fork: str) -> bool:
    return (pull.head, pull.fork) == (branch, fork)


def _packed(bare: Path, branch: str) -> str:
    packed = bare / "packed-refs"
    lines = packed.read_text().splitlines() if packed.is_file() else []
    return next((line[:40] for line in lines if line.endswith(f" refs/heads/{branch}")), "")
