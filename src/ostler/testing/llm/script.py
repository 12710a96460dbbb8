"""The order of the turns: one per request; the last is repeated."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from ostler.testing.llm.request import Request
from ostler.testing.llm.turns import Answer, Failure, Turn

Scripted = Turn | Callable[[Request], Turn]
Turns = Sequence[Scripted] | Callable[[Request], Turn]
"""A list of turns, or one function for every request."""


class Script:
    """Assigns a turn to each request; thread-safe."""

    def __init__(self, turns: Turns, started_at: float = 0.0) -> None:
        self._turns: list[Scripted] = [turns] if callable(turns) else list(turns) or [Answer(say="OK")]
        self._taken = 0
        self._started_at = started_at
        self._lock = threading.Lock()

    def take(self, request: Request) -> Turn:
        """Return the next turn; a function is called with the request."""
        with self._lock:
            turn = self._next()
            while self._is_over(turn) and self._taken < len(self._turns) - 1:
                self._taken += 1
                turn = self._next()
            self._taken += not self._lasts(turn)
        return turn(request) if callable(turn) else turn

    def _next(self) -> Scripted:
        return self._turns[min(self._taken, len(self._turns) - 1)]

    def _lasts(self, turn: Scripted) -> bool:
        return isinstance(turn, Failure) and turn.until_reset and turn.limits is not None

    def _is_over(self, turn: Scripted) -> bool:
        if not (isinstance(turn, Failure) and turn.until_reset and turn.limits):
            return False
        return time.time() >= turn.limits.resets_at(self._started_at)
