"""Reviews of a project's tasks, made in this process as the dashboard makes them."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from ostler.model.ids import TaskId
from ostler.project.project import Project
from ostler.project.reviews.drafts import CommentChange, save_draft
from ostler.project.reviews.send import NewReview, send_review
from ostler.project.reviews.view import ReviewView, show_review
from world import World

LINE = {"path": "fake-agent.txt", "side": "new", "line": 1, "end_line": 1}
WAITS = {"OSTLER_GATES__PHASES__IMPLEMENT": "human"}


@contextmanager
def opened(world: World) -> Generator[Project]:
    """The project of a test."""
    with Project.open(world.root, world.environ) as project:
        yield project


def see(world: World, task: str) -> ReviewView:
    """Return the review of a task, as the page shows it."""
    with opened(world) as project:
        return show_review(project, TaskId(task))


def comment(world: World, task: str, name: str, **values: Any) -> None:
    """Save a comment on the first line of the fake agent's file, as a draft."""
    with opened(world) as project:
        found = show_review(project, TaskId(task))
        place: Mapping[str, object] = {} if found.document else LINE
        body = {"id": name, "text": f"Comment {name}.", "place": place, "commit": found.version, **values}
        save_draft(project, TaskId(task), msgspec.convert(body, CommentChange))


def send(world: World, task: str, verdict: str = "changes", **values: Any) -> int:
    """Send the drafts with a decision; return the number of the review."""
    with opened(world) as project:
        version = show_review(project, TaskId(task)).version
        body = {"verdict": verdict, "commit": version, **values}
        return send_review(project, world.environ, TaskId(task), msgspec.convert(body, NewReview)).number


def list_texts(world: World, task: str) -> list[list[str]]:
    """Return the texts of the comments of each sent review."""
    return [[one.text for one in review.comments] for review in see(world, task).reviews]


def list_drafts(world: World, task: str) -> list[str]:
    return [one.text for one in see(world, task).drafts]


def new_reviewed(world: World) -> str:
    """Return a task that waits for its second review; the first one has one comment."""
    world.environ |= WAITS
    task = world.new()
    world.ostler("run", task, code=4)
    comment(world, task, "c1")
    send(world, task)
    world.ostler("run", task, code=4)
    return task
