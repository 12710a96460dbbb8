"""From a failing test to a pull request, through the whole program (C93, C105-C107, C113, C117, C118)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from git_world import snapshot_of
from ostler.testing.fake_github import FakeGitHub
from workflow_world import COMMAND, RIGHT, WORSE, WorkflowWorld

TITLE = "Mend the sum"


@pytest.fixture
def world(tmp_path: Path, github: FakeGitHub) -> Iterator[WorkflowWorld]:
    made = WorkflowWorld(tmp_path)
    made.add_remote(github, tmp_path / "remote.git")
    yield made
    made.close()


def gates(shown: dict[str, Any]) -> list[dict[str, Any]]:
    return [phase["gate"] for phase in shown["phases"]]


def test_a_failing_test_becomes_a_pull_request(world: WorkflowWorld, github: FakeGitHub) -> None:
    """Implement, a failing test on the commit, implement again with the reason, a passing test, a PR."""
    task = world.new(TITLE)
    printed = world.ostler("run", task).stdout
    shown = world.show(task)
    assert (shown["status"], shown["code"], shown["worktree"]) == ("completed", None, None)
    assert [attempt["phase"] for attempt in shown["attempts"]] == ["implement", "test", "implement", "test"]
    names = [name for _, name in world.commits(task)]
    assert names == [f"{phase} - completed" for phase in ("implement", "test", "implement", "test")]
    assert world.read(task) == RIGHT
    (pull,) = github.pulls
    assert shown["pr_url"] == pull.url and pull.url in printed
    assert (pull.head, pull.base, pull.commit) == (f"ostler/{task}", "main", shown["commit"])
    assert TITLE in pull.title and f"test: {COMMAND}: pass on" in pull.body


def test_the_gate_looks_at_the_very_commit(world: WorkflowWorld) -> None:
    """Each verdict names the commit that was checked."""
    task = world.new(TITLE)
    world.ostler("run", task)
    verdicts = [
        event for event in world.events(task) if event["type"] == "gate_decided" and event["phase"] == "test"
    ]
    assert [event["verdict"] for event in verdicts] == ["fail", "pass"]
    texts = [world.git("show", f"{event['sha']}:calc.py") for event in verdicts]
    assert texts == [WORSE, RIGHT]
    first, second = gates(world.show(task))
    assert first["type"] == "auto" and first["verdict"] == "not_checked"
    assert {name: second[name] for name in ("type", "verdict", "reason", "sha")} == {
        "type": "command",
        "verdict": "pass",
        "reason": f"`{COMMAND}` succeeded",
        "sha": verdicts[1]["sha"],
    }
    commits = [commit for commit, _ in world.commits(task)]
    assert [event["sha"] for event in verdicts] == [commits[1], commits[3]]


def test_a_phase_is_completed_when_its_gate_has_passed(world: WorkflowWorld) -> None:
    """The events do not report a failed test as completed."""
    task = world.new(TITLE)
    world.ostler("run", task)
    reported = [
        (event["type"], event["phase"])
        for event in world.events(task)
        if event["type"] in ("checkpoint_made", "gate_decided", "phase_completed", "phase_retried")
    ]
    implemented = [
        ("checkpoint_made", "implement"),
        ("gate_decided", "implement"),
        ("phase_completed", "implement"),
    ]
    tested = [("checkpoint_made", "test"), ("gate_decided", "test")]
    back = [("phase_retried", "test")]
    assert reported == [*implemented, *tested, *back, *implemented, *tested, ("phase_completed", "test")]


def test_the_next_try_gets_the_reason_of_the_failure(world: WorkflowWorld) -> None:
    """The reason of the failure is in a file, and its end in the prompt that the agent received."""
    task = world.new(TITLE)
    world.ostler("run", task)
    file = world.root / ".ostler" / "tasks" / task / "retry-context-test-1.md"
    assert "12 != 7" in file.read_text()
    assert not list(file.parent.glob("retry-context-*-2.md"))
    first, _, third, _ = world.received_prompts()
    assert "12 != 7" not in first and "What went wrong before" not in first
    assert "12 != 7" in third and str(file) in third and COMMAND in third


def clean(world: WorkflowWorld) -> None:
    """The user has no operation in progress."""


def dirty(world: WorkflowWorld) -> None:
    (world.root / "calc.py").write_text("half done\n")
    (world.root / "notes.txt").write_text("mine\n")


def staged(world: WorkflowWorld) -> None:
    dirty(world)
    world.git("add", "calc.py")
    (world.root / "calc.py").write_text("more, not staged\n")


def stashed(world: WorkflowWorld) -> None:
    dirty(world)
    world.git("stash", "push", "-q", "-u")


def detached(world: WorkflowWorld) -> None:
    world.git("checkout", "-q", "--detach")
    dirty(world)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("leave", [clean, dirty, staged, stashed, detached])
def test_the_checkout_of_the_user_is_not_touched(
    world: WorkflowWorld, leave: Callable[[WorkflowWorld], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files, index, HEAD, stash and branches are unchanged, in any state."""
    monkeypatch.setenv("GIT_OPTIONAL_LOCKS", "0")  # the check itself must not change it either
    leave(world)
    task = world.new(TITLE)
    before = snapshot_of(world.root)
    world.ostler("run", task)
    assert world.show(task)["pr_url"]
    assert snapshot_of(world.root) == before
