"""A run in the background: started here, watched from anywhere."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from ostler.cli.out import emit, hint, say
from ostler.cli.progress import Progress
from ostler.errors import Code, OstlerError, UsageError
from ostler.files.layout import Layout
from ostler.model.ids import TaskId
from ostler.process.detached import say_begun, start_detached
from ostler.project.run_log import open_log
from ostler.views.feed import Line

BEGUN_OPTION = "--begun-descriptor"
_TROUBLE = ("ostler: ", "        ")  # how a sentence about a failure begins, and the next step below it
_PATIENCE_SECONDS = 10.0  # longer than a store may be busy; after that nothing stands in the way any more


def refuse_company(step: bool, dry_run: bool) -> None:
    """Raise when the run would need someone to look at it."""
    if step or dry_run:
        other = "--step" if step else "--dry-run"
        raise UsageError(
            f"{other} shows you something here; a detached run has no terminal", "use one of them"
        )


def run_detached(
    layout: Layout,
    wanted: list[TaskId],
    options: Mapping[str, object],
    switches: Mapping[str, bool],
    as_json: bool,
) -> int:
    """Start `ostler run` of these tasks, or all for none, in the background; 0 once it has begun."""
    opened = open_log(layout)
    log = opened.path
    try:
        command = _command(wanted, options, {**switches, "--json": as_json})
        started = start_detached(command, opened.held.fd)
    except OSError as error:
        log.unlink()
        told = f"the run could not be started: {os.strerror(error.errno or 0).lower()}"
        raise OstlerError(Code.SPAWN_FAILED, told, "ostler doctor") from error
    finally:
        opened.held.release()
    if started.status is not None:
        return _relay(log, started.status)
    _tell(started.pid, log, wanted, as_json)
    return 0


class Herald:
    """Progress that also tells whoever started the run that it has begun."""

    def __init__(self, progress: Progress, descriptor: int) -> None:
        self._progress = progress
        self._descriptor = descriptor
        self._since = time.monotonic()
        self._told = False

    def take(self, line: Line, at: float) -> None:
        self._tell()
        self._progress.take(line, at)

    def beat(self, now: float) -> None:
        """Without a line it may wait for a limit or for another run."""
        if time.monotonic() - self._since > _PATIENCE_SECONDS:
            self._tell()
        self._progress.beat(now)

    def _tell(self) -> None:
        if not self._told:
            say_begun(self._descriptor)
        self._told = True


@contextmanager
def heralded(screen: AbstractContextManager[Progress], descriptor: int) -> Generator[Progress]:
    """The same screen, and a word to that descriptor."""
    with screen as progress:
        yield Herald(progress, descriptor)


def _command(wanted: list[TaskId], options: Mapping[str, object], switches: Mapping[str, bool]) -> list[str]:
    """What starts the run; its last argument is added when it is known."""
    values = [f"{name}={value}" for name, value in options.items() if value]
    said = [name for name, wants in switches.items() if wants]
    program = [sys.executable, "-P", "-m", "ostler", "run"]
    return [*program, *(wanted or ["--all"]), *values, *said, BEGUN_OPTION]


def _relay(log: Path, status: int) -> int:
    """It came to its end before it had begun: what it said, as if it had been said here."""
    for line in log.read_text("utf-8", "replace").splitlines():
        stream = sys.stderr if line.startswith(_TROUBLE) else sys.stdout
        stream.write(line + "\n")
    log.unlink()
    if status < 0:
        raise OstlerError(Code.INTERRUPTED, f"the run was ended by signal {-status} before it had begun")
    return status


def _tell(pid: int, log: Path, wanted: list[TaskId], as_json: bool) -> None:
    if as_json:
        emit({"schema": "ostler.detached/1", "pid": pid, "log": str(log), "tasks": wanted})
        return
    watch = f"ostler log {wanted[0]} -f" if len(wanted) == 1 else "ostler events -f"
    say(f"The run goes on in the background, as process {pid}.")
    hint(f"Watch it:  {watch}   or   ostler status\nStop it:   kill {pid}\nIts log:   {log}")
