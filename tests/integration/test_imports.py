"""The modules that a command loads at its start: the start of the program stays fast."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from ostler.cli.app import COMMANDS
from world import World

# Each of these takes milliseconds; a list of tasks needs none of them.
HEAVY = {
    "anthropic",
    "asyncio",
    "difflib",
    "hashlib",
    "httpx2",
    "importlib.metadata",
    "json",
    "logging",
    "psutil",
    "rich",
    "secrets",
    "socket",
    "ssl",
    "subprocess",
    "tempfile",
    "yaml",
}
OURS = {
    "ostler.engine.driver",
    "ostler.executors",
    "ostler.git.run.command",
    "ostler.process",
    "ostler.calls",
}
# Of those of a status, 12 are the limits of accounts and 14 the forecast.
MOST = {"import": 45, "--help": 115, "status": 245}
LIST_MODULES = """
import sys
before = set(sys.modules)
{statement}
print(*sorted(set(sys.modules) - before), file=sys.stderr)
"""
RUN = "from ostler.__main__ import run; assert run({arguments!r}) == 0"


def modules_after(statement: str, cwd: Path, environ: Mapping[str, str] = os.environ) -> set[str]:
    """Return all modules that a new interpreter has loaded after the statement."""
    code = LIST_MODULES.format(statement=statement)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.splitlines()[-1].split())


def test_importing_the_package_loads_none_of_its_parts(tmp_path: Path) -> None:
    """The public names are loaded on first use: not even msgspec is loaded before."""
    loaded = modules_after("import ostler", tmp_path)
    assert {name for name in loaded if name.startswith("ostler")} == {"ostler", "ostler.lazy"}
    assert loaded & (HEAVY | {"click", "msgspec", "apsw"}) == set()
    assert len(loaded) <= MOST["import"], sorted(loaded)


def test_help_loads_click_and_the_list_of_commands(tmp_path: Path) -> None:
    """The help needs no module of a command, no journal and no settings."""
    loaded = modules_after(RUN.format(arguments=["--help"]), tmp_path)
    assert loaded & (HEAVY | OURS | {"msgspec", "apsw", "ostler.errors", "ostler.project"}) == set()
    commands = {f"ostler.cli.commands.{module}" for module, _ in COMMANDS.values()}
    assert loaded & commands == set()
    assert len(loaded) <= MOST["--help"], sorted(loaded)


@pytest.mark.parametrize("arguments", [["status"], ["status", "--json"]])
def test_a_status_loads_the_journal_and_nothing_that_runs(world: World, arguments: list[str]) -> None:
    """No event loop, no process, no git, no agent, no settings."""
    world.new()
    loaded = modules_after(RUN.format(arguments=arguments), world.root)
    assert loaded & (HEAVY | OURS | {"tomllib", "ostler.config.load"}) == set()
    assert {"ostler.store.sqlite", "apsw"} <= loaded
    assert len(loaded) <= MOST["status"], sorted(loaded)


def test_a_run_loads_only_the_agent_that_it_uses(world: World) -> None:
    """No other agents, no modules for a terminal or for errors, and no TLS except that of asyncio."""
    loaded = modules_after(RUN.format(arguments=["run", "-p", "Say hello"]), world.root, world.environ)
    assert "ostler.executors.claude.executor" in loaded
    others = {"ostler.executors.command", "ostler.executors.scripted.executor", "ostler.process.terminal"}
    assert loaded & (others | {"importlib.metadata", "rich", "yaml", "secrets"}) == set()
    assert loaded & {"anthropic", "httpx2", "pydantic", "ostler.llm"} == set()


@pytest.mark.full
def test_the_model_api_is_loaded_when_it_is_called(tmp_path: Path) -> None:
    """The executor loads nothing before its first call, and another provider never needs the SDK."""
    make = "from ostler.executors.model_api.executor import connect; connect({provider!r}, {env!r}, 1)"
    executor = modules_after("import ostler.executors.model_api.executor", tmp_path)
    assert executor & {"anthropic", "httpx2"} == set()
    openai = modules_after(make.format(provider="openai", env={"OPENAI_API_KEY": "k"}), tmp_path)
    assert openai & {"anthropic", "httpx2"} == {"httpx2"}
    claude = modules_after(make.format(provider="anthropic", env={"ANTHROPIC_API_KEY": "k"}), tmp_path)
    assert claude & {"anthropic", "httpx2"} == {"anthropic", "httpx2"}
