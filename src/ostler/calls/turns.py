"""Shares the event loop between tasks: many that can continue at once do not delay timers and streams."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine, Generator
from time import perf_counter
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

_T = TypeVar("_T")

_BUDGET_SECONDS = 0.001  # after which no further step begins in this turn of the event loop


def take_turns(work: Coroutine[Any, Any, _T]) -> Coroutine[Any, Any, _T]:
    """Return a coroutine for a new task that does the same, but waits for its turn before each step.

    An event loop runs all tasks that can continue before it looks at its timers and streams again. The tasks
    of a run often start, end and wait for the disk together: 32 steps of 3 ms delay everything by 100 ms.
    """
    return _InTurns(work, _turns_of(asyncio.get_running_loop()))


class _Turns:
    """Lets the steps of one event loop begin: one in each of its turns, or more if they are short."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._began_at: float | None = None  # the first step of this turn; None: no step has begun

    def take(self) -> asyncio.Future[None] | None:
        """Return None if a step may begin now, otherwise what to wait for."""
        if not self._waiting and (
            self._began_at is None or perf_counter() - self._began_at < _BUDGET_SECONDS
        ):
            if self._began_at is None:
                self._began_at = perf_counter()
                self._loop.call_soon(self._end_turn)
            return None
        waiting = self._loop.create_future()
        self._waiting.append(waiting)
        return waiting

    def _end_turn(self) -> None:
        """Let the step that waits longest begin in the next turn of the loop."""
        self._began_at = None
        while self._waiting:
            first = self._waiting.popleft()
            if not first.done():  # the others were cancelled
                self._began_at = perf_counter()
                self._loop.call_soon(self._end_turn)
                first.set_result(None)
                return


_TURNS: WeakKeyDictionary[asyncio.AbstractEventLoop, _Turns] = WeakKeyDictionary()


def _turns_of(loop: asyncio.AbstractEventLoop) -> _Turns:
    if (turns := _TURNS.get(loop)) is None:
        turns = _TURNS[loop] = _Turns(loop)
    return turns


class _InTurns(Coroutine[Any, Any, _T]):
    def __init__(self, work: Coroutine[Any, Any, _T], turns: _Turns) -> None:
        self._work = work
        self._turns = turns
        self._steps: Generator[Any, Any, _T] | None = None  # None: it has not begun

    def send(self, value: Any, /) -> Any:
        if self._steps is None:
            self._steps = self._run()
        return self._steps.send(value)

    def throw(self, *error: Any) -> Any:
        # One that is cancelled before it has begun runs nothing.
        return (self._work if self._steps is None else self._steps).throw(*error)

    def close(self) -> None:
        if self._steps is not None:
            self._steps.close()
        self._work.close()

    def __await__(self) -> Generator[Any, Any, _T]:
        self._steps = self._steps or self._run()
        return self._steps

    def _run(self) -> Generator[Any, Any, _T]:
        error: BaseException | None = None
        while True:
            try:
                if (turn := self._turns.take()) is not None:
                    yield from turn
            except asyncio.CancelledError as cancelled:
                # As in a task that is cancelled after what it waits for has ended.
                error = cancelled
            try:
                awaited = self._work.send(None) if error is None else self._work.throw(error)
            except StopIteration as end:
                return end.value
            error = None
            try:
                yield awaited
            except GeneratorExit:
                raise
            except BaseException as raised:  # noqa: BLE001  (of what was awaited: it is raised in the coroutine)
                error = raised
