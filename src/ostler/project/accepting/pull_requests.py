"""The pull requests of tasks as GitHub shows them, asked for at most once a minute."""

from __future__ import annotations

from threading import Lock

from msgspec import Struct

from ostler.clock import SystemClock
from ostler.errors import OstlerError, UsageError
from ostler.git.publish.pull_checks import PullCheck, PullState, read_pull_state
from ostler.model.ids import TaskId
from ostler.project.project import Project

_KEPT_SECONDS = 60.0
_MOST_KEPT = 2000


class PullRequestView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.pull-request/1"
    url: str
    state: PullState | None  # null: GitHub could not be asked
    checks: tuple[PullCheck, ...] = ()
    reason: str = ""  # why it could not


class PullRequests:
    """Asks GitHub and keeps the answers; used by all threads of a server."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[float, PullRequestView]] = {}
        self._lock = Lock()

    def show(self, project: Project, task: TaskId) -> PullRequestView:
        """Return the pull request of a task; raise UsageError if it has none."""
        url = project.state(task).pr_url
        if url is None:
            raise UsageError(f"{task} has no pull request", f"ostler publish {task}")
        now = SystemClock.now()
        asked_at, view = self._known.get(url, (0.0, None))
        if view is not None and now - asked_at < _KEPT_SECONDS:
            return view
        view = _ask(url)
        with self._lock:
            if len(self._known) > _MOST_KEPT:
                self._known.clear()
            self._known[url] = (now, view)
        return view


def _ask(url: str) -> PullRequestView:
    try:
        found = read_pull_state(url)
    except OstlerError as error:
        return PullRequestView(url=url, state=None, reason=error.message)
    return PullRequestView(url=url, state=found.state, checks=found.checks)
