"""The actions over HTTP, on a server that runs tasks."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from web_world import JSON, Served, note_of, serve
from world import World, end_by_two, wait_until

GATED = '[gates.weights]\nmedium = "human"\n\n[phases.plans]\nmedium = ["implement"]\n'


def reach(server: Served, task: str, status: str) -> Any:
    """Wait until the task has this status, and return it."""
    wait_until(lambda: server.get(f"/tasks/{task}")["status"] == status, 60, f"{task} is never {status}")
    return server.get(f"/tasks/{task}")


@pytest.mark.full
def test_a_task_from_its_creation_to_its_files(world: World) -> None:
    """It is created, run and read through every route, and a person approves it at its gate."""
    (world.root / "ostler.toml").write_text(GATED)
    world.git("add", "-A")
    world.git("commit", "-q", "-m", "settings")
    server = serve(world)
    made = server.post("/tasks", {"title": "Add a greeting", "weight": "medium", "priority": "P1"}, 201)
    task = made["id"]
    waiting = reach(server, task, "needs_review")
    row = server.get("/tasks?group=needs_you")["tasks"][0]
    assert (row["id"], row["asks"], row["phases"][0]["id"]) == (task, "approve", "implement")
    assert server.post(f"/tasks/{task}/resume", {}, 409)["message"] == f"{task} is waiting for your review"
    assert server.post(f"/tasks/{task}/reject", {"text": " "}, 400)["code"] == "USAGE"
    assert server.post(f"/tasks/{task}/approve", {"text": "well done"})["id"] == task
    reach(server, task, "completed")
    wait_until(lambda: server.get(f"/tasks/{task}")["worktree"] is None, 60, "its worktree is left")
    done = server.get(f"/tasks/{task}")
    assert done == world.show(task)
    assert done["commit"] == waiting["commit"]
    assert server.get(f"/tasks/{task}/request")["title"] == "Add a greeting"
    assert "fake-agent.txt" in server.get(f"/tasks/{task}/diff")["patch"]
    assert server.get(f"/tasks/{task}/timeline")["task"] == task
    assert server.get(f"/tasks/{task}/attempts/1/log?offset=-1")["entries"]
    assert "Add a greeting" in server.get(f"/tasks/{task}/attempts/1/prompt")["text"]
    assert server.ask("GET", f"/api/v1/tasks/{task}/attempts/1/raw").body.startswith(b"{")
    assert server.get(f"/tasks/{task}/attempts/2/prompt", 404)["code"] == "USAGE"
    assert server.get("/cost?by=phase")["lines"][0]["key"] == "implement"
    assert sum(server.get("/cost/series?by=task")["series"][0]["usd"]) == pytest.approx(0.00014)
    assert server.get("/tasks")["counts"]["done"] == 1
    assert server.get(f"/events?task={task}&limit=1")["events"][0]["type"] == "task_created"


def test_a_running_task_is_seen_and_stopped(world: World) -> None:
    """Its last action, its attempt and its slot; a cancel ends its agent."""
    world.behave(fault="a1_hangs")
    server = serve(world, "-j", "1")
    assert server.get("/session")["jobs"] == 1
    task = server.post("/tasks", {"title": "Hang", "priority": "P0"}, 201)["id"]
    held = server.post("/tasks", {"title": "Later", "hold": True}, 201)
    assert held["status"] == "paused"
    wait_until(world.started, 60, "no agent was started")
    row = next(one for one in server.get("/tasks?group=running")["tasks"] if one["id"] == task)
    assert row["since"] and row["phases"][0]["status"] == "running"
    machine = server.get("/machine")
    assert [(one["task"], one["number"]) for one in machine["attempts"]] == [(task, 1)]
    assert {pool["name"]: pool["active"] for pool in machine["pools"]}["high"] == 1
    assert [run["pid"] for run in machine["runs"]] == [server.child.pid]
    server.post(f"/tasks/{task}/pause")
    reach(server, task, "paused")
    assert server.post(f"/tasks/{task}/cancel", {"reason": "no need"})["status"] == "cancelled"
    assert server.post(f"/tasks/{task}/run", {}, 409)["hint"] == f"reopen it: ostler retry {task}"
    assert server.post(f"/tasks/{held['id']}/run", {}, 409)["message"].endswith("it waits for you")
    assert server.stop() == 130
    assert not world.survivors()


MISTAKES: list[tuple[str, dict[str, object], int, str]] = [
    ("/tasks", {"titel": "x"}, 400, "did you mean title?"),
    ("/tasks", {"title": "x", "weight": "huge"}, 400, "weight"),
    ("/tasks", {"title": "x", "role": "king"}, 400, "role"),
    ("/tasks", {"title": "x", "executor": "nobody"}, 400, "nobody"),
    ("/tasks", {"title": "x", "after": ["nothing"]}, 400, "no task nothing"),
    ("/tasks", {"title": "x", "after": [1]}, 400, "after"),
    ("/tasks", {"title": "a\0b"}, 400, "no program accepts"),
    ("/tasks", {"title": "x", "skill": "nothing"}, 400, "nothing"),
    ("/tasks/nothing/pause", {}, 404, "no task nothing"),
    ("/tasks/{task}/run", {}, 409, "does not run tasks"),
    ("/tasks/{task}/skip", {"phase": "x", "reason": "y"}, 409, "has no phase 'x'"),
    ("/tasks/{task}/approve", {}, 409, "is not waiting for a decision"),
    ("/pipelines", {"name": "nothing"}, 404, "no pipeline nothing"),
    ("/pipelines", {"name": "../x"}, 400, "name"),
    ("/pipelines/nothing/resume", {}, 404, "nothing"),
]


def test_mistakes_are_reported_in_one_sentence(world: World) -> None:
    """With a suitable status and the next step; nothing is written."""
    task = world.new("Rest")
    server = serve(world, "--view-only")
    before = server.get("/session")["position"]
    for path, printed, status, part in MISTAKES:
        reported = server.post(path.format(task=task), printed, status)
        assert reported["schema"] == "ostler.error/1"
        assert part in f"{reported['message']} {reported['hint']}"
    assert server.get("/session")["position"] == before


@pytest.mark.full
def test_a_second_serve_gives_a_fresh_address(world: World, tmp_path: Path) -> None:
    """It is an address of the first server, with exit 0; a port of another program is one sentence."""
    world.ostler("init")
    server = serve(world, "--view-only")
    again = world.json("serve", "--view-only")
    assert again["schema"] == "ostler.server/1"
    assert server.ask("GET", again["url"].partition(str(server.port))[2]).status == 303
    assert json.loads(note_of(world).read_bytes())["pid"] == server.child.pid
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        reported = world.ostler("serve", "--port", port, code=2).stderr
        assert f"port {port} of 127.0.0.1 is in use" in reported and "--port 0" in reported
    refused = world.ostler("serve", "--port", "0", code=2, OSTLER_SERVER__HOST="0.0.0.0")
    assert "would allow connections from other machines" in refused.stderr


def test_two_interrupts_end_it_at_once(world: World) -> None:
    """Also while an agent ignores its end."""
    world.behave(fault="a1_hangs")
    world.new("Hang")
    server = serve(world)
    wait_until(world.started, 60, "no agent was started")
    assert end_by_two(server.child, 2) == 130


@pytest.mark.full
def test_a_demo_that_can_be_watched(world: World) -> None:
    """One of its tasks soon needs a person, the others still run."""
    child = world.start("demo", "--serve", str(world.root.parent / "demo"), "--json")
    world.root = world.root.parent / "demo"
    wait_until(note_of(world).exists, 60, "no server came up")
    server = Served(world, child)
    wait_until(lambda: server.get("/tasks")["counts"]["needs_you"], 60, "nothing asks for a person")
    board = server.get("/tasks")
    assert (board["counts"]["running"] + board["counts"]["waiting"], board["total"]) == (3, 4)
    assert server.stop() == 130


def test_a_pipeline_is_begun_by_its_name(world: World) -> None:
    """Its steps are tasks of one run, which is listed, shown and reopened."""
    skill = world.root / ".agents" / "skills" / "research"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(
        "---\nname: research\ndescription: finds out\nsquad: strategy\n---\nFind out.\n"
    )
    pipelines = world.root / ".agents" / "pipelines"
    pipelines.mkdir()
    (pipelines / "launch.yaml").write_text(
        "goal: Launch\nsteps:\n  - skill: research\n  - {skill: research, id: again}\n"
    )
    world.ostler("init")
    server = serve(world, "--view-only")
    assert server.get("/session")["pipelines"] == ["launch"]
    assert server.get("/session")["skills"] == ["research"]
    run = server.post("/pipelines", {"name": "launch", "goal": "Sell hay"}, 201)
    assert [step["id"] for step in run["steps"]] == ["research", "again"]
    assert server.get("/pipelines")["pipelines"] == [run]
    assert server.get(f"/tasks?pipeline={run['run']}")["total"] == 2
    first = run["steps"][0]["task"]
    server.post(f"/tasks/{first}/cancel")
    assert server.get(f"/pipelines/{run['run']}")["steps"][0]["status"] == "cancelled"
    assert server.post(f"/pipelines/{run['run']}/resume")["steps"][0]["status"] == "pending"


def test_many_tasks_are_retried_at_once(world: World) -> None:
    """The same filters as `ostler retry`; a wrong one is a usage error."""
    world.environ["OSTLER_RETRY__MAX_RETRIES"] = "0"
    world.behave(plan=[{"fault": "crash"}, ""])
    server = serve(world, "-j", "1")
    task = server.post("/tasks", {"title": "Crash"}, 201)["id"]
    reach(server, task, "failed")
    assert server.post("/tasks/retry", {}, 400)["code"] == "USAGE"
    assert "unknown code" in server.post("/tasks/retry", {"code": "NOPE"}, 400)["message"]
    assert server.post("/tasks/retry", {"code": "NETWORK"})["tasks"] == []
    assert server.post("/tasks/retry", {"failed": True})["tasks"] == [task]
    reach(server, task, "completed")


def test_an_open_task_is_edited(world: World) -> None:
    """PATCH changes what is given; a mistake is 400, and what the state does not allow 409."""
    task = world.new("Rest", "-d", "A while.")
    server = serve(world, "--view-only")

    def patch(values: object) -> tuple[int, Any]:
        answer = server.ask("PATCH", f"/api/v1/tasks/{task}", json.dumps(values).encode(), **JSON)
        return answer.status, answer.json

    status, edited = patch({"title": "Sleep", "priority": "P0", "weight": "trivial"})
    assert (status, edited["title"], edited["priority"], edited["weight"]) == (200, "Sleep", "P0", "trivial")
    assert server.get(f"/tasks/{task}/request")["body"].strip() == "A while."
    (event,) = [one for one in world.events(task) if one["type"] == "task_edited"]
    assert (event["by"], "title: Rest -> Sleep" in event["text"]) == ("api", True)
    for wrong, code in (
        ({"colour": "red"}, 400),
        ({"priority": "P9"}, 400),
        ({"budget_usd": -1}, 400),
        ({"executor": "claud"}, 409),
        ({"after": [task]}, 409),
        ({"title": "Sleep"}, 409),
        ({}, 409),
    ):
        status, reported = patch(wrong)
        assert (status, reported["schema"]) == (code, "ostler.error/1"), (wrong, reported)
    world.ostler("cancel", task)
    assert patch({"title": "Wake"})[0] == 409
    assert world.show(task)["title"] == "Sleep"


@pytest.mark.full
def test_tasks_are_put_away_over_http(world: World) -> None:
    """Archived tasks have a list of their own, removed ones are unknown, and purged ones have no logs."""
    done, spare = world.new("One"), world.new("Two")
    world.ostler("run", done)
    server = serve(world, "--view-only")
    assert server.post(f"/tasks/{spare}/archive", {}, 409)["hint"] == f"ostler cancel {spare}"
    assert server.post(f"/tasks/{done}/archive", {})["archived_at"]
    listed = server.get("/tasks?since=1h")
    assert [row["id"] for row in listed["tasks"]] == [spare] and listed["counts"]["done"] == 0
    assert [row["id"] for row in server.get("/tasks?archived=true&status=done")["tasks"]] == [done]
    assert server.post(f"/tasks/{spare}/rm", {})["removed_at"]
    assert "was removed at" in server.get(f"/tasks/{spare}", 404)["message"]
    assert server.post(f"/tasks/{done}/purge", {})["purged_at"]
    assert "was purged at" in server.get(f"/tasks/{done}/attempts/1/log", 404)["message"]
    assert server.get("/cost")["lines"][0]["key"] == done
    for bad in ("since=soon", "archived=perhaps", "status=complted"):
        server.get(f"/tasks?{bad}", 400)
