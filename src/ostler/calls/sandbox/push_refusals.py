"""Finds a refused push in the output of tools, where no proxy receives the report of it."""

from __future__ import annotations

from collections.abc import Iterator

from ostler.git.private.programs import PUSH_REFUSED
from ostler.model.call import AccessRefused, AgentEvent, ToolReturned
from ostler.model.policy.sandbox import Network

_TARGET = "a remote"  # the output does not have its name


class PushRefusals:
    """Reads the events of one attempt, and yields one refusal."""

    def __init__(self, network: Network) -> None:
        self._is_reported = network == "proxy"

    def read(self, event: AgentEvent) -> Iterator[AccessRefused]:
        """Yield the refusal when a tool first returns it."""
        if not self._is_reported and isinstance(event, ToolReturned) and PUSH_REFUSED in event.text:
            self._is_reported = True
            yield AccessRefused("push", _TARGET)
