"""The order of the turns: one per request; the last is repeated."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from ostler.testing.llm.request import Request
from ostler.testing.llm.turns import Answer, Turn

Scripted = Turn | Callable[[Request], Turn]
Turns = Sequence[Scripted] | Callable[[Request], Turn]
"""A list of turns, or one function for every request."""


class Script:
    """Assigns a turn to each request; thread-safe."""

    def __init__(self, turns: Turns) -> None:
        self._turns: list[Scripted] = [turns] if callable(turns) else list(turns) or [Answer(say="OK")]
        self._taken = 0
        self._lock = threading.Lock()

    def take(self, request: Request) -> Turn:
        """Return the next turn; a function is called with the request."""
        with self._lock:
            turn = self._turns[min(self._taken, len(self._turns) - 1)]
            self._taken += 1
        return turn(request) if callable(turn) else turn
