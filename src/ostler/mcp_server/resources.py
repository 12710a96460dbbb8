"""Tasks and their transcripts, by address."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from ostler.errors import UsageError
from ostler.mcp_server.arguments import MOST, List
from ostler.mcp_server.listing import list_tasks
from ostler.mcp_server.transcript import read_transcript
from ostler.project.project import Project
from ostler.views.task import as_json

TASKS = "ostler://tasks"
_JSON, _TEXT = "application/json", "text/markdown"
_NAMED = 50  # the tasks that stand in the list of resources, the last changed


class Place(Struct, frozen=True):
    """A resource, or with `{id}` in its address the template of many."""

    uri: str
    name: str
    about: str
    kind: str


class Content(Struct, frozen=True):
    text: str
    kind: str


TEMPLATES = (
    Place(f"{TASKS}/{{id}}", "task", "One task in full (ostler.task/1).", _JSON),
    Place(
        f"{TASKS}/{{id}}/transcript",
        "transcript",
        "What its agents said and did, attempt by attempt; the end of it where it is long.",
        _TEXT,
    ),
)


def places(project: Project) -> list[Place]:
    """The list of tasks, and each of those that changed last."""
    rows = list_tasks(project, List(limit=_NAMED)).document["tasks"]
    whole = Place(TASKS, "tasks", f"The last {MOST} tasks that changed (ostler.status/1).", _JSON)
    return [whole, *(Place(f"{TASKS}/{row['id']}", row["title"], row["status"], _JSON) for row in rows)]


def read_place(project: Project, uri: str) -> Content:
    """What is at an address; raises UsageError for one that leads nowhere."""
    match uri.removeprefix(TASKS).split("/"):
        case [""] if uri == TASKS:
            return _json(list_tasks(project, List(limit=MOST)).document)
        case ["", task] if task:
            return _json(as_json(project.show(project.resolve(task))))
        case ["", task, "transcript"] if task:
            found = project.resolve(task)
            return Content(read_transcript(found, project.layout.task(found)), _TEXT)
        case _:
            known = ", ".join((TASKS, *(template.uri for template in TEMPLATES)))
            raise UsageError(f"nothing is at {uri:.200}", f"there are {known}")


def _json(document: object) -> Content:
    return Content(msgspec.json.encode(document).decode(), _JSON)
