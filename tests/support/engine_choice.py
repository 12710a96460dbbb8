"""Runs the worlds of tests on a cluster: OSTLER_TEST_ENGINE=temporal pytest tests/acceptance.

Each command of a test that runs tasks has a worker of its own, with the environment of that command. A test
of what a cluster refuses, or of a process that runs tasks itself, is skipped; so is one with the mark
`one_machine`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import IO, Any

import pytest
from servers.postgres import PostgresServer
from servers.temporal import TemporalServer

import run_with_worker
from forked import ForkedProcess, run_forked, start_forked
from postgres_world import create_tables
from world import RUNS, World, checked, end, must_be_new

ENGINE = os.environ.get("OSTLER_TEST_ENGINE", "local")  # read before a test's own environment is made
HEARTBEAT_SECONDS = 3
LOCAL_OPTIONS = ("--fail-fast", "--step", "--break")  # of `ostler run`, refused in a cluster
_AGENTS = ("--executor", "--model")  # refused for a task that exists
_NEW = ("-p", "--prompt", "-f", "--file")
_JOBS = ("-j", "--jobs")  # of a worker in a cluster
# What each run and each worker would import for two seconds.
_LOADED = ("cli.commands.work.run_in_cluster", "engine.temporal.board_start", "engine.steps.perform")
_numbers = count(1)


def use_cluster(patch: pytest.MonkeyPatch, temporal: TemporalServer, postgres: PostgresServer) -> None:
    """Make every world a project of a cluster, with its own schema and queue."""
    start, program, spawn = World.__init__, World.program, World.start
    for name in _LOADED:
        import_module(f"ostler.{name}")

    def start_in_cluster(self: World, *args: Any, **more: Any) -> None:
        start(self, *args, **more)
        name = f"w{os.getpid()}_{next(_numbers)}"
        self.environ |= {
            "OSTLER_ENGINE__KIND": "temporal",
            "OSTLER_ENGINE__ADDRESS": temporal.address,
            "OSTLER_ENGINE__QUEUE": name,
            "OSTLER_ENGINE__HEARTBEAT_SECONDS": str(HEARTBEAT_SECONDS),
            "OSTLER_ENGINE__SHARED_ROOT": "true",
            "OSTLER_STORE__URL": postgres.url(),
            "OSTLER_STORE__SCHEMA": name,
        }
        _write_user_settings(self)

    def run_in_cluster(self: World, *args: str, **more: Any) -> subprocess.CompletedProcess[str]:
        _skip_if_once(args)
        if not args or args[0] not in RUNS:
            return program(self, *args, **more)
        environ = {key: value for key, value in more.items() if key not in ("code", "stdin")}
        rest, jobs = _split_jobs(args)
        if args[0] == "run":
            _skip_if_local(rest, environ)
        if "--dry-run" in args:
            return program(self, *rest, **more)
        _create_tables(self)
        if must_be_new(self.environ | environ):
            with worker(self, environ, *jobs):
                return program(self, *rest, **more)
        beside = worker(self, environ, *jobs)
        done = run_forked([*rest], self.root, self.environ | environ, more.get("stdin", ""), beside)
        return checked(done, more.get("code", 0))

    def start_in_the_background(self: World, *args: str, **environ: str) -> subprocess.Popen[bytes]:
        if args[:1] == ("serve",):
            pytest.skip("ostler serve runs no task in a cluster")
        _skip_if_once(args)
        if args[:1] == ("worker",):
            _create_tables(self)
        if args[:1] != ("run",):
            return spawn(self, *args, **environ)
        rest, jobs = _split_jobs(args[1:])
        _skip_if_local(rest, environ)
        _create_tables(self)
        output = str(self.root.parent / "worker.txt")
        return self.start_program(
            [sys.executable, "-IS", run_with_worker.__file__, output, "".join(jobs[1:]), *rest], **environ
        )

    patch.setattr(World, "__init__", start_in_cluster)
    patch.setattr(World, "program", run_in_cluster)
    patch.setattr(World, "start", start_in_the_background)


def _write_user_settings(world: World) -> None:
    """Let the agents of the world find its servers: they get no variable that can contain a password."""
    place = Path(world.environ["HOME"]) / ".config" / "ostler" / "config.toml"
    place.parent.mkdir(parents=True, exist_ok=True)
    tables: dict[str, list[str]] = {}
    for name, value in world.environ.items():
        section, found, key = name.removeprefix("OSTLER_").lower().partition("__")
        if found and section in ("engine", "store"):
            text = value if key in ("heartbeat_seconds", "shared_root") else json.dumps(value)
            tables.setdefault(section, []).append(f"{key} = {text}\n")
    place.write_text("".join(f"[{name}]\n{''.join(lines)}" for name, lines in tables.items()))


def _split_jobs(args: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the arguments of a run, and those of its worker."""
    at = next((number for number, arg in enumerate(args) if arg in _JOBS), None)
    return (args, ()) if at is None else (args[:at] + args[at + 2 :], args[at : at + 2])


def _skip_if_once(args: tuple[str, ...]) -> None:
    if "--once" in args:
        pytest.skip("--once is refused in a cluster")


def _skip_if_local(args: tuple[str, ...], environ: dict[str, str]) -> None:
    for option in LOCAL_OPTIONS:
        if option in args:
            pytest.skip(f"{option} is for a run that runs the tasks itself")
    if set(args).intersection(_AGENTS) and not set(args).intersection(_NEW):
        pytest.skip("a run that does not run the tasks itself has no other agent for them")
    if "OSTLER_FAILPOINT" in environ:
        pytest.skip("the worker would end, and no other one continues")


@contextmanager
def worker(world: World, environ: dict[str, str], *args: str) -> Iterator[None]:
    """A worker of the cluster; what it prints is in worker.txt beside the project."""
    with (world.root.parent / "worker.txt").open("ab") as output:
        stop = _start_worker(world, world.environ | environ, output, *args)
    try:
        yield
    finally:
        stop()


def _create_tables(world: World) -> None:
    """A worker creates no project on a server, and the run of a test may create it too late."""
    create_tables(world.environ["OSTLER_STORE__URL"], world.environ["OSTLER_STORE__SCHEMA"])


def _start_worker(
    world: World, environ: dict[str, str], output: IO[bytes], *args: str
) -> Callable[[], object]:
    """Start a worker and return what ends it."""
    if not must_be_new(environ):
        with open(os.devnull, "rb") as nothing:
            files = (nothing, output, output)
            forked = start_forked(["worker", *args], world.root, environ, files, server="worker")
        return partial(_end_forked, forked)
    child = subprocess.Popen(
        [sys.executable, "-m", "ostler", "worker", *args],
        cwd=world.root,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        start_new_session=True,
    )
    return lambda: child.poll() is None and end(child, signal.SIGTERM)


def _end_forked(worker: ForkedProcess) -> None:
    with suppress(ProcessLookupError):  # it has ended
        os.kill(worker.pid, signal.SIGTERM)
    worker.wait(30)
