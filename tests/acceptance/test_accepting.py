"""Completed work is published, rebased or approved by one command, and decisions are taken back (D5)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from git_world import git
from ostler.model.ids import TaskId
from ostler.project.project import Project
from ostler.testing.fake_github import FakeGitHub
from workflow_world import RIGHT, SETTINGS, WorkflowWorld

pytestmark = pytest.mark.full

KEEPS = SETTINGS.replace('"pr"', '"none"')


@pytest.fixture
def world(tmp_path: Path, github: FakeGitHub) -> Iterator[WorkflowWorld]:
    """A project that keeps the branches of its tasks, with a remote on GitHub."""
    made = WorkflowWorld(tmp_path, KEEPS, when=[], files={"calc.py": RIGHT})
    made.add_remote(github, tmp_path / "remote.git")
    yield made
    made.close()


def complete(world: WorkflowWorld) -> str:
    task = world.new()
    world.ostler("run", task)
    return task


def others_push(world: WorkflowWorld, path: str, text: str) -> None:
    """Commit to the remote's main as another person."""
    clone = world.root.parent / "theirs"
    world.git("clone", "-q", str(world.root.parent / "remote.git"), str(clone))
    (clone / path).write_text(text)
    git(clone, "add", "-A")
    git(clone, "-c", "user.name=t", "-c", "user.email=t@x", "commit", "-q", "-m", "theirs")
    git(clone, "push", "-q", "origin", "main")


def commit_on_main(world: WorkflowWorld, name: str, text: str = "by a person\n") -> str:
    Path(world.root, name).write_text(text)
    world.git("add", "-A")
    world.git("commit", "-q", "-m", name)
    return world.git("rev-parse", "main").strip()


def accept(world: WorkflowWorld, how: str, *tasks: str, code: int = 0) -> list[dict[str, Any]]:
    return world.json(how, *tasks, code=code)["tasks"]


@pytest.mark.smoke
def test_completed_work_becomes_a_pull_request(world: WorkflowWorld, github: FakeGitHub) -> None:
    """The gate checks the commit that is pushed, no agent runs, and a repetition publishes nothing twice."""
    task = complete(world)
    calls = len(world.started())
    others_push(world, "other.txt", "theirs\n")
    (line,) = accept(world, "publish", task)
    (pull,) = github.pulls
    shown = world.show(task)
    assert (line["result"], line["message"]) == ("published", pull.url)
    assert pull.commit == shown["commit"] == line["commit"]
    assert world.read(task, "other.txt") == "theirs\n"
    assert line["verdicts"]["text"].startswith(f"test: pass on {pull.commit[:10]}")
    assert "implement: not checked" in line["verdicts"]["text"] and not line["verdicts"]["passed"]
    assert [one["result"] for one in accept(world, "publish", task)] == ["already published"]
    assert len(github.pulls) == 1 and len(world.started()) == calls


def test_without_a_remote_nothing_is_published(world: WorkflowWorld) -> None:
    """The work stays completed, with the command that publishes it by hand."""
    world.git("remote", "remove", "origin")
    task = complete(world)
    (line,) = accept(world, "publish", task, code=1)
    assert line["result"] == "failed" and "gh pr create" in line["message"]
    assert world.show(task)["status"] == "completed"


def test_a_rebase_publishes_nothing(world: WorkflowWorld, github: FakeGitHub) -> None:
    """The branch is on top of the target, its gate has checked the new commit, and the target stays."""
    task = complete(world)
    calls, tip = len(world.started()), commit_on_main(world, "more.txt")
    (line,) = accept(world, "rebase", task)
    shown = world.show(task)
    assert (line["result"], shown["status"], shown["base"]) == ("rebased", "completed", tip)
    assert shown["phases"][1]["gate"]["sha"] == shown["commit"] == line["commit"]
    assert world.git("rev-parse", "main").strip() == tip and github.pulls == ()
    assert [one["result"] for one in accept(world, "rebase", task)] == ["already rebased"]
    assert len(world.started()) == calls


def test_a_rebase_with_a_conflict_waits_for_a_person(world: WorkflowWorld) -> None:
    """The files are listed with both ways to solve it; cancelled, the work is as it was."""
    task = complete(world)
    before = world.show(task)
    commit_on_main(world, "calc.py", "def add(a, b):\n    return sum((a, b))\n")
    (line,) = accept(world, "rebase", task, code=4)
    shown = world.show(task)
    assert (line["result"], shown["code"]) == ("needs you", "MERGE_CONFLICT")
    world.ostler("cancel", task)
    after = world.show(task)
    assert [after[key] for key in ("status", "commit", "base")] == [
        before[key] for key in ("status", "commit", "base")
    ]


@pytest.mark.smoke
def test_an_approval_can_be_taken_back_until_a_run_acts_on_it(world: WorkflowWorld) -> None:
    """Undone, it waits again; approved with --then merge it is merged; then it is too late, in a sentence."""
    gates = {"OSTLER_GATES__PHASES": json.dumps({"test": "human"})}
    task = world.new()
    world.ostler("run", task, code=4, **gates)
    assert world.show(task)["status"] == "needs_review"
    world.ostler("approve", task)
    assert "is needs_review again" in world.ostler("undo", task).stderr
    assert "no decision" in world.ostler("undo", task, code=2).stderr
    world.ostler("approve", task, "--then", "merge")
    assert "requested merge, by the next run" in world.ostler("show", task).stdout
    head = world.git("rev-parse", "main")
    world.ostler("run", task, **gates)
    shown = world.show(task)
    assert (shown["status"], shown["published_into"]) == ("completed", "main")
    assert world.git("rev-parse", "main") != head
    late = world.ostler("undo", task, code=2).stderr
    assert "too late for undo, because main has the work" in late
    verbs = [one["verb"] for one in world.events(task) if one["type"] == "decision_recorded"]
    assert verbs == ["approve", "undo", "approve"]


def test_a_request_to_publish_can_be_taken_back(world: WorkflowWorld, github: FakeGitHub) -> None:
    """The task is completed as before, and the next run publishes nothing."""
    task = complete(world)
    before = world.show(task)
    for how in ("publish", "merge", "rebase"):
        with Project.open(world.root, {**os.environ, **world.environ}) as project:
            project.act(TaskId(task), how)
            assert project.state(TaskId(task)).status == "pending"
        world.ostler("undo", task)
    world.ostler("run", "--all")
    after = world.show(task)
    assert {**after, "updated_at": ""} == {**before, "updated_at": ""}
    assert github.pulls == () and world.git("rev-parse", "main") == world.git("rev-parse", "origin/main")


def test_a_refused_task_does_not_stop_the_others(world: WorkflowWorld, github: FakeGitHub) -> None:
    """Each has its result; what builds on the refused one is not started."""
    first, pending = complete(world), world.new("Another")
    last = world.new("On top", "--after", pending, "--order-only")
    lines = accept(world, "publish", last, pending, first, code=2)
    assert [(one["id"], one["result"]) for one in lines] == [
        (pending, "refused"),
        (last, "not published"),
        (first, "published"),
    ]
    assert len(github.pulls) == 1
