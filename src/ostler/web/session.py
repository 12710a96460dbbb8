"""The routes of the session: the project and the options for new tasks, and one-time keys."""

from __future__ import annotations

import time

from msgspec import Struct

from ostler import __version__
from ostler.clock import format_rfc3339
from ostler.executors.registry import ExecutorRegistry
from ostler.model.task import PRIORITIES, WEIGHTS
from ostler.project.project import Project
from ostler.prompt.role import AGENTS, list_project_roles
from ostler.skills.location import find_skills
from ostler.web.requests import EmptyBody
from ostler.web.route import Empty, RequestParts
from ostler.web.routes.pipelines import list_pipeline_names
from ostler.web.site import Site


class SessionView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.session/1"
    project: str  # name of its directory
    root: str
    version: str
    runs_tasks: bool  # false: view only
    problems: tuple[str, ...]  # why ready tasks cannot run
    jobs: int
    position: int  # position of the feed
    now: str
    executors: tuple[str, ...]
    roles: tuple[str, ...]
    skills: tuple[str, ...]
    weights: tuple[str, ...]
    priorities: tuple[str, ...]
    pipelines: tuple[str, ...]


class KeyView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.key/1"
    url: str


def show_session(site: Site, project: Project, request: RequestParts[Empty, Empty]) -> SessionView:
    root, settings = project.layout.root, project.settings
    return SessionView(
        project=root.name,
        root=str(root),
        version=__version__,
        runs_tasks=site.runs_tasks,
        problems=site.problems(),
        jobs=settings.run.jobs,
        position=project.journal.position(),
        now=format_rfc3339(time.time()),
        executors=tuple(dict.fromkeys((*settings.executors, *ExecutorRegistry().list(aliases=False)))),
        roles=tuple(dict.fromkeys((*AGENTS, *list_project_roles(root)))),
        skills=tuple(dict.fromkeys(skill.name for skill in find_skills(root, settings.skills))),
        weights=WEIGHTS,
        priorities=PRIORITIES,
        pipelines=tuple(list_pipeline_names(project)),
    )


def make_key(site: Site, project: Project, request: RequestParts[Empty, EmptyBody]) -> KeyView:
    return KeyView(url=site.make_one_time_url())
