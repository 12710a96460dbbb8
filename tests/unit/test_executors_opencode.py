"""The broken cache of opencode is repaired once (C47)."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from ostler.config.settings import ExecutorSettings
from ostler.errors import Code
from ostler.executors.opencode import repair_cache
from ostler.executors.registry import ExecutorRegistry
from ostler.model.call import AgentCall, AgentEvent, CallResult, WarningRaised
from ostler.process.runner import DefaultCommandRunner
from ostler.testing.fake_agent import fake_agent

REPORTED = 'ENOENT: no such file or directory, reading "/home/a/.cache/opencode/node_modules/x/index.js"'
BUILD = "BuildMessage: ENOENT while resolving package 'opencode-anthropic-auth' of opencode"


def broken_cache(home: Path) -> Path:
    cache = home / "opencode"
    (cache / "node_modules" / "x").mkdir(parents=True)
    (cache / "node_modules" / "x" / "package.json").write_text("{")
    (cache / "bun.lock").write_text("{}")
    (cache / "models.json").write_text("{}")
    return cache


@pytest.mark.parametrize("printed", [REPORTED, BUILD, f"at start\n{REPORTED}\nmore"])
def test_what_is_broken_is_removed(printed: str, tmp_path: Path) -> None:
    """node_modules and bun.lock are removed, the rest stays, and the message names the directory."""
    cache = broken_cache(tmp_path / ".cache")
    reported = repair_cache({"HOME": str(tmp_path)}, printed)
    assert reported == f"opencode's cache was broken; node_modules and bun.lock removed from {cache}"
    assert [path.name for path in cache.iterdir()] == ["models.json"]
    assert repair_cache({"HOME": str(tmp_path)}, printed) == ""


def test_the_childs_own_cache_is_meant(tmp_path: Path) -> None:
    """XDG_CACHE_HOME overrides HOME; a relative path is ignored."""
    ours, theirs = broken_cache(tmp_path / ".cache"), broken_cache(tmp_path / "xdg")
    env = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "xdg")}
    assert str(theirs) in repair_cache(env, REPORTED)
    assert (ours / "node_modules").exists()
    assert repair_cache({"XDG_CACHE_HOME": "xdg"}, REPORTED) == repair_cache({}, REPORTED) == ""


@pytest.mark.parametrize(
    "printed",
    ["", "ENOENT: no such file, open 'src/a.py'", "ENOENT reading /home/a/.cache/other/x", "rate limit"],
)
def test_other_errors_change_nothing(printed: str, tmp_path: Path) -> None:
    """Only an error about the cache of opencode counts."""
    cache = broken_cache(tmp_path / ".cache")
    assert repair_cache({"HOME": str(tmp_path)}, printed) == ""
    assert (cache / "node_modules" / "x" / "package.json").exists() and (cache / "bun.lock").exists()


def test_no_link_is_followed(tmp_path: Path) -> None:
    """A linked node_modules is removed, its target stays; a linked cache is not changed."""
    treasure = tmp_path / "treasure"
    (treasure / "node_modules").mkdir(parents=True)
    (treasure / "node_modules" / "kept").write_text("")
    inside = tmp_path / "one" / "opencode"
    inside.mkdir(parents=True)
    (inside / "node_modules").symlink_to(treasure / "node_modules")
    assert repair_cache({"XDG_CACHE_HOME": str(inside.parent)}, REPORTED)
    assert not os.path.lexists(inside / "node_modules")
    outside = tmp_path / "two"
    outside.mkdir()
    (outside / "opencode").symlink_to(treasure)
    assert repair_cache({"XDG_CACHE_HOME": str(outside)}, REPORTED) == ""
    assert (treasure / "node_modules" / "kept").exists()


def run(home: Path, condition: str, kind: str = "opencode") -> tuple[CallResult, list[AgentEvent], int]:
    """Run a fake opencode that fails while the condition holds; return the number of starts, too."""
    fake = fake_agent(home / "bin", "opencode" if kind == "opencode" else "acp")
    program, tries = home / "opencode", home / "tries"
    refuse = f"if {condition}; then echo '{REPORTED}' >&2; exit 1; fi"
    program.write_text(f'#!/bin/sh\necho >> {tries}\n{refuse}\nexec {fake} "$@"\n')
    program.chmod(0o755)
    settings = ExecutorSettings(command=str(program))
    executor = ExecutorRegistry().get(kind)(kind, settings, DefaultCommandRunner())
    (home / "work").mkdir()
    env = {"HOME": str(home), "PATH": os.environ["PATH"]}
    call = AgentCall("i", "Do it.", cwd=str(home / "work"), env=env, timeout_seconds=60.0)
    events: list[AgentEvent] = []
    result = asyncio.run(executor.spawn(call, events.append))
    return result, events, len(tries.read_text().splitlines())


@pytest.mark.parametrize("kind", ["opencode", "opencode-acp"])
def test_a_start_on_a_broken_cache_is_repeated_once(kind: str, tmp_path: Path) -> None:
    """The cache is removed, that is reported, and the second start succeeds."""
    cache = broken_cache(tmp_path / ".cache")
    result, events, tries = run(tmp_path, f"[ -e {cache}/node_modules ]", kind)
    assert result.ok, result.message
    reported = [event.message for event in events if isinstance(event, WarningRaised)]
    assert len(reported) == 1 and reported[0].endswith("it is started once more")
    assert tries == 2


def test_one_that_stays_broken_is_not_repeated_for_ever(tmp_path: Path) -> None:
    """The failure of the second start is the result."""
    broken_cache(tmp_path / ".cache")
    result, events, tries = run(tmp_path, "true")
    assert (result.code, tries) == (Code.AGENT_FAILED, 2)
    assert sum(isinstance(event, WarningRaised) for event in events) == 1


def test_without_a_cache_there_is_nothing_to_repeat(tmp_path: Path) -> None:
    """Without a repair there is no second start."""
    result, _, tries = run(tmp_path, "true")
    assert (result.code, tries) == (Code.AGENT_FAILED, 1)
