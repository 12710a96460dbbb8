"""Two browsers, a stale tab, a restarted server and work that changes while a person reviews it."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from servers.postgres import PostgresServer

from ostler.model.ids import TaskId
from ostler.model.review import ReviewVerdict
from ostler.project.reviews.conflict import ReviewConflict
from ostler.project.reviews.send import NewReview, send_review
from postgres_world import new_address
from review_world import LINE, WAITS, comment, list_texts, opened, see
from web_world import JSON, Served, serve
from world import World, wait_until

pytestmark = pytest.mark.full

APPROVE = {"verdict": "approve", "then": ""}
RETURN = {"verdict": "changes", "text": "Not this way."}


@pytest.fixture
def task(world: World) -> str:
    """A task that waits for a review."""
    world.environ |= WAITS
    made = world.new()
    world.ostler("run", made, code=4)
    return made


def decide(server: Served, task: str, body: dict[str, Any]) -> tuple[int, Any]:
    answer = server.ask("POST", f"/api/v1/tasks/{task}/review", json.dumps(body).encode(), **JSON)
    return answer.status, answer.json


def at_once(*calls: Callable[[], tuple[int, Any]]) -> list[tuple[int, Any]]:
    """Call all at the same moment."""
    barrier = Barrier(len(calls))

    def call(one: Callable[[], tuple[int, Any]]) -> tuple[int, Any]:
        barrier.wait()
        return one()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(call, calls))


@pytest.mark.parametrize(
    ("one", "other"), [(APPROVE, APPROVE), (APPROVE, RETURN), (RETURN, RETURN)], ids=["aa", "ar", "rr"]
)
def test_two_decisions_at_the_same_moment(
    world: World, task: str, one: dict[str, Any], other: dict[str, Any]
) -> None:
    """Exactly one is made; the other browser is refused once, with who decided what."""
    server = serve(world, "--view-only")
    path = f"/tasks/{task}/review"
    shown = server.get(path)
    server.post(f"{path}/comments", {"id": "c1", "text": "Why?", "place": LINE, "commit": shown["commit"]})
    bodies = [
        {**body, "commit": shown["commit"], "round": 1, "id": f"r{n}"} for n, body in enumerate((one, other))
    ]
    answers = at_once(*(lambda body=body: decide(server, task, body) for body in bodies))
    assert sorted(status for status, _ in answers) == [200, 409]
    won = bodies[[status for status, _ in answers].index(200)]
    (refused,) = [answer for status, answer in answers if status == 409]
    said = "approved it" if won["verdict"] == "approve" else "sent it back"
    assert f"{said} (review 1)" in refused["message"], refused
    assert list_texts(world, task) == [["Why?"]]
    decided = [one for one in world.events(task) if one["type"] == "decision_recorded"]
    assert [one["review"] for one in decided] == [1]


@pytest.mark.smoke
def test_a_decision_on_the_board_at_the_same_moment(world: World, task: str) -> None:
    """One of the review and the command is carried out, whichever is first."""
    server = serve(world, "--view-only")
    shown = server.get(f"/tasks/{task}/review")

    def approve() -> tuple[int, Any]:
        answer = server.ask("POST", f"/api/v1/tasks/{task}/approve", b"{}", **JSON)
        return answer.status, answer.json

    answers = at_once(approve, lambda: decide(server, task, {**RETURN, "commit": shown["commit"]}))
    assert sorted(status for status, _ in answers) == [200, 409]
    (refused,) = [answer["message"] for status, answer in answers if status == 409]
    reviewed = answers[0][0] == 409  # the command came too late
    assert ("sent it back at" if reviewed else "cannot be decided about now") in refused
    late = decide(server, task, {**APPROVE, "commit": shown["commit"]})
    assert late[0] == 409
    assert ("sent it back (review 1)" if reviewed else "approved it at") in late[1]["message"], late
    assert len([one for one in world.events(task) if one["type"] == "decision_recorded"]) == 1


def test_completed_work_is_approved_once(world: World) -> None:
    """A second approval without an effect is refused; that it is to be merged is a decision of its own."""
    done = world.new()
    world.ostler("run", done)
    server = serve(world, "--view-only")
    body = {"verdict": "approve", "commit": server.get(f"/tasks/{done}/review")["commit"]}
    answers = at_once(*(lambda n=n: decide(server, done, {**body, "id": f"r{n}"}) for n in range(2)))
    assert sorted(status for status, _ in answers) == [200, 409]
    (refused,) = [answer for status, answer in answers if status == 409]
    assert "is approved already" in refused["message"] and "(review 1)" in refused["message"]
    assert decide(server, done, {**body, "then": "merge"})[0] == 200


@pytest.mark.smoke
def test_a_tab_from_before_the_last_round(world: World) -> None:
    """The document is the same as before, but the tab lacks the answers of the agent."""
    world.behave(text="# The same text\n")
    task = world.new("Describe it", "--output", "docs/it.md", "--review", "human", "--executor", "claude")
    world.ostler("run", task, code=4)
    server = serve(world, "--view-only")
    shown = server.get(f"/tasks/{task}/review")
    status, refused = decide(server, task, {**RETURN, "commit": shown["version"], "round": 9})
    assert status == 409 and "is in round 1, and the page shows round 9" in refused["message"]
    assert decide(server, task, {**RETURN, "commit": shown["version"], "round": 1})[0] == 200
    world.ostler("run", task, code=4)
    again = server.get(f"/tasks/{task}/review")
    assert (again["version"], again["round"]) == (shown["version"], 2) and again["can"]["approve"]["allowed"]
    status, refused = decide(server, task, {**APPROVE, "commit": shown["version"], "round": 1})
    assert status == 409 and "was decided about since the page was loaded" in refused["message"]
    assert "sent it back (review 1)" in refused["message"]
    assert decide(server, task, {**APPROVE, "commit": again["version"], "round": 2})[0] == 200


@pytest.mark.smoke
def test_drafts_survive_a_restart_of_the_server(world: World, task: str) -> None:
    """Also of one that was killed; the review is sent to the next one."""
    server = serve(world, "--view-only")
    path = f"/tasks/{task}/review"
    commit = server.get(path)["commit"]
    server.post(f"{path}/comments", {"id": "c1", "text": "One.", "place": LINE, "commit": commit})
    assert server.stop() == 130
    server = serve(world, "--view-only")
    server.post(f"{path}/comments", {"id": "c2", "text": "Two.", "place": LINE, "commit": commit})
    os.kill(server.child.pid, signal.SIGKILL)
    server.child.wait()
    server = serve(world, "--view-only")
    assert [one["text"] for one in server.get(path)["drafts"]] == ["One.", "Two."]
    server.post(path, {**RETURN, "commit": commit, "round": 1})
    assert list_texts(world, task) == [["One.", "Two."]]


def test_work_that_changes_before_the_review_is_sent(world: World, task: str) -> None:
    """It is refused, the comment stays a draft at its lines, and goes out with the next decision."""
    server = serve(world, "--view-only")
    path = f"/tasks/{task}/review"
    commit = server.get(path)["commit"]
    server.post(f"{path}/comments", {"id": "c1", "text": "Longer.", "place": LINE, "commit": commit})
    world.ostler("reject", task, "-m", "Add a head.")
    worktree = Path(world.show(task)["worktree"])
    before = (worktree / "fake-agent.txt").read_text()
    world.behave(edits={}, files={"fake-agent.txt": f"a head\nanother\n{before}"})
    world.ostler("run", task, code=4)
    status, refused = decide(server, task, {**RETURN, "commit": commit, "round": 1})
    assert status == 409 and f"not at {commit[:10]}" in refused["message"]
    assert "the comments are kept" in refused["hint"]
    now = server.get(path)
    (draft,) = now["drafts"]
    assert (draft["place"]["line"], draft["now"]["line"], draft["state"]) == (1, 3, "unchanged")
    server.post(path, {**RETURN, "commit": now["commit"], "round": 1})
    wait_until(lambda: list_texts(world, task) == [["Longer."]], 10, "it was not sent")
    (sent,) = server.get(path)["reviews"][0]["comments"]
    assert (sent["now"]["line"], sent["state"], sent["commit"]) == (3, "unchanged", commit)


def test_a_review_is_taken_back_until_a_run_acts_on_it(world: World, task: str) -> None:
    """The task waits again for a decision, which is the next review; after the merge it is too late."""
    server = serve(world, "--view-only")
    body = {"verdict": "approve", "then": "merge", "commit": server.get(f"/tasks/{task}/review")["commit"]}
    assert decide(server, task, {**body, "round": 1})[0] == 200
    assert server.post(f"/tasks/{task}/undo")["status"] == "needs_review"
    again = server.get(f"/tasks/{task}/review")
    assert again["round"] == 2 and again["can"]["send_back"]["allowed"]
    status, refused = decide(server, task, {**body, "round": 1})
    assert status == 409 and "was decided about since" in refused["message"], "this tab shows no undo"
    assert decide(server, task, {**body, "round": 2})[0] == 200
    world.ostler("run", task)
    assert world.show(task)["published_into"] == "main"
    late = server.post(f"/tasks/{task}/undo", status=409)
    assert "too late for undo, because main has the work" in late["message"]


def test_a_review_that_sent_work_back_is_not_undone(world: World, task: str) -> None:
    """Undo refuses in one sentence, and the agent gets the review."""
    server = serve(world, "--view-only")
    commit = server.get(f"/tasks/{task}/review")["commit"]
    assert decide(server, task, {**RETURN, "commit": commit})[0] == 200
    refused = server.post(f"/tasks/{task}/undo", status=409)
    assert "no decision that can be taken back" in refused["message"]
    world.ostler("run", task, code=4)
    assert len(server.get(f"/tasks/{task}/review")["reviews"]) == 1


@pytest.mark.parametrize("verdicts", [("approve", "changes"), ("approve", "approve")])
def test_two_machines_with_one_journal(
    world: World, postgres_server: PostgresServer, verdicts: tuple[ReviewVerdict, ReviewVerdict]
) -> None:
    """With the journal in PostgreSQL, too, exactly one decision is recorded, with all comments."""
    schema = new_address(postgres_server).schema
    settings = f'[store]\nurl = "{postgres_server.url()}"\nschema = "{schema}"\n'
    (world.root / "ostler.toml").write_text(settings)
    world.environ |= WAITS
    world.ostler("init")
    task = TaskId(world.new())
    world.ostler("run", task, code=4)
    comment(world, task, "c1", text="Why?")
    version = see(world, task).version

    def decide_there(verdict: ReviewVerdict) -> tuple[int, Any]:
        with opened(world) as project:
            try:
                new = NewReview(verdict=verdict, commit=version, text="Mine.")
                return 200, send_review(project, world.environ, task, new).number
            except ReviewConflict as error:
                return 409, error.message

    answers = at_once(*(lambda verdict=one: decide_there(verdict) for one in verdicts))
    assert sorted(status for status, _ in answers) == [200, 409], answers
    (refused,) = [said for status, said in answers if status == 409]
    assert "(review 1)" in refused
    assert list_texts(world, task) == [["Why?"]]
    assert len([one for one in world.events(task) if one["type"] == "decision_recorded"]) == 1


@pytest.mark.parametrize("action", [("approve",), ("reject", "-m", "No.")], ids=["approve", "reject"])
def test_a_decision_after_the_check(
    world: World, task: str, action: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Made by another process before the review is recorded: the review is refused, its comments stay."""
    comment(world, task, "c1", text="Why?")
    version = see(world, task).version

    def decide_meanwhile(place: str) -> None:
        if place == "review.kept":
            world.program(action[0], task, *action[1:])

    monkeypatch.setattr("ostler.project.reviews.send.reach", decide_meanwhile)
    with opened(world) as project, pytest.raises(ReviewConflict, match="cannot be decided about now"):
        send_review(project, world.environ, TaskId(task), NewReview(verdict="changes", commit=version))
    assert (list_texts(world, task), [one.text for one in see(world, task).drafts]) == ([], ["Why?"])
    assert len([one for one in world.events(task) if one["type"] == "decision_recorded"]) == 1
