"""ostler init on the machines of new users."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ostler.testing.fake_agent import fake_agent
from world import World


@pytest.fixture
def bare(tmp_path: Path, world: World) -> World:
    """A machine without any agent."""
    world.environ |= {"OSTLER_CLAUDE_PATH": "", "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    return world


def put(world: World, tmp_path: Path, name: str, **behaviour: object) -> None:
    """Install one more agent on the machine."""
    fake_agent(tmp_path / "bin", name, **behaviour)
    world.environ["PATH"] = f"{tmp_path / 'bin'}{os.pathsep}/usr/bin:/bin"


def test_without_an_agent_it_shows_how_to_get_one(bare: World) -> None:
    """The commands that install and log in are before those that use it."""
    printed = bare.ostler("init").stdout
    assert "No agent is installed" in printed
    lines = [line.strip() for line in printed.partition("\nNext:\n")[2].splitlines()]
    assert lines[0].startswith("npm install -g ") and lines[1] == "claude auth login"
    assert lines[2:] == ['ostler new "Describe the task"', "ostler run --all"]


def test_a_logged_out_agent_is_named_with_its_login(bare: World, tmp_path: Path) -> None:
    """It is found and selected, and the first command to type is the login."""
    put(bare, tmp_path, "claude", logged_in=False)
    printed = bare.ostler("init").stdout
    assert "not logged in" in printed
    assert printed.partition("\nNext:\n")[2].splitlines()[0].strip() == "claude auth login"
    assert "not logged in" in bare.ostler("doctor", code=None).stdout


def test_of_two_agents_the_one_that_works_is_taken(bare: World, tmp_path: Path) -> None:
    """Claude would be first, but has no login; the other one is reported as well."""
    put(bare, tmp_path, "claude", logged_in=False)
    put(bare, tmp_path, "codex")
    made = bare.json("init")
    assert made["executor"] == "codex" and made["created"]
    assert [(one["name"], one["works"]) for one in made["agents"]] == [("codex", True), ("claude", False)]
    again = bare.ostler("init").stdout
    assert "Kept ostler.toml" in again and "--executor claude" in again


def test_an_agent_that_the_environment_names_goes_first(bare: World, tmp_path: Path) -> None:
    """OSTLER_<NAME>_PATH is an explicit selection."""
    put(bare, tmp_path, "claude")
    gemini = fake_agent(tmp_path / "elsewhere", "gemini")
    assert bare.json("init", OSTLER_GEMINI_PATH=str(gemini))["executor"] == "gemini"


def test_what_git_lacks_is_reported(bare: World, tmp_path: Path) -> None:
    """A directory without git, and a repository without a commit, each have their command."""
    put(bare, tmp_path, "claude")
    bare.git("update-ref", "-d", "HEAD")
    assert 'git commit --allow-empty -m "first commit"' in bare.ostler("init").stdout
    plain = World(tmp_path / "plain", git=False)
    plain.environ |= {"PATH": bare.environ["PATH"], "OSTLER_CLAUDE_PATH": ""}
    assert "git init   and make a commit" in plain.ostler("init").stdout
