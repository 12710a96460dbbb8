"""The pull request of a task, with its checks, in the API of the dashboard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ostler.testing.fake_github import FakeGitHub
from web_world import serve
from workflow_world import RIGHT, WorkflowWorld


@pytest.fixture
def world(tmp_path: Path, github: FakeGitHub) -> Iterator[WorkflowWorld]:
    """A project that publishes pull requests, and whose agent succeeds at once."""
    made = WorkflowWorld(tmp_path, when=[], files={"calc.py": RIGHT})
    made.add_remote(github, tmp_path / "remote.git")
    yield made
    made.close()


def test_the_checks_of_a_pull_request_are_shown(world: WorkflowWorld, github: FakeGitHub) -> None:
    """Each check with its state; the answer is kept for a minute, and a task without one is refused."""
    github.hub.check_runs.update({"lint": "SUCCESS", "unit": "FAILURE", "deploy": "", "docs": "SKIPPED"})
    task = world.new()
    world.ostler("run", task)
    other = world.new()
    server = serve(world, "--view-only")
    shown = server.get(f"/tasks/{task}/pull-request")
    assert (shown["url"], shown["state"]) == (github.pulls[0].url, "open")
    states = {one["name"]: one["state"] for one in shown["checks"]}
    assert states == {"lint": "passed", "unit": "failed", "deploy": "running", "docs": "skipped"}
    github.hub.merge(github.pulls[0].number)
    assert server.get(f"/tasks/{task}/pull-request") == shown
    assert "has no pull request" in server.get(f"/tasks/{other}/pull-request", 409)["message"]
    server.stop()
    again = serve(world, "--view-only")
    assert again.get(f"/tasks/{task}/pull-request")["state"] == "merged"
    again.stop()


@pytest.mark.full
def test_a_github_that_cannot_be_asked_is_no_error(world: WorkflowWorld, github: FakeGitHub) -> None:
    """The state is null, with the reason; the card shows the link alone."""
    task = world.new()
    world.ostler("run", task)
    github.fail("PullRequestByNumber", "forbidden", 9)
    server = serve(world, "--view-only")
    shown = server.get(f"/tasks/{task}/pull-request")
    assert shown["state"] is None and "permission" in shown["reason"]
    server.stop()
