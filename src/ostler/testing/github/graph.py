"""The GraphQL objects that `gh pr list`, `create`, `view` and `merge` query."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ostler.testing.github.connection import connection
from ostler.testing.github.hub import READY, Hub, Pull
from ostler.testing.github.issues import add_comment, list_issues, search_issues, view_issue

Args = dict[str, Any]
Functions = dict[str, Callable[[Args], Any]]
_FEATURES = ("isInMergeQueue", "isMergeQueueEnabled", "autoMergeRequest", "checkRunCountsByState")


def query_root(hub: Hub) -> dict[str, Any]:
    """The root of a query."""
    functions: Functions = {
        "__type": lambda _: {"fields": [{"name": name} for name in _FEATURES]},
        "user": lambda args: _person(args["login"]) if args["login"] in hub.people else None,
        "repository": lambda args: _repository(hub) if _is_this(hub, args) else None,
        "search": lambda args: search_issues(hub, args["query"]),
    }
    return {"viewer": _person("una"), **functions}


def mutation_root(hub: Hub) -> dict[str, Any]:
    """The root of a mutation; each function takes its input and applies it."""
    functions: Functions = {
        "createPullRequest": lambda args: _created(hub, args["input"]),
        "updatePullRequest": lambda args: _labelled(hub, args["input"]),
        "requestReviews": lambda args: _reviewed(hub, args["input"]),
        "requestReviewsByLogin": lambda args: _reviewed(hub, args["input"]),
        "mergePullRequest": lambda args: _answer(hub, hub.merge(_number(args["input"]))),
        "enablePullRequestAutoMerge": lambda args: _answer(hub, hub.merge_later(_number(args["input"]))),
        "addComment": lambda args: add_comment(hub, args["input"]),
    }
    return {**functions}


def _is_this(hub: Hub, args: Args) -> bool:
    return f"{args['owner']}/{args['name']}".lower() == hub.name.lower()


def _repository(hub: Hub) -> dict[str, Any]:
    owner, _, name = hub.name.partition("/")
    functions: Functions = {
        "pullRequests": lambda args: _listed(hub, args),
        "pullRequest": lambda args: _view(hub, hub.get(args["number"])),
        "issueOrPullRequest": lambda args: _issue_or_pull(hub, args["number"]),
        "issues": lambda args: list_issues(hub, args.get("states") or ["OPEN"]),
        "labels": lambda _: connection([_label(label) for label in hub.labels]),
        "label": lambda args: _label(args["name"]) if args["name"] in hub.labels else None,
        "assignableUsers": lambda _: connection([_person(login) for login in hub.people]),
    }
    return {
        "id": "R_1",
        "databaseId": 1,
        "name": name,
        "nameWithOwner": hub.name,
        "owner": {"id": "O_1", "login": owner},
        "url": hub.url,
        "sshUrl": f"git@github.localhost:{hub.name}.git",
        "hasIssuesEnabled": True,
        "viewerPermission": "ADMIN",
        "defaultBranchRef": {"name": "main"},
        "mergeCommitAllowed": True,
        "rebaseMergeAllowed": True,
        "squashMergeAllowed": True,
        **functions,
    }


def _listed(hub: Hub, args: Args) -> dict[str, Any]:
    states = args.get("states") or args.get("state") or ["OPEN"]
    head = args.get("headRefName") or args.get("headBranch")
    found = [pull for pull in reversed(hub.pulls) if pull.state in states and pull.head == head]
    return connection([_view(hub, pull) for pull in found])


def _view(hub: Hub, pull: Pull | None) -> dict[str, Any] | None:
    if pull is None:
        return None
    owner, _, name = hub.name.partition("/")
    return {
        "__typename": "PullRequest",
        "id": f"PR_{pull.number}",
        "number": pull.number,
        "title": pull.title,
        "body": pull.body,
        "url": pull.url,
        "state": pull.state,
        "isDraft": pull.draft,
        "headRefName": pull.head,
        "headRefOid": pull.commit,
        "baseRefName": pull.base,
        "headRepository": {"id": f"R_{pull.fork or 1}", "name": name},
        "headRepositoryOwner": {"id": f"O_{pull.fork or 1}", "login": pull.fork or owner},
        "isCrossRepository": bool(pull.fork),
        "mergeable": "MERGEABLE",
        # Right after a push GitHub has not computed it yet, and gh requests auto-merge anyway.
        "mergeStateStatus": "UNKNOWN" if hub.checks == READY else "BLOCKED",
        "autoMergeRequest": {"mergeMethod": "SQUASH"} if pull.auto_merge else None,
        "isInMergeQueue": False,
        "isMergeQueueEnabled": False,
        "labels": connection([_label(label) for label in pull.labels]),
        "commits": connection([{"commit": {"statusCheckRollup": _rollup(hub)}}]),
    }


def _rollup(hub: Hub) -> dict[str, Any] | None:
    """The checks of the head commit; null without any, as on GitHub."""
    return (
        {"contexts": connection([_check(*one) for one in hub.check_runs.items()])} if hub.check_runs else None
    )


def _check(name: str, conclusion: str) -> dict[str, Any]:
    """A check run; one without a conclusion is in progress."""
    status = "COMPLETED" if conclusion else "IN_PROGRESS"
    return {"__typename": "CheckRun", "name": name, "status": status, "conclusion": conclusion}


def _issue_or_pull(hub: Hub, number: int) -> dict[str, Any] | None:
    return view_issue(hub, number) or _view(hub, hub.get(number))


def _created(hub: Hub, wanted: dict[str, Any]) -> dict[str, Any]:
    fields = (wanted["headRefName"], wanted["baseRefName"], wanted["title"], wanted.get("body") or "")
    return _answer(hub, hub.open(*fields, draft=bool(wanted.get("draft"))))


def _labelled(hub: Hub, wanted: dict[str, Any]) -> dict[str, Any]:
    labels = tuple(label.removeprefix("L_") for label in wanted.get("labelIds") or ())
    return _answer(hub, hub.change(_number(wanted), labels=labels))


def _reviewed(hub: Hub, wanted: dict[str, Any]) -> dict[str, Any]:
    people = wanted.get("userLogins") or [user.removeprefix("U_") for user in wanted.get("userIds") or ()]
    return _answer(hub, hub.change(_number(wanted), reviewers=tuple(people)))


def _answer(hub: Hub, pull: Pull) -> dict[str, Any]:
    return {"clientMutationId": None, "pullRequest": _view(hub, pull)}


def _number(wanted: dict[str, Any]) -> int:
    return int(str(wanted["pullRequestId"]).removeprefix("PR_"))


def _label(name: str) -> dict[str, Any]:
    return {"id": f"L_{name}", "name": name, "description": "", "color": "ededed"}


def _person(login: str) -> dict[str, Any]:
    return {"__typename": "User", "id": f"U_{login}", "login": login, "name": login.title()}
