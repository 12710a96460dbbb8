from __future__ import annotations

from pathlib import Path

import pytest

from git_world import World, git, make_world
from ostler.git.run import safe_config as module
from ostler.git.run.command import run_git
from ostler.git.run.program import clean_environment, user_environment
from ostler.git.run.safe_config import FIXED_SETTINGS, read_safe_config


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path)


def seen_by_git(world: World, key: str) -> str:
    return run_git(world.repository, "config", "--get", key, accept=(0, 1)).stdout.decode().strip()


@pytest.mark.parametrize("key", sorted(FIXED_SETTINGS))
def test_every_fixed_setting_wins(world: World, key: str):
    """The repository's value of the setting is ignored."""
    git(world.project, "config", key, "yes")
    assert seen_by_git(world, key) == FIXED_SETTINGS[key]


@pytest.mark.parametrize(
    ("key", "instead"),
    [
        ("filter.x.clean", ""),
        ("filter.x.required", "false"),
        ("filter.with=equals.and.dots.smudge", ""),
        ("filter.UPPER.process", ""),
        ("diff.x.textconv", "cat"),
        ("diff.x.command", "false"),
        ("merge.x.driver", "false"),
        ("credential.https://example.org.helper", ""),
        ("gpg.x509.program", "false"),
        ("alias.st", "version"),
        ("pager.log", "false"),
        ("remote.origin.uploadpack", "false"),
        ("submodule.x.update", "none"),
        ("trailer.x.command", "false"),
        ("hook.x.command", "false"),
    ],
)
def test_programs_named_by_the_repository_are_replaced(world: World, key: str, instead: str):
    """The program of a driver with any name is not run."""
    git(world.project, "config", key, "touch /canary")
    assert seen_by_git(world, key) == instead


def test_harmless_settings_stay(world: World):
    """The repository's line ends and modes are still used."""
    git(world.project, "config", "core.autocrlf", "input")
    assert seen_by_git(world, "core.autocrlf") == "input"


def test_the_users_configuration_takes_no_part(world: World):
    """Neither the global file nor the environment is passed to git."""
    git(world.root, "config", "--global", "core.autocrlf", "input")
    assert seen_by_git(world, "core.autocrlf") == ""


def test_a_change_of_the_configuration_is_seen_at_once(world: World):
    """The cache key is the text, so a changed text is read again."""
    assert "filter.new.clean" not in read_safe_config(world.repository).settings
    git(world.project, "config", "filter.new.clean", "x")
    assert "filter.new.clean" in read_safe_config(world.repository).settings


def test_an_included_file_is_read_each_time(world: World, tmp_path: Path):
    """An included file can change without a change of the repository's file."""
    git(world.project, "config", "include.path", str(tmp_path / "more"))
    assert "filter.new.clean" not in read_safe_config(world.repository).settings
    (tmp_path / "more").write_text('[filter "new"]\n\tclean = x\n')
    assert "filter.new.clean" in read_safe_config(world.repository).settings


def test_the_same_text_is_parsed_once(world: World, monkeypatch: pytest.MonkeyPatch):
    """Later calls start no process for the configuration."""
    read_safe_config(world.repository)
    monkeypatch.setattr(module, "execute_git", None)
    read_safe_config(world.repository)


def test_required_filters_are_known(world: World):
    """Only the values that git itself reads as required count."""
    for name, value in {"yes": "true", "also": "1", "no": "false", "off": "off"}.items():
        git(world.project, "config", f"filter.{name}.required", value)
    assert read_safe_config(world.repository).required_filters == {"yes", "also"}


def test_environments(monkeypatch: pytest.MonkeyPatch):
    """Only the listed variables of the caller's environment are passed."""
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_EXTERNAL_DIFF", "GIT_SSH_COMMAND", "LD_PRELOAD", "SECRET"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("PATH", "relative:/usr/bin::/bin:.")
    monkeypatch.setenv("HOME", "/home/una")
    assert clean_environment()["PATH"] == "/usr/bin:/bin"
    assert "x" not in clean_environment().values()
    assert clean_environment()["HOME"] != "/home/una" == user_environment()["HOME"]
    assert "x" not in user_environment().values()
