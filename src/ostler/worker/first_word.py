"""The first word of a model: it shows that its provider lets calls through again."""

from __future__ import annotations

from collections.abc import Callable

from ostler.executors.error_text import error_line
from ostler.model.call import AgentEvent, TextSaid, ToolDenied, ToolUsed
from ostler.model.limit import Open, Probe


class FirstWord:
    """Waits for it where a call was let through to find that out; says so once."""

    def __init__(self, admitted: Open | Probe, spoken: Callable[[Probe], None]) -> None:
        self._probe = admitted if isinstance(admitted, Probe) else None
        self._spoken = spoken

    def hear(self, event: AgentEvent) -> None:
        if _speaks(event):
            self.say()

    def say(self) -> None:
        """It was spoken, whether or not anyone heard it."""
        probe, self._probe = self._probe, None
        if probe is not None:
            self._spoken(probe)


def _speaks(event: AgentEvent) -> bool:
    """Whether a model is behind it; some agents say as a text that their provider refused."""
    if isinstance(event, TextSaid):
        return not error_line(event.text)
    return isinstance(event, ToolUsed | ToolDenied)
