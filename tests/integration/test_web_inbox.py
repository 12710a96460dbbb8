"""What waits for a person, over HTTP: the order, what a decision needs, and how long it takes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from many import fill, fill_inbox
from web_world import Served, serve, shared_world

MANY = 10_000
SCRIPTS = {
    "Round the prices": '- edit: {path: shoes/price.py, content: "a\\nb\\n"}\n'
    "- say: Rounded them. <phase_complete>true</phase_complete>",
    "Ask the colour": "- say: I looked. <phase_blocked>Which colour?</phase_blocked>",
    "Wait for me": "- say: Done. <phase_complete>true</phase_complete>",
}

SETTINGS = """
phases.plans.small = ["implement", "test"]
gates.phases.test = "human"
gates.commands.implement = "true"
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with a review, a question and a task that the person paused."""
    with shared_world(tmp_path_factory.mktemp("inbox")) as world:
        world.environ |= {"OSTLER_RUN__EXECUTOR": "scripted", "OSTLER_GATES__DEFAULT": "auto"}
        (world.root / "ostler.toml").write_text(SETTINGS)
        tasks = [world.new(title, "-d", f"```ostler-script\n{one}\n```\n") for title, one in SCRIPTS.items()]
        world.ostler("pause", tasks[2])
        world.ostler("run", *tasks[:2], code=None)
        yield serve(world, "--view-only")


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with ten thousand tasks, of which six thousand wait for a person."""
    with shared_world(tmp_path_factory.mktemp("many")) as world:
        fill(world, MANY - 6000, paused=4)
        fill_inbox(world, 6000)
        yield serve(world, "--view-only")


def _items(page: Any) -> dict[str, Any]:
    return {item["title"]: item for item in page["items"]}


def test_an_item_has_what_a_decision_needs(server: Served) -> None:
    """The agent's own words, the size of its change, the gates of its commit, and its question."""
    page = server.get("/inbox")
    items = _items(page)
    assert [item["kind"] for item in page["items"]] == ["question", "review"]
    review, question = items["Round the prices"], items["Ask the colour"]
    assert review["summary"] == "Rounded them."
    assert review["diffstat"] == {"files": 1, "additions": 2, "deletions": 0}
    assert {(gate["name"], gate["verdict"], gate["current"]) for gate in review["gates"]} == {
        ("implement", "pass", True)
    }
    assert (question["question"], question["asks"]) == ("Which colour?", "reply")
    assert page["counts"] == {"question": 1, "review": 1, "failed": 0, "paused": 1}


def test_own_pauses_are_asked_for_separately(server: Served) -> None:
    """They are no part of what is urgent, and do not count as waiting for the person."""
    assert [*_items(server.get("/inbox?kind=paused"))] == ["Wait for me"]
    counts = server.get("/tasks?limit=1")["counts"]
    assert (counts["needs_you"], counts["paused"]) == (2, 1)


def test_a_change_that_keeps_the_status_does_not_move_a_task(server: Served) -> None:
    """A task waits since its status was entered, not since its last change."""
    before = _items(server.get("/inbox"))["Ask the colour"]
    url = f"/api/v1/tasks/{before['id']}"
    answer = server.ask("PATCH", url, b'{"priority": "P1"}', Content_Type="application/json")
    assert answer.status == 200, answer.body
    after = _items(server.get("/inbox"))["Ask the colour"]
    assert after["updated_at"] > before["updated_at"]
    assert (after["waiting_since"], after["priority"]) == (before["waiting_since"], "P1")


def test_a_decision_about_an_earlier_state_is_refused(server: Served) -> None:
    """A tab that shows an older state cannot approve what its person has not seen."""
    review = _items(server.get("/inbox"))["Round the prices"]
    refused = server.post(f"/tasks/{review['id']}/approve?waiting_since=2020-01-01T00:00:00.000Z", {}, 409)
    assert refused["message"] == f"{review['id']} has changed since you saw it: it is needs_review"
    path = f"/tasks/{review['id']}/approve?waiting_since={review['waiting_since']}"
    assert server.post(path, {})["status"] != "needs_review"


def test_the_inbox_of_many_tasks_is_paged_in_order_and_quick(many: Served) -> None:
    """Every task once, the most urgent first; a page takes 100 ms (five times as much on a busy machine)."""
    seen: list[tuple[str, str, str]] = []
    after = ""
    while True:
        page = many.get(f"/inbox?kind=failed&limit=200&after={after}")
        seen += [(item["priority"], item["waiting_since"], item["id"]) for item in page["items"]]
        after = page["next"].get("failed")
        if after is None:
            break
    assert len(seen) == page["counts"]["failed"] == 2000
    assert seen == sorted(seen)
    assert min(_seconds(many) for _ in range(5)) < 0.5
    assert many.get("/inbox?kind=failed&after=nothing", 400)["message"].startswith("invalid after")


def _seconds(server: Served) -> float:
    began = time.perf_counter()
    assert len(server.get("/inbox?limit=20")["items"]) == 60
    return time.perf_counter() - began
