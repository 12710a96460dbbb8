"""A project for tests: a real repository, the fake claude, and the program as a person starts it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import psutil

from forked import run_forked
from in_process import run_command
from journal_file import journal_path
from ostler.testing.fake_agent import fake_claude, read_ledger
from templates import copy_template

# libfaketime cannot keep the monotonic clock unchanged for the sleep of this Python, so within a run only the
# wall clock of the run itself is changed, by a module that Python loads when it starts.
BENT = """
import pathlib, time
_true, _jump = time.time, pathlib.Path({path!r})
time.time = lambda: _true() + float(_jump.read_text() or 0)
"""
GIT = ("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org")

# They run until a signal or the end of their input ends them; the last one ends its process.
APART = ("serve", "worker", "watch", "mcp", "cluster")
# In a cluster they wait for workers, and the client of Temporal ends its process.
RUNS = ("run", "publish", "rebase", "merge", "review", "pipeline")
AT_START = ("LC_", "LANG", "LD_", "PYTHONI", "PYTHONU")  # read once, when Python starts


class World:
    """One project below a test's directory. Everything that it starts is ended by `close`."""

    def __init__(self, directory: Path, name: str = "project", git: bool = True, **behaviour: object) -> None:
        self.root = directory / name
        self.root.mkdir(parents=True)
        self.agents = directory / "agents"
        self.ledger = directory / "ledger.jsonl"
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": os.environ["HOME"],
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "OSTLER_CLAUDE_PATH": str(self.agents / "claude"),
            "OSTLER_SANDBOX__TIER": "supervised",  # most agents of tests use files outside their worktree
            "OSTLER_RUN__GRACE_SECONDS": "1",
            "OSTLER_RETRY__BASE_DELAY_SECONDS": "0.01",
            "OSTLER_GATES__CONTROL": "false",  # most gates of tests cannot fail; their own tests switch it on
            "OSTLER_RETRY__PROBE_DELAY_SECONDS": "100",  # longer than a run waits for a provider
            "OSTLER_PHASES__PLANS__SMALL": '["implement"]',  # tests of several phases set it themselves
        }
        self._started: list[subprocess.Popen[bytes]] = []
        self.behave(**behaviour)
        if git:
            self.make_repository()

    def behave(self, **behaviour: object) -> None:
        """Set the behaviour of the fake claude."""
        for launcher in (self.agents / "claude",):
            launcher.unlink(missing_ok=True)
        fake_claude(self.agents, ledger=str(self.ledger), **behaviour)

    def make_repository(self, **files: str) -> None:
        """Commit a README and these files."""
        copy_template(("world", *files.items()), partial(commit_first, files), self.root)

    def git(self, *args: str) -> str:
        done = subprocess.run([*GIT, *args], cwd=self.root, check=True, capture_output=True, text=True)
        return done.stdout

    def ostler(
        self, *args: str, code: int | None = 0, stdin: str = "", **environ: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end; the exit code is checked, and no traceback may be printed.

        The command runs in this process when its behaviour is the same there; see `program`.
        """
        whole = self.environ | environ
        if needs_process(args, whole):
            return self.program(*args, code=code, stdin=stdin, **environ)
        run = run_forked if "OSTLER_FAILPOINT" in whole else run_command
        return checked(run([*args], self.root, whole, stdin), code)

    def program(
        self, *args: str, code: int | None = 0, stdin: str = "", **environ: str
    ) -> subprocess.CompletedProcess[str]:
        """Do the same as `ostler`, always in a new process."""
        done = subprocess.run(
            [sys.executable, "-m", "ostler", *args],
            cwd=self.root,
            env=self.environ | environ,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        return checked(done, code)

    def json(self, *args: str, code: int | None = 0, **environ: str) -> Any:
        return json.loads(self.ostler(*args, "--json", code=code, **environ).stdout)

    def new(self, title: str = "Add a greeting", *args: str) -> str:
        return self.ostler("new", title, *args).stdout.strip()

    def show(self, task: str) -> Any:
        return self.json("show", task)

    def events(self, task: str | None = None) -> list[dict[str, Any]]:
        done = self.ostler("events", *([task] if task else []), "--json")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Read the store, whichever it is."""
        from ostler.project.project import Project  # most runs of a single test need none in this process

        with Project.open(self.root, self.environ) as project:
            return project.journal._db.query(sql)

    def read_store(self) -> bytes:
        """Return all that the store has: its file, or the rows of all tables on a server."""
        if "OSTLER_STORE__URL" not in self.environ:
            return journal_path(self.root).read_bytes()
        tables = self.query("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
        assert tables
        return str([self.query(f"SELECT * FROM {name}") for (name,) in tables]).encode()

    def start(self, *args: str, **environ: str) -> subprocess.Popen[bytes]:
        """Start a command and return; its output goes to files beside the project."""
        return self.start_program([sys.executable, "-m", "ostler", *args], **environ)

    def start_program(self, command: list[str], **environ: str) -> subprocess.Popen[bytes]:
        """Start another program in the same way."""
        out = (self.ledger.parent / "out.txt").open("ab")
        err = (self.ledger.parent / "err.txt").open("ab")
        with out, err:
            child = subprocess.Popen(
                command,
                cwd=self.root,
                env=self.environ | environ,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        self._started.append(child)
        return child

    def close(self) -> None:
        for child in self._started:
            if child.poll() is None:
                child.kill()
            child.wait()
        wait_until(lambda: not self.survivors(), 20, "processes are left")

    def started(self) -> list[dict[str, Any]]:
        """Return every start of an agent, from its own ledger."""
        return [line for line in read_ledger(self.ledger) if line["event"] == "start"]

    def survivors(self) -> list[str]:
        """Return processes with this project's marker, or with a working directory in it."""
        found = []
        for process in psutil.process_iter():
            if process.pid == os.getpid() or any(process.pid == child.pid for child in self._started):
                continue
            try:
                here = process.cwd().startswith(str(self.root))
                ours = process.environ().get("OSTLER_PROJECT") == str(self.root)
                if (here or ours) and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(f"{process.pid} {' '.join(process.cmdline())}")
            except psutil.Error:
                continue
        return found

    def read_worker(self) -> str:
        """Return what workers printed that ran beside a run of this test in a cluster."""
        file = self.root.parent / "worker.txt"
        return file.read_text() if file.exists() else ""

    def check_journal(self) -> None:
        """`ostler journal check` finds nothing wrong; it is refused for a journal on a server."""
        self.ostler("journal", "check", code=2 if "OSTLER_STORE__URL" in self.environ else 0)

    def check_store(self) -> None:
        """The database is valid, and no partial file is left."""
        if "OSTLER_STORE__URL" not in self.environ:
            connection = apsw.Connection(str(journal_path(self.root)))
            assert list(connection.execute("pragma integrity_check")) == [("ok",)]
            connection.close()
        places = {journal_path(self.root).parent, self.root / ".ostler"}
        assert not [file for place in places for file in place.rglob("*.tmp")]


def commit_first(files: Mapping[str, str], place: Path) -> None:
    """Make a repository with one commit."""
    for name, text in {"README.md": "# Sample\n", **files}.items():
        (place / name).write_text(text)
    for args in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "first")):
        subprocess.run([*GIT, *args], cwd=place, check=True, capture_output=True)


def needs_process(args: tuple[str, ...], environ: dict[str, str]) -> bool:
    """Whether a command must be a process: it acts on the whole of it, or this one cannot be changed now."""
    if args[:1] and (args[0] in APART or "--detach" in args):
        return True
    if args[:1] and args[0] in RUNS and environ.get("OSTLER_ENGINE__KIND") == "temporal":
        return True
    return must_be_new(environ)


def must_be_new(environ: Mapping[str, str]) -> bool:
    """Whether a command needs a new process in which Python starts."""
    if environ.get("PYTHONPATH", "") != os.environ.get("PYTHONPATH", "") or _reads_at_start(environ):
        return True
    return threading.current_thread() is not threading.main_thread() or _in_a_loop()


def _reads_at_start(environ: Mapping[str, str]) -> bool:
    return any(name.startswith(AT_START) for name in environ)


def _in_a_loop() -> bool:
    """Whether an event loop runs here, as with Playwright: a command could not start its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def checked(done: subprocess.CompletedProcess[str], code: int | None) -> subprocess.CompletedProcess[str]:
    """Return the same, when the exit code is this one and there is no traceback."""
    args = " ".join(map(str, done.args))
    printed = f"{args} gave {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    assert "Traceback" not in done.stdout + done.stderr, printed
    assert code is None or done.returncode == code, printed
    return done


def bend(world: World) -> Path:
    """Shift the program's wall clock by the seconds in this file."""
    folder = world.root.parent / "clock"
    folder.mkdir()
    jump = folder / "jump"
    jump.write_text("0")
    (folder / "sitecustomize.py").write_text(BENT.format(path=str(jump)))
    world.environ["PYTHONPATH"] = f"{folder}:{world.environ['PYTHONPATH']}"
    return jump


def wait_until(true: Callable[[], object], seconds: float, else_report: str) -> None:
    """Poll until the condition holds; the deadline is long, the interval is short."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, else_report
        time.sleep(0.02)


def busy_below(place: Path) -> list[int]:
    """Return processes that work below a directory."""
    found: list[int] = []
    for process in psutil.process_iter():
        try:
            if Path(process.cwd()).is_relative_to(place):
                found.append(process.pid)
        except (psutil.Error, OSError):
            continue
    return found


def end(child: subprocess.Popen[bytes], number: int, seconds: float = 30) -> int:
    """Send a signal and wait; return the exit code."""
    os.kill(child.pid, number)
    return child.wait(seconds)


def end_by_two(child: subprocess.Popen[bytes], number: int, seconds: float = 30) -> int:
    """Send a signal twice and wait; repeat while it runs, as two simultaneous signals are one."""
    deadline = time.monotonic() + seconds
    child.send_signal(number)
    while time.monotonic() < deadline:
        time.sleep(0.3)
        child.send_signal(number)
        with suppress(subprocess.TimeoutExpired):
            return child.wait(3)
    raise AssertionError("it does not end")


STOP, KILL, INTERRUPT = signal.SIGTERM, signal.SIGKILL, signal.SIGINT
