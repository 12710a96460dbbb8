"""Where a client finds itself: the project, and what tasks can be made of."""

from __future__ import annotations

import time

from msgspec import Struct

from ostler import __version__
from ostler.clock import rfc3339
from ostler.executors.registry import ExecutorRegistry
from ostler.model.task import PRIORITIES, WEIGHTS
from ostler.project.project import Project
from ostler.prompt.role import AGENTS, own_roles
from ostler.prompt.skill_place import find_skills
from ostler.web.pipelines import names_of
from ostler.web.requests import Silent
from ostler.web.route import Asked, Nothing
from ostler.web.site import Site


class SessionView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.session/1"
    project: str  # the name of its directory
    root: str
    version: str
    carries: bool  # false: this server only looks on
    troubles: tuple[str, ...]  # why tasks wait that it could run otherwise
    jobs: int
    position: int  # of the feed
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


def show_session(site: Site, project: Project, asked: Asked[Nothing, Nothing]) -> SessionView:
    root, settings = project.layout.root, project.settings
    return SessionView(
        project=root.name,
        root=str(root),
        version=__version__,
        carries=site.carries,
        troubles=site.troubles(),
        jobs=settings.run.jobs,
        position=project.journal.position(),
        now=rfc3339(time.time()),
        executors=tuple(dict.fromkeys((*settings.executors, *ExecutorRegistry().list()))),
        roles=tuple(dict.fromkeys((*AGENTS, *own_roles(root)))),
        skills=tuple(dict.fromkeys(skill.name for skill in find_skills(root, settings.skills))),
        weights=WEIGHTS,
        priorities=PRIORITIES,
        pipelines=tuple(names_of(project)),
    )


def make_key(site: Site, project: Project, asked: Asked[Nothing, Silent]) -> KeyView:
    return KeyView(url=site.one_time_address())
