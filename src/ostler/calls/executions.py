"""The executions of a CliExecutor that run now, each of which can be killed by its id."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from itertools import count
from typing import Any

from msgspec import Struct

from ostler.calls.request import CallOutcome
from ostler.clock import Clock
from ostler.errors import Code, UsageError
from ostler.model.call import CallResult
from ostler.process.child import KILL_NOW


class Execution(Struct, frozen=True):
    """One call of `execute` that has not returned yet."""

    id: str
    task_id: str
    started_at: float  # seconds since the epoch


class Executions:
    """Runs executions side by side; ids are unique while an execution runs."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._numbers = count(1)
        self._running: dict[str, tuple[Execution, asyncio.Task[CallOutcome]]] = {}
        self._killed: set[str] = set()

    def list(self) -> list[Execution]:
        """Return the executions that run now, the oldest first."""
        return [execution for execution, _ in self._running.values()]

    def make_id(self, task_id: str) -> str:
        """Return an id that no execution had before."""
        return f"{task_id}/{next(self._numbers)}"

    def kill(self, id: str, *, now: bool = False) -> bool:
        """End an execution; return False if none with this id runs."""
        if id not in self._running:
            return False
        self._killed.add(id)
        return self._running[id][1].cancel(KILL_NOW if now else None)

    async def run(self, id: str, task_id: str, work: Coroutine[Any, Any, CallOutcome]) -> CallOutcome:
        """Run one execution; a killed one returns ABORTED. Raises UsageError for an id that runs already."""
        if id in self._running:
            work.close()
            raise UsageError(f"an execution with the id {id} runs already", "pass another execution_id")
        running = asyncio.create_task(work)
        self._running[id] = (Execution(id, task_id, self._clock.now()), running)
        try:
            return await running
        except asyncio.CancelledError:
            if id not in self._killed or _is_cancelled():
                raise
            return CallOutcome(CallResult(Code.ABORTED, f"execution {id} was killed"))
        finally:
            self._killed.discard(id)
            del self._running[id]


def _is_cancelled() -> bool:
    """Return whether the caller of the execution is cancelled, not only the execution."""
    this = asyncio.current_task()
    return this is not None and this.cancelling() > 0
