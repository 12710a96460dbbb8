"""Publishing that needs a second check: a target that moved, a conflict, a secret, another address."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from git_world import git
from ostler.testing.fake_github import FakeGitHub
from workflow_world import ADDRESS, RIGHT, SETTINGS, WorkflowWorld

TOKEN = "ghp_" + "a1B2c3D4" * 5  # assembled here, so that a scanner finds none
THEIRS = "def add(a, b):\n    return sum((a, b))\n"
BOTH = "def add(*numbers):\n    return sum(numbers)\n"
DEMANDS = """\
import unittest

import calc


class SubTest(unittest.TestCase):
    def test_sub(self):
        self.assertEqual(calc.sub(3, 1), 2)
"""
WITH_SUB = f"{RIGHT}\n\ndef sub(a, b):\n    return a - b\n"
ASKS = SETTINGS + '[gates.phases]\nmerge = "human"\n'


def make(tmp_path: Path, github: FakeGitHub, settings: str = SETTINGS, **behaviour: object) -> WorkflowWorld:
    """A project whose agent succeeds at once."""
    usual: dict[str, object] = {"when": [], "files": {"calc.py": RIGHT}}
    world = WorkflowWorld(tmp_path, settings, **(usual | behaviour))
    world.add_remote(github, tmp_path / "remote.git")
    return world


@pytest.fixture
def world(tmp_path: Path, github: FakeGitHub) -> Iterator[WorkflowWorld]:
    made = make(tmp_path, github)
    yield made
    made.close()


def others_push(world: WorkflowWorld, path: str, text: str) -> None:
    """Commit to the remote's main as another person."""
    clone = world.root.parent / "theirs"
    if not clone.exists():
        world.git("clone", "-q", str(world.root.parent / "remote.git"), str(clone))
    (clone / path).write_text(text)
    git(clone, "add", "-A")
    git(clone, "-c", "user.name=t", "-c", "user.email=t@x", "commit", "-q", "-m", "theirs")
    git(clone, "push", "-q", "origin", "main")


def verdicts(world: WorkflowWorld, task: str) -> list[tuple[str, str, str]]:
    reported = (event for event in world.events(task) if event["type"] == "gate_decided")
    return [(one["phase"], one["verdict"], one["sha"]) for one in reported if one["verdict"] != "not_checked"]


def there(world: WorkflowWorld, task: str) -> str:
    return git(world.root.parent / "remote.git", "branch", "--list", f"ostler/{task}")


def ended(world: WorkflowWorld, task: str) -> tuple[Any, Any]:
    shown = world.show(task)
    return shown["status"], shown["code"]


@pytest.mark.full
def test_a_rebased_commit_has_passed_its_gate(world: WorkflowWorld, github: FakeGitHub) -> None:
    """The command ran on the commit of the phase, and again on the published one."""
    others_push(world, "other.txt", "theirs\n")
    task = world.new()
    world.ostler("run", task)
    (pull,) = github.pulls
    first, second = verdicts(world, task)
    assert (first[:2], second) == (("test", "pass"), ("test", "pass", pull.commit))
    assert first[2] != pull.commit
    shown = world.show(task)
    assert (shown["commit"], shown["phases"][1]["gate"]["sha"]) == (pull.commit, pull.commit)
    assert [event["type"] for event in world.events(task)].count("work_rebased") == 1
    assert len(world.started()) == 2, "no agent is asked again"


@pytest.mark.full
def test_work_that_the_target_broke_goes_back(tmp_path: Path, github: FakeGitHub) -> None:
    """Rebased it fails its gate: nothing is published until an agent has repaired it on the new target."""
    mends = [
        {"contains": "This phase: test", "files": {}},
        {"contains": "What went wrong", "files": {"calc.py": WITH_SUB}},
    ]
    world = make(tmp_path, github, when=mends)
    others_push(world, "test_sub.py", DEMANDS)
    task = world.new()
    world.ostler("run", task)
    assert [verdict for _, verdict, _ in verdicts(world, task)] == ["pass", "fail", "pass"]
    (pull,) = github.pulls
    assert verdicts(world, task)[-1][2] == pull.commit
    assert world.read(task) == WITH_SUB and "sub" in world.received_prompts()[2]
    world.close()


def test_without_gates_nothing_is_asked(tmp_path: Path, github: FakeGitHub) -> None:
    """A target that moved causes no further round without gates."""
    world = make(tmp_path, github, SETTINGS.partition("[git]")[1] + SETTINGS.partition("[git]")[2])
    others_push(world, "other.txt", "theirs\n")
    task = world.new()
    world.ostler("run", task)
    assert ended(world, task) == ("completed", None) and len(github.pulls) == 1
    assert "work_rebased" not in [event["type"] for event in world.events(task)]
    world.close()


@pytest.mark.full
@pytest.mark.sampled(1)
@pytest.mark.parametrize("profile", ["auto", "strict"])
def test_a_persons_yes_and_a_rebase(tmp_path: Path, github: FakeGitHub, profile: str) -> None:
    """It holds for the same change on another commit; with the strict setting that commit is reviewed too."""
    world = make(tmp_path, github, f'{ASKS}[phases]\nprofile = "{profile}"\n')
    task = world.new()
    world.ostler("run", task, code=4)
    others_push(world, "other.txt", "theirs\n")
    world.ostler("approve", task)
    world.ostler("run", task, code=4 if profile == "strict" else 0)
    if profile == "strict":
        assert (ended(world, task)[0], github.pulls) == ("needs_review", ())
        world.ostler("approve", task)
        world.ostler("run", task)
    assert ended(world, task) == ("completed", None)
    assert verdicts(world, task)[-1][2] == github.pulls[0].commit
    world.close()


@pytest.mark.full
def test_what_a_person_changed_by_hand_is_looked_at(tmp_path: Path, github: FakeGitHub) -> None:
    """A commit on the branch that is not the task's is checked by the gates, and shown to the person."""
    world = make(tmp_path, github, ASKS)
    task = world.new()
    world.ostler("run", task, code=4)
    worktree = Path(world.show(task)["worktree"])
    (worktree / "notes.txt").write_text("mine\n")
    git(worktree, "add", "-A")
    git(worktree, "-c", "user.name=t", "-c", "user.email=t@x", "commit", "-q", "-m", "by hand")
    world.ostler("approve", task)
    world.ostler("run", task, code=4)
    assert (ended(world, task)[0], github.pulls) == ("needs_review", ())
    assert verdicts(world, task)[-1] == ("test", "pass", git(worktree, "rev-parse", "HEAD"))
    world.ostler("approve", task)
    world.ostler("run", task)
    assert world.read(task, "notes.txt") == "mine\n" and len(github.pulls) == 1
    world.close()


@pytest.mark.full
def test_feedback_lets_an_agent_solve_a_conflict(tmp_path: Path, github: FakeGitHub) -> None:
    """It gets both sides in the file and the instruction, and its commit is published as a merge."""
    solves = [
        {"contains": "This phase: test", "files": {}},
        {"contains": "any number", "files": {"calc.py": BOTH}},
    ]
    world = make(tmp_path, github, when=solves)
    others_push(world, "calc.py", THEIRS)
    others_push(world, "other.txt", "theirs\n")
    task = world.new()
    world.ostler("run", task, code=4)
    assert ended(world, task) == ("blocked", "MERGE_CONFLICT")
    world.ostler("resume", task, "-m", "let add take any number of arguments")
    world.ostler("run", task)
    (pull,) = github.pulls
    assert ended(world, task) == ("completed", None)
    assert world.read(task) == BOTH and world.read(task, "other.txt") == "theirs\n"
    reported = world.received_prompts()[2]
    assert "let add take any number of arguments" in reported and "both changed the files below" in reported
    assert "calc.py" in reported and "main" in reported
    onto = git(tmp_path / "remote.git", "rev-parse", "main")
    assert git(tmp_path / "remote.git", "merge-base", onto, pull.commit) == onto
    assert verdicts(world, task)[-1] == ("test", "pass", pull.commit)
    world.close()


@pytest.mark.full
def test_marks_that_an_agent_left_are_not_published(tmp_path: Path, github: FakeGitHub) -> None:
    """Blocked again, with the file's name; further feedback gives it another try."""
    settings = SETTINGS.partition("[git]")[1] + SETTINGS.partition("[git]")[2]
    careless = {"contains": "do it", "files": {"notes.txt": "done\n"}}
    careful = {"contains": "properly", "files": {"calc.py": BOTH}}
    world = make(tmp_path, github, settings, when=[careful, careless])
    others_push(world, "calc.py", THEIRS)
    task = world.new()
    world.ostler("run", task, code=4)
    world.ostler("resume", task, "-m", "do it")
    world.ostler("run", task, code=4)
    shown = world.show(task)
    assert (
        shown["code"] == "MERGE_CONFLICT"
        and "calc.py" in shown["message"]
        and "conflict markers" in shown["message"]
    )
    assert "<<<<<<<" in world.read(task) and github.pulls == ()
    world.ostler("resume", task, "-m", "properly")
    world.ostler("run", task)
    assert ended(world, task) == ("completed", None) and world.read(task) == BOTH
    world.close()


@pytest.mark.full
def test_a_secret_stays_here(tmp_path: Path, github: FakeGitHub) -> None:
    """It is not pushed, its place is named without its text; after a correction the work is published."""
    world = make(tmp_path, github, files={"calc.py": RIGHT, "deploy.sh": f"#!/bin/sh\nlogin {TOKEN}\n"})
    task = world.new()
    done = world.ostler("run", task, code=1)
    shown = world.show(task)
    assert (shown["status"], shown["code"]) == ("failed", "PUBLISH_FAILED")
    assert "deploy.sh:2 (github-token" in shown["message"]
    assert TOKEN not in done.stdout + done.stderr + shown["message"]
    assert (there(world, task), github.pulls) == ("", ())
    world.behave(when=[], files={"calc.py": RIGHT, "deploy.sh": "login\n"}, edits={})
    world.ostler("rewind", task, "--to", "implement", "-m", "leave the token out")
    world.ostler("run", task)
    assert ended(world, task) == ("completed", None)
    history = git(tmp_path / "remote.git", "log", "-p", f"ostler/{task}")
    assert "login" in history and TOKEN not in history
    world.close()


@pytest.mark.full
@pytest.mark.sampled(1)
@pytest.mark.parametrize("how", ["setting", "line"])
def test_a_secret_that_is_none_may_pass(tmp_path: Path, github: FakeGitHub, how: str) -> None:
    """By the settings, or by a mark in the line itself."""
    settings = SETTINGS + "allow_secrets = true\n" if how == "setting" else SETTINGS
    comment = "" if how == "setting" else "  # ostler:allow-secret"
    world = make(tmp_path, github, settings, files={"calc.py": RIGHT, "a.py": f"T = '{TOKEN}'{comment}\n"})
    task = world.new()
    world.ostler("run", task)
    assert ended(world, task) == ("completed", None) and len(github.pulls) == 1
    world.close()


def test_a_secret_in_the_agents_summary_is_not_published(tmp_path: Path, github: FakeGitHub) -> None:
    """The agent's summary is the text of the pull request; the token is not in it."""
    world = make(tmp_path, github, text=f"I took {TOKEN}.\n<phase_complete>true</phase_complete>")
    world.ostler("run", world.new())
    (pull,) = github.pulls
    assert TOKEN not in pull.body and "I took [redacted:github-token]." in pull.body
    world.close()


def test_a_pull_request_shows_which_commit_was_checked(tmp_path: Path, github: FakeGitHub) -> None:
    """A phase after the test that changes nothing keeps the verdict, which is of an earlier commit."""
    world = make(tmp_path, github)
    task = world.new("Add", "--phases", "implement,test,docs")
    world.ostler("run", task)
    (pull,) = github.pulls
    ((_, _, seen),) = verdicts(world, task)
    assert seen != pull.commit and f": pass on {seen[:10]}, isolated (bind-over)" in pull.body
    world.close()


@pytest.mark.full
def test_what_is_published_was_judged_after_the_last_change(tmp_path: Path, github: FakeGitHub) -> None:
    """A phase after the test changed more: the test runs again, on the published commit."""
    world = make(tmp_path, github, when=[{"contains": "This phase: docs", "files": {"notes.md": "more\n"}}])
    task = world.new("Add", "--phases", "implement,test,docs")
    world.ostler("run", task)
    (pull,) = github.pulls
    first, last = verdicts(world, task)
    assert (first[:2], last) == (("test", "pass"), ("test", "pass", pull.commit)) and "(on " not in pull.body
    world.close()


@pytest.mark.full
def test_an_address_that_changed_since_does_not_count(tmp_path: Path, github: FakeGitHub) -> None:
    """S7: if an agent changes the remote's address nothing is pushed there, and it is reported."""
    elsewhere = tmp_path / "elsewhere.git"
    script = f"git config remote.origin.url {elsewhere} && git config remote.origin.pushurl {elsewhere}"
    world = make(tmp_path, github, script=script)
    world.git("init", "-q", "--bare", "-b", "main", str(elsewhere))
    world.git("push", "-q", str(elsewhere), "main")
    task = world.new()
    world.ostler("run", task)
    shown = world.show(task)
    assert (shown["status"], len(github.pulls)) == ("completed", 1)
    assert there(world, task) and git(elsewhere, "branch", "--list", "ostler/*") == ""
    (reported,) = [one for one in shown["warnings"] if "when the task started" in one]
    assert ADDRESS in reported and str(elsewhere) in reported
    world.close()


def test_no_login_is_written_down(tmp_path: Path, github: FakeGitHub) -> None:
    """A token in the remote's address is used, and is in no record."""
    world = make(tmp_path, github)
    secret = ADDRESS.replace("http://", "http://una:s3cr3t@")
    leads = f'[url "{tmp_path / "remote.git"}"]\n\tinsteadOf = {secret}\n'
    Path(world.environ["HOME"], ".gitconfig").write_text(leads)
    world.git("remote", "set-url", "origin", secret)
    task = world.new()
    world.ostler("run", task)
    assert ended(world, task) == ("completed", None) and len(github.pulls) == 1
    (started,) = [event for event in world.events(task) if event["type"] == "task_started"]
    assert started["remotes"] == [{"name": "origin", "url": ADDRESS}]
    assert b"s3cr3t" not in world.read_store()
    world.close()


def test_a_failed_step_reports_the_next_step(tmp_path: Path, github: FakeGitHub) -> None:
    """Also for a worktree that cannot be created."""
    world = make(tmp_path, github)
    task = world.new()
    world.git("branch", f"ostler/{task}", "main")
    world.git("checkout", "-q", f"ostler/{task}")
    (world.root / "mine.txt").write_text("mine\n")
    world.git("add", "-A")
    world.git("commit", "-q", "-m", "mine")
    world.git("checkout", "-q", "main")
    world.ostler("run", task, code=1)
    shown = world.show(task)
    assert shown["code"] == "BRANCH_EXISTS" and "; next: rename it with git branch -m" in shown["message"]
    world.close()
