"""The documents of a server of several projects."""

from __future__ import annotations

from msgspec import Struct

from ostler.model.policy.needs import Need
from ostler.views.lists.board import Counts
from ostler.views.lists.inbox import InboxCounts, InboxItem
from ostler.web.all_projects.hosted import HostingState


class ProjectSummary(Struct, frozen=True):
    """A project on the server."""

    name: str  # in the paths of the server
    title: str  # the name of its directory, and of the one above if another has the same
    root: str
    path: str  # the prefix of its pages and of its API
    state: HostingState
    problem: str  # why it is not available, or why its tasks do not run
    hint: str
    used_at: str
    position: int | None  # position of its feed; null: not available
    counts: Counts | None


class ProjectsView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.projects/1"
    projects: tuple[ProjectSummary, ...]  # by name
    view_only: bool
    version: str


class ProjectItem(InboxItem, frozen=True, kw_only=True):
    """A task of one of the projects that waits for a person."""

    project: str  # its name on the server
    project_title: str


class MergedInboxView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.merged_inbox/1"
    items: tuple[ProjectItem, ...]  # of each kind by priority, then the one that waits longest
    counts: InboxCounts
    next: dict[Need, str]  # cursor of the next page of each kind that has one
    positions: dict[str, int]  # position of each project's feed before its tasks were read
    unavailable: tuple[str, ...]  # names of projects that are not open
