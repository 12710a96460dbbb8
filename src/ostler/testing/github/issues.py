"""The GraphQL objects that `gh issue list`, `view` and `comment` query."""

from __future__ import annotations

import shlex
from typing import Any

from ostler.testing.github.connection import connection
from ostler.testing.github.hub import Hub, Issue


def search_issues(hub: Hub, query: str) -> dict[str, Any]:
    """Return the issues of a search such as `label:ready repo:acme/app state:open type:issue`."""
    terms = [term.partition(":")[::2] for term in shlex.split(query)]
    wanted = [value for name, value in terms if name == "label"]
    state = next((value.upper() for name, value in terms if name == "state"), "OPEN")
    here = all(value.lower() == hub.name.lower() for name, value in terms if name == "repo")
    found = [issue for issue in reversed(hub.issues) if here and _fits(issue, wanted, state)]
    return connection([_view(issue) for issue in found]) | {"issueCount": len(found)}


def list_issues(hub: Hub, states: list[str]) -> dict[str, Any]:
    """Return the issues in these states, latest first."""
    return connection([_view(issue) for issue in reversed(hub.issues) if issue.state in states])


def view_issue(hub: Hub, number: int) -> dict[str, Any] | None:
    found = next((issue for issue in hub.issues if issue.number == number), None)
    return _view(found) if found else None


def add_comment(hub: Hub, wanted: dict[str, Any]) -> dict[str, Any]:
    number = int(str(wanted["subjectId"]).removeprefix("I_"))
    issue = hub.comment(number, wanted["body"])
    return {"commentEdge": {"node": _comment(issue, len(issue.comments))}}


def _fits(issue: Issue, labels: list[str], state: str) -> bool:
    return issue.state == state and set(labels) <= set(issue.labels)


def _view(issue: Issue) -> dict[str, Any]:
    numbers = range(1, len(issue.comments) + 1)
    return {
        "__typename": "Issue",
        "id": f"I_{issue.number}",
        "number": issue.number,
        "title": issue.title,
        "body": issue.body,
        "url": issue.url,
        "state": issue.state,
        "updatedAt": "2030-01-01T00:00:00Z",
        "labels": connection([{"id": f"L_{label}", "name": label} for label in issue.labels]),
        "comments": connection([_comment(issue, number) for number in numbers]),
    }


def _comment(issue: Issue, number: int) -> dict[str, Any]:
    return {
        "id": f"IC_{issue.number}_{number}",
        "author": {"__typename": "User", "id": "U_una", "login": "una", "name": "Una"},
        "authorAssociation": "OWNER",
        "body": issue.comments[number - 1],
        "createdAt": "2030-01-01T00:00:00Z",
        "includesCreatedEdit": False,
        "isMinimized": False,
        "minimizedReason": "",
        "reactionGroups": [],
        "url": f"{issue.url}#issuecomment-{number}",
        "viewerDidAuthor": True,
    }
