"""Records what an agent reports: the events of one turn of the event loop together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Self

from ostler.calls.attempts.journal import create_notices
from ostler.calls.attempts.result import redact_events
from ostler.calls.attempts.transcript import AttemptFiles
from ostler.model.call import AgentEvent, OnEvent
from ostler.model.notice import Notice
from ostler.secrets.sequence import RedactingSequence


class EventRecorder:
    """Writes the events of one attempt to its files and to the feed, without secrets.

    A program prints many lines at a time, and a write costs more than a line. What is added in one turn of
    the event loop is written at the start of the next one, before the program is read again.
    """

    def __init__(
        self,
        files: AttemptFiles,
        notify: Callable[[Sequence[Notice]], object],
        on_event: OnEvent,  # called after the event was recorded
    ) -> None:
        self._files = files
        self._notify = notify
        self._on_event = on_event
        self._loop = asyncio.get_running_loop()
        self._redacting = RedactingSequence()
        self._added: list[AgentEvent] = []
        self._error: BaseException | None = None

    def add(self, event: AgentEvent) -> None:
        """Record an event soon; raises the error of an earlier write."""
        if self._error is not None:
            raise self._error
        if not self._added:
            self._loop.call_soon(self._try_write)
        self._added.append(event)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Record what was added last; raises the error of this write or of an earlier one."""
        self._try_write()
        if self._error is not None:
            raise self._error

    def _try_write(self) -> None:
        events, self._added = self._added, []
        if not events or self._error is not None:
            return
        try:
            self._write(events)
        except BaseException as error:  # noqa: BLE001  (a callback's error would only be logged: add() raises it)
            self._error = error

    def _write(self, events: list[AgentEvent]) -> None:
        recorded = redact_events(events, self._redacting.redact)
        self._files.write_events(recorded)
        clean = [event for event, _ in recorded.events]
        if notices := create_notices(clean):
            self._notify(notices)
        for event in clean:
            self._on_event(event)
