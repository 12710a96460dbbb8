"""Deadlines for the keeper and the forker: a stopped one is continued, one that does not respond is killed.

An agent can stop its keeper (`kill -STOP $PPID`). Without a deadline on this side, the run would wait for it
without end, and the keeper would hold the lock of the task.
"""

from __future__ import annotations

import asyncio
import signal
import time
from typing import Protocol

from ostler.process.forker_client import ForkerClient
from ostler.process.keeper import tree
from ostler.process.process_state import is_stopped, resume_if_stopped, send_signal

CHECK_SECONDS = 1.0
START_SECONDS = 60.0  # until a keeper reports that its program runs, or why not
RESPONSE_SECONDS = 30.0  # after SIGKILL was due, until the keeper reports that nothing is left
_MAX_RESUMES = 3  # of a keeper that should end; another process stops it again and again


class WatchedKeeper(Protocol):
    """What the watchdog reads from the client of a keeper."""

    forker: ForkerClient
    gone: bool
    lost: bool

    @property
    def pid(self) -> int:
        """The pid of the keeper; 0 before its program was started."""
        ...

    @property
    def kill_at(self) -> float | None:
        """When the keeper was requested to kill the program, in monotonic time; None: not yet."""
        ...


class HelperWatchdog:
    """Checks the helpers of one program once a second, from its start until `stop`."""

    def __init__(self, keeper: WatchedKeeper) -> None:
        self.problem = ""  # what was wrong with a helper, and what was done
        self._keeper = keeper
        self._started_at = time.monotonic()
        self._lost_at: float | None = None
        self._resumes = 0  # while the keeper should start or end
        self._task = asyncio.create_task(self._run())

    def stop(self) -> None:
        self._task.cancel()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            self._check()

    def _check(self) -> None:
        if self._keeper.gone:
            return
        if self._keeper.lost and self._lost_at is None:
            self._lost_at = time.monotonic()
        resumed = [pid for pid in self._list_helpers() if resume_if_stopped(pid)]
        if resumed:
            self.problem = self._describe(resumed[0], "was stopped by a signal and was continued")
        waits = not self._keeper.pid or self._keeper.kill_at is not None or self._keeper.lost
        self._resumes += bool(resumed) and waits
        if time.monotonic() > self._find_deadline() or self._resumes > _MAX_RESUMES:
            self._kill()

    def _list_helpers(self) -> list[int]:
        """Return the forker and the keeper; before the start, the keepers of the forker, as one is ours."""
        forker, keeper = self._keeper.forker.running_pid, self._keeper.pid
        if self._keeper.lost:
            found = [forker]
        elif keeper:
            found = [forker, keeper]
        else:
            found = [forker, *tree.list_children(forker)]
        return [pid for pid in found if pid]

    def _find_deadline(self) -> float:
        if self._lost_at is not None:
            return self._lost_at + RESPONSE_SECONDS
        if not self._keeper.pid:
            return self._started_at + START_SECONDS
        kill_at = self._keeper.kill_at
        return float("inf") if kill_at is None else kill_at + RESPONSE_SECONDS

    def _kill(self) -> None:
        """Kill the helper that is waited for; the end of its socket wakes up who waits."""
        pid = 0 if self._keeper.lost else self._keeper.pid
        if pid:
            targets = [pid]
        else:
            forker = self._keeper.forker.running_pid
            targets = [*filter(is_stopped, tree.list_children(forker)), forker] if forker else []
        for target in targets:
            self.problem = self._describe(target, "did not respond and was killed")
            send_signal(target, signal.SIGKILL)

    def _describe(self, pid: int, what: str) -> str:
        name = "forker" if pid == self._keeper.forker.running_pid else "keeper"
        return f"its {name}, the helper process {pid}, {what}"
