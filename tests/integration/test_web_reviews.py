"""Reviews over HTTP: drafts, a review that is sent, and the work that comes back."""

from __future__ import annotations

from typing import Any

import pytest

from web_world import Served, serve
from world import World, wait_until

SCRIPT = """```ostler-script
- edit: {{path: fake-agent.txt, content: {word}}}
- say: "Done. <phase_complete>true</phase_complete>"
```
"""
CHECKED = """
phases.plans.small = ["implement"]
phases.max_phase_retries = 0
gates.commands.implement = "! grep -q two fake-agent.txt"
gates.phases.implement = "human"
"""
GATED = '[gates.weights]\nmedium = "human"\n\n[phases.plans]\nmedium = ["implement"]\n'


def reach(server: Served, task: str, status: str) -> Any:
    """Wait until the task has this status, and return its review."""
    wait_until(lambda: server.get(f"/tasks/{task}")["status"] == status, 60, f"{task} is never {status}")
    return server.get(f"/tasks/{task}/review")


def comment(number: int, review: Any, **values: object) -> dict[str, object]:
    place = {"path": "fake-agent.txt", "side": "new", "line": 1, "end_line": 1}
    return {"id": f"c{number}", "text": "Too short.", "place": place, "commit": review["commit"], **values}


def test_a_review_at_a_gate_and_of_completed_work(world: World) -> None:
    """Comments are drafts until they are sent; the work comes back with another commit, twice."""
    (world.root / "ostler.toml").write_text(GATED)
    world.git("add", "-A")
    world.git("commit", "-q", "-m", "settings")
    server = serve(world)
    task = server.post("/tasks", {"title": "Add a greeting", "weight": "medium"}, 201)["id"]
    path = f"/tasks/{task}/review"
    first = reach(server, task, "needs_review")
    assert (first["schema"], first["round"], first["reviews"], first["drafts"]) == (
        "ostler.review/1",
        1,
        [],
        [],
    )
    assert first["can"]["approve"] | first["can"]["send_back"] == {
        "allowed": True,
        "label": "Approve and merge",
        "then": "merge",
        "overrules": False,
        "reason": "",
    }
    assert (first["next"], first["waiting"]) == (None, 1)
    server.post(f"{path}/comments", comment(1, first))
    drafted = server.post(f"{path}/comments", comment(2, first, kind="question", text="Why?"))
    assert [one["text"] for one in drafted["drafts"]] == ["Too short.", "Why?"]
    server.post(f"{path}/comments/c2/delete")
    viewed = server.post(f"{path}/viewed", {"path": "fake-agent.txt", "blob": "a" * 40})
    assert viewed["viewed"] == [{"path": "fake-agent.txt", "blob": "a" * 40}]
    server.post(f"{path}/viewed", {"path": "a\nb", "blob": "b" * 40})
    viewed = server.post(f"{path}/viewed", {"path": "a\nb", "blob": "b" * 40, "viewed": False})
    assert [one["path"] for one in viewed["viewed"]] == ["fake-agent.txt"]
    sent = {"commit": first["commit"], "verdict": "changes", "text": "Almost.", "id": "send-1"}
    server.post(path, sent)
    server.post(path, sent)
    second = reach(server, task, "needs_review")
    assert second["commit"] != first["commit"]
    assert [one["number"] for one in second["reviews"]] == [1]
    review = second["reviews"][0]
    assert (review["verdict"], review["text"], review["commit"]) == ("changes", "Almost.", first["commit"])
    assert [(one["id"], one["number"], one["text"]) for one in review["comments"]] == [
        ("c1", 1, "Too short.")
    ]
    assert second["drafts"] == []
    stale = server.post(path, {"commit": first["commit"], "verdict": "approve"}, 409)
    assert "has changed: it is at" in stale["message"]
    resolved = server.post(f"{path}/comments/c1/resolve", {"resolved": True})
    assert resolved["reviews"][0]["comments"][0]["resolved"] is True
    server.post(path, {"commit": second["commit"], "verdict": "approve", "then": ""})
    done = reach(server, task, "completed")
    assert done["can"]["send_back"]["allowed"]
    server.post(path, {"commit": done["commit"], "verdict": "changes", "text": " "}, 409)
    server.post(path, {"commit": done["commit"], "verdict": "changes", "text": "One more thing."})
    again = reach(server, task, "needs_review")
    assert again["round"] == 4 and again["commit"] != done["commit"]
    assert world.git("merge-base", "--is-ancestor", done["commit"], again["commit"]) == ""
    server.post(path, {"commit": again["commit"], "verdict": "approve", "then": "merge"})
    merged = reach(server, task, "completed")
    assert "merged into main" in merged["can"]["approve"]["reason"]
    assert world.git("rev-parse", "main").strip() == merged["commit"]
    assert server.stop() in (0, 130)


def test_what_is_refused(world: World) -> None:
    """Each mistake has one sentence, and nothing is stored."""
    world.ostler("init")
    server = serve(world, "--view-only")
    task = server.post("/tasks", {"title": "Later"}, 201)["id"]
    path = f"/tasks/{task}/review"
    place = {"path": "a.py", "side": "new", "line": 3, "end_line": 2}
    empty = server.get(path)
    for body, text in (
        ({"id": "c1", "text": " "}, "the comment is empty"),
        ({"id": "c/1", "text": "x"}, "invalid body: id"),
        ({"id": "c1", "text": "x" * 20_001}, "20,001 bytes; at most 20,000"),
        ({"id": "c1", "text": "x", "place": place}, "invalid lines 3 to 2"),
        ({"id": "c1", "text": "x", "place": place | {"path": "", "end_line": 3}}, "lines without a file"),
        ({"id": "c1", "text": "x", "place": {"path": "../x"}}, "invalid path"),
        ({"id": "c1", "text": "x", "place": {"path": "a\nb"}}, "invalid path"),
        ({"id": "c1", "suggestion": "x"}, "a suggestion replaces lines"),
    ):
        assert text in server.post(f"{path}/comments", body, 400)["message"]
    stale = server.post(f"{path}/comments", comment(1, {"commit": "a" * 40}), 409)
    assert "has changed" in stale["message"]
    assert stale["hint"] == "reload the page; the comment is not saved"
    both = {"verdict": "changes", "text": "x", "then": "merge"}
    assert "is not published" in server.post(path, both, 400)["message"]
    refused = server.post(path, {"verdict": "changes", "text": "x"}, 409)
    assert "it is pending and waits for its agent" in refused["message"]
    assert server.post(f"{path}/comments/c9/resolve", {}, 404)["message"].startswith(f"{task} has no sent")
    assert server.get(path) == empty
    assert server.stop() == 130


def test_the_decision_has_the_verdict_of_the_command_of_its_gate(world: World) -> None:
    """A command that passed before the person is asked is a verdict; one that failed is overruled by name."""
    world.environ["OSTLER_RUN__EXECUTOR"] = "scripted"
    (world.root / "ostler.toml").write_text(CHECKED)
    passed, failed = (
        world.new(word, "-d", SCRIPT.format(word=word), "--priority", priority)
        for word, priority in (("one", "P2"), ("two", "P1"))
    )
    world.ostler("run", "--all", code=4)
    server = serve(world)
    good, bad = (server.get(f"/tasks/{task}/review") for task in (passed, failed))
    assert [(one["verdict"], one["detail"]) for one in good["gates"]] == [
        ("pass", "! grep -q two fake-agent.txt")
    ]
    assert good["verdicts"]["passed"] and good["verdicts"]["text"].startswith("implement: pass on ")
    assert not good["can"]["approve"]["overrules"]
    assert (bad["gates"][0]["verdict"], bad["verdicts"]["passed"]) == ("fail", False)
    assert (bad["can"]["approve"]["overrules"], bad["can"]["approve"]["label"]) == (
        True,
        "Approve anyway and merge",
    )
    assert (good["next"], bad["next"], good["waiting"]) == (failed, passed, 2)
    ticks = {item["id"]: [one["verdict"] for one in item["gates"]] for item in server.get("/inbox")["items"]}
    assert ticks == {passed: ["pass"], failed: ["fail"]}


@pytest.mark.full
def test_a_review_of_work_in_conflict_says_so(world: World) -> None:
    """It has the files, the target and the text for the agent, and a reason why nothing can be approved."""
    world.environ["OSTLER_RUN__EXECUTOR"] = "scripted"
    ours = world.new("one", "-d", SCRIPT.format(word="one"))
    theirs = world.new("two", "-d", SCRIPT.format(word="two"))
    world.ostler("run", "--all")
    world.ostler("merge", ours)
    world.ostler("merge", theirs, code=4)
    review = serve(world).get(f"/tasks/{theirs}/review")
    assert (review["conflict"]["files"], review["conflict"]["target"]) == (["fake-agent.txt"], "main")
    assert review["conflict"]["agent"].startswith("Resolve the conflict with main")
    assert review["can"]["approve"]["reason"] == "it conflicts with main, which has to be resolved first"
