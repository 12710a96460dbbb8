"""Start a run in the background."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from ostler.cli.terminal.output import print_hint, print_json, print_text
from ostler.cli.terminal.run.progress import Progress
from ostler.errors import Code, OstlerError, UsageError
from ostler.files.layout import Layout
from ostler.model.ids import TaskId
from ostler.process.detached import report_started, start_detached
from ostler.project.running.active_runs import create_log
from ostler.text import describe_os_error
from ostler.views.feed import EventJson

READY_OPTION = "--ready-descriptor"
# How error_output prints an error and the hint below it.
_ERROR_PREFIXES = ("ostler: ", "        ")
# Longer than a store may be busy: a run that lasts this long has started.
_READY_TIMEOUT_SECONDS = 10.0


def reject_interactive(step: bool, dry_run: bool, breaks: bool = False) -> None:
    """Raise UsageError for options that need a terminal."""
    if step or dry_run or breaks:
        other = "--step" if step else "--break" if breaks else "--dry-run"
        raise UsageError(f"--detach cannot be combined with {other}: a detached run has no terminal")


def run_detached(
    layout: Layout,
    task_ids: list[TaskId],
    options: Mapping[str, object],
    switches: Mapping[str, bool],
    as_json: bool,
) -> int:
    """Start `ostler run` in the background, of all ready tasks for an empty list; return the exit code."""
    opened = create_log(layout)
    log = opened.path
    try:
        command = _build_command(task_ids, options, {**switches, "--json": as_json})
        started = start_detached(command, opened.held.fd)
    except OSError as error:
        log.unlink()
        message = f"the run could not be started: {describe_os_error(error)}"
        raise OstlerError(Code.SPAWN_FAILED, message, "ostler doctor") from error
    finally:
        opened.held.release()
    if started.status is not None:
        return _print_log(log, started.status)
    _print_started(started.pid, log, task_ids, as_json)
    return 0


class ReadyNotifier:
    """Progress that notifies the parent process when the run has started."""

    def __init__(self, progress: Progress, descriptor: int) -> None:
        self._progress = progress
        self._descriptor = descriptor
        self._since = time.monotonic()
        self._notified = False

    def handle(self, line: EventJson, at: float) -> None:
        self._notify()
        self._progress.handle(line, at)

    def tick(self, now: float) -> None:
        """Notify after a timeout too: a run without events may be waiting for a limit or another run."""
        if time.monotonic() - self._since > _READY_TIMEOUT_SECONDS:
            self._notify()
        self._progress.tick(now)

    def _notify(self) -> None:
        if not self._notified:
            report_started(self._descriptor)
        self._notified = True


@contextmanager
def notify_when_ready(screen: AbstractContextManager[Progress], descriptor: int) -> Generator[Progress]:
    """Wrap the progress in a ReadyNotifier for this descriptor."""
    with screen as progress:
        yield ReadyNotifier(progress, descriptor)


def _build_command(
    task_ids: list[TaskId], options: Mapping[str, object], switches: Mapping[str, bool]
) -> list[str]:
    """Return the command of the run without its last argument, the descriptor."""
    values = [f"{name}={value}" for name, value in options.items() if value]
    flags = [name for name, is_on in switches.items() if is_on]
    program = [sys.executable, "-P", "-m", "ostler", "run"]
    return [*program, *(task_ids or ["--all"]), *values, *flags, READY_OPTION]


def _print_log(log: Path, status: int) -> int:
    """Print the output of a run that ended before it started its work; return its exit code."""
    for line in log.read_text("utf-8", "replace").splitlines():
        stream = sys.stderr if line.startswith(_ERROR_PREFIXES) else sys.stdout
        stream.write(line + "\n")
    log.unlink()
    if status < 0:
        raise OstlerError(Code.INTERRUPTED, f"the run was ended by signal {-status} before it started")
    return status


def _print_started(pid: int, log: Path, task_ids: list[TaskId], as_json: bool) -> None:
    if as_json:
        print_json({"schema": "ostler.detached/1", "pid": pid, "log": str(log), "tasks": task_ids})
        return
    watch = f"ostler log {task_ids[0]} -f" if len(task_ids) == 1 else "ostler events -f"
    print_text(f"Started a run in the background: process {pid}.")
    print_hint(f"Watch:  {watch}   or   ostler status\nStop:   kill {pid}\nLog:    {log}")
