"""Runs requests at the same time, in threads that a process does not wait for at its end."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from threading import Thread
from typing import TypeVar

_T = TypeVar("_T")
_THREADS = 8


def start_daemon(work: Callable[[], None]) -> Thread:
    """Run a function in a thread; unlike those of an executor, it does not delay the end of the process."""
    thread = Thread(target=work, name="blobs", daemon=True)
    thread.start()
    return thread


def run_for_each(work: Callable[[_T], None], items: Sequence[_T]) -> None:
    """Call the function with each item, several at a time; raise the first of its errors."""
    waiting, errors = deque(items), list[Exception]()

    def run() -> None:
        while not errors:
            try:
                item = waiting.popleft()
            except IndexError:
                return
            try:
                work(item)
            except Exception as error:  # noqa: BLE001  (raised below, in the thread of the caller)
                errors.append(error)

    threads = [start_daemon(run) for _ in range(min(_THREADS, len(items)) - 1)]
    run()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
