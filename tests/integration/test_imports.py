"""The modules that a command loads at its start: the start of the program stays fast."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from ostler.cli.app import COMMANDS
from ostler.config.settings import Settings
from ostler.model.event import TaskCreated
from ostler.model.plan import Plan
from ostler.model.policy.protection import Protection
from ostler.model.state import State
from ostler.model.task import Task
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
    "obstore",
    "psutil",
    "psycopg",
    "rich",
    "secrets",
    "socket",
    "ssl",
    "subprocess",
    "tempfile",
    "temporalio",
    "yaml",
}
OURS = {
    "ostler.engine.driver",
    "ostler.executors",
    "ostler.engine.core",
    "ostler.git",
    "ostler.prompt",
    "ostler.process",
    "ostler.calls",
}
# Of those of a status, 12 are the limits of accounts and 14 the forecast.
MOST = {"import": 34, "--help": 88, "status": 239, "run": 775, "whole run": 775}
LIST_MODULES = """
import sys
before = set(sys.modules)
{statement}
print(*sorted(set(sys.modules) - before), file=sys.stderr)
"""
RUN = "from ostler.__main__ import run; assert run({arguments!r}) == 0"


# Only a later step, a sandbox, a publication or a source of tasks needs these.
LATER = {
    "html",
    "ostler.engine.steps.checkpoint",
    "ostler.engine.steps.final_check",
    "ostler.engine.steps.gate",
    "ostler.engine.steps.gates.isolated",
    "ostler.engine.steps.publish",
    "ostler.engine.steps.workspaces.checkout",
    "ostler.git.private.importing",
    "ostler.git.publish.github",
    "ostler.git.publish.publish",
    "ostler.project.accepting",
    "ostler.project.tasks.files.write_back",
    "ostler.sandbox.bubblewrap",
    "ostler.sandbox.containers",
    "ostler.sandbox.environments",
    "ostler.sources",
    "psutil",
    "xml",
}
# A task without a gate and without a sandbox needs none of these, up to its end.
NEVER = {
    "ostler.calls.sandbox.launchers",
    "ostler.engine.steps.agent_call.document",
    "ostler.engine.steps.gates.command",
    "ostler.engine.steps.gates.isolated",
    "ostler.engine.steps.gates.review",
    "ostler.engine.steps.publish",
    "ostler.engine.steps.workspaces.setup",
    "ostler.executors.sandboxed.prepare",
    "ostler.sandbox.box.landlock",
    "ostler.sandbox.containers",
    "ostler.sandbox.environments",
    "xml",
}
TO_FIRST_SPAWN = """
import os, sys

def end(code):
    print(*sys.modules, file=sys.stderr, flush=True)
    real_exit(code)

real_exit, os._exit = os._exit, end
from ostler.__main__ import run
run(["run", "-p", "Say hello"])
"""


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
    assert {"ostler.store.sqlite.journal", "apsw"} <= loaded
    assert len(loaded) <= MOST["status"], sorted(loaded)


def test_the_types_of_large_values_are_no_texts() -> None:
    """Msgspec compiles such a text when it builds a decoder, which took a tenth of the start of a run."""
    for kind in (Settings, State, Task, Plan, Protection, TaskCreated):
        texts = [name for name, one in kind.__annotations__.items() if isinstance(one, str)]
        assert texts in ([], ["undoable"]), kind  # a value that contains one of its own kind


def test_a_program_ends_without_taking_its_modules_apart(tmp_path: Path) -> None:
    """Exit functions and threads end first, output is written, and the exit code is that of the command."""
    code = """
import atexit, threading, sys
import ostler.__main__ as program

class Module:
    def __del__(self):
        print("taken apart")

def run(argv):
    program.kept = Module()
    atexit.register(print, "exit function")
    threading.Thread(target=lambda: (time.sleep(0.05), print("thread"))).start()
    sys.stderr.write("error output")
    return 7

import time
program.run = run
program.main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (7, "thread\nexit function\n"), done.stderr
    assert done.stderr == "error output"


def test_a_run_loads_only_the_agent_that_it_uses(world: World) -> None:
    """No other agents, no modules for a terminal or for errors, and no TLS except that of asyncio."""
    loaded = modules_after(RUN.format(arguments=["run", "-p", "Say hello"]), world.root, world.environ)
    assert "ostler.executors.claude.executor" in loaded
    others = {"ostler.executors.command", "ostler.executors.scripted.executor", "ostler.process.terminal"}
    assert loaded & (others | {"importlib.metadata", "rich", "yaml", "secrets"}) == set()
    assert loaded & {"anthropic", "httpx2", "pydantic", "ostler.llm"} == set()


def test_a_run_loads_up_to_the_first_agent_what_that_needs(world: World) -> None:
    """No later step, no sandbox that is not used, no publication; a run to its end loads the later steps."""
    environ = world.environ | {"OSTLER_SANDBOX__TIER": "supervised"}
    argv = [sys.executable, "-c", TO_FIRST_SPAWN]
    stop = {"OSTLER_FAILPOINT": "attempt.begun:exit"}
    done = subprocess.run(
        argv, cwd=world.root, env=environ | stop, capture_output=True, text=True, check=False
    )
    loaded = set(done.stderr.splitlines()[-1].split())
    assert "ostler.calls.attempts.attempt" in loaded, done.stderr
    assert loaded & LATER == set()
    assert len(loaded) <= MOST["run"], sorted(loaded)
    whole = modules_after(RUN.format(arguments=["run", "-p", "Say hello"]), world.root, environ)
    assert {"ostler.engine.steps.checkpoint", "ostler.engine.steps.workspaces.checkout"} <= whole & LATER
    assert whole & NEVER == set()
    assert len(whole) <= MOST["whole run"], sorted(whole)


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


def test_a_local_run_loads_nothing_of_a_cluster(world: World) -> None:
    """The clients of a cluster are large, and most projects have none."""
    task = world.new()
    loaded = modules_after(RUN.format(arguments=["run", task]), world.root, world.environ)
    assert "ostler.engine.driver" in loaded
    assert loaded & {"temporalio", "psycopg", "obstore", "ostler.engine.temporal"} == set()
