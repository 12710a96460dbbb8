"""Wakes a process when another one has written to the store; polling finds what a wake-up missed."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import closing
from threading import Event, Thread

import psycopg

from ostler.store.busy import StopRequest
from ostler.store.postgres.address import Address
from ostler.store.postgres.connection import NoAnswer, connect

_RETRY_SECONDS = (0.5, 15.0)  # the first pause after a broken connection, and the longest
_LOOK_SECONDS = 0.5  # how soon the thread ends after `close`
_LOCK_SECONDS = 1.0

_log = logging.getLogger(__name__)


class Listener:
    """Calls `wake` from its own thread after each commit of the project, and after it was disconnected."""

    def __init__(self, address: Address, wake: Callable[[], None]) -> None:
        self._address = address
        self._wake = wake
        self._closed = Event()
        self._stop = StopRequest()  # ends the wait for a server that hangs
        self.connected = Event()
        self._thread = Thread(target=self._listen, name="ostler-listen", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._closed.set()
        self._stop.set()
        self._thread.join()

    def _listen(self) -> None:
        pause, longest = _RETRY_SECONDS
        while not self._closed.is_set():
            try:
                with closing(connect(self._address, self._stop, _LOCK_SECONDS)) as connection:
                    connection.run_script(f"LISTEN {self._address.quoted_schema}")
                    pause = _RETRY_SECONDS[0]
                    self.connected.set()
                    self._wake()  # for what was written before
                    while not self._closed.is_set():
                        if list(connection.notifies(timeout=_LOOK_SECONDS, stop_after=1)):
                            self._wake()
            except (psycopg.Error, NoAnswer) as error:
                # Polling continues, and so does the wait of the writers, which is printed.
                _log.debug("not listening to %s: %s", self._address, error)
                self.connected.clear()
                self._closed.wait(pause)
                pause = min(2 * pause, longest)
