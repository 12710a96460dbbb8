"""The workflow of docs/recipes/ci.md: the commands of its job, with a local fake GitHub."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from ostler.testing.fake_github import FakeGitHub
from reader import Reader, blocks
from workflow_world import ADDRESS, WorkflowWorld

PAGE = "docs/recipes/ci.md"
INSTALLS = "pip install "
(WORKFLOW,) = blocks(PAGE, "yaml")


@pytest.fixture
def home(tmp_path: Path, github: FakeGitHub) -> WorkflowWorld:
    """The repository with the issues; its jobs check it out."""
    world = WorkflowWorld(tmp_path, settings="", files={"calc.py": "fixed\n"}, edits={}, when=[])
    world.add_remote(github, tmp_path / "remote.git")
    Reader(world)
    return world


class Job:
    """One run of the workflow, for one issue, on a machine without state of the others."""

    def __init__(self, world: WorkflowWorld, issue: int) -> None:
        self.directory = world.root.parent / f"job-{issue}"
        self.directory.mkdir()
        self._values = {
            "github.token": world.environ["GH_TOKEN"],
            "github.event.issue.number": str(issue),
            "secrets.ANTHROPIC_API_KEY": "key",
        }
        self._environ = {**world.environ, "RUNNER_TEMP": str(world.root.parent)}
        self._check_out()

    def run(self) -> None:
        """Run every command of the job, except those that install from the network."""
        (job,) = yaml.safe_load(WORKFLOW["body"])["jobs"].values()
        for step in job["steps"]:
            if not step.get("run", INSTALLS).startswith(INSTALLS):
                self.type(self._filled(step["run"]), **self._variables(job), **self._variables(step))

    def type(self, script: str, **variables: str) -> str:
        """Run a command of a step as the runner starts it."""
        done = subprocess.run(
            ["bash", "-e", "-c", script],
            cwd=self.directory,
            env=self._environ | variables,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def _check_out(self) -> None:
        """Check out as actions/checkout does with these settings: all of the default branch, and no token."""
        self.type(f"git init -q . && git remote add origin {ADDRESS} && git fetch -q origin")
        self.type("git checkout -q --force -B main refs/remotes/origin/main")

    def _variables(self, part: dict[str, Any]) -> dict[str, str]:
        return {name: self._filled(value) for name, value in part.get("env", {}).items()}

    def _filled(self, text: str) -> str:
        for name, value in self._values.items():
            text = text.replace(f"${{{{ {name} }}}}", value)
        assert "${{" not in text, text
        return text


@pytest.mark.full
@pytest.mark.one_machine("the job of the recipe runs the tasks itself")
def test_an_issue_becomes_a_pull_request_and_gets_one_comment(
    home: WorkflowWorld, github: FakeGitHub
) -> None:
    """The job runs the issue that it was started for, and no other one with the label."""
    first = github.hub.report("Mend the sum", "It is off.", "ready")
    Job(home, first.number).run()
    second = github.hub.report("Mend it again", "", "ready")
    Job(home, second.number).run()
    assert [len(issue.comments) for issue in github.issues] == [1, 1]
    assert [pull.title for pull in github.pulls] == ["[ostler] Mend the sum", "[ostler] Mend it again"]
    assert all(
        pull.head in issue.comments[0] for pull, issue in zip(github.pulls, github.issues, strict=True)
    )
    assert home.git("ls-remote", "origin", f"refs/heads/{github.pulls[0].head}")


@pytest.mark.full
def test_git_gets_the_token_from_the_users_settings(home: WorkflowWorld, github: FakeGitHub) -> None:
    """A push ignores those of the checkout, so the step before must have written these."""
    job = Job(home, github.hub.report("Mend the sum", "", "ready").number)
    job.run()
    ask = "printf 'protocol=https\\nhost=github.com\\n' | git -C / credential fill"
    assert f"password={github.token}" in job.type(ask).splitlines()
