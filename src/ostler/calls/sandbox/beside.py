"""Keeps an asynchronous context open in another thread, while this one waits for a program."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, contextmanager
from threading import Thread
from typing import TypeVar

_T = TypeVar("_T")


@contextmanager
def keep_open_beside(create: Callable[[], AbstractAsyncContextManager[_T]]) -> Generator[_T]:
    """Enter the context in a loop of its own, and leave it at the end. A proxy answers meanwhile."""
    entered: Future[tuple[_T, Callable[[], object]]] = Future()
    thread = Thread(target=lambda: asyncio.run(_hold(create, entered)), name="sandbox")
    thread.start()
    try:
        value, leave = entered.result()
    except BaseException:
        thread.join()
        raise
    try:
        yield value
    finally:
        leave()
        thread.join()


async def _hold(
    create: Callable[[], AbstractAsyncContextManager[_T]],
    entered: Future[tuple[_T, Callable[[], object]]],
) -> None:
    loop, left = asyncio.get_running_loop(), asyncio.Event()
    try:
        async with create() as value:
            entered.set_result((value, lambda: loop.call_soon_threadsafe(left.set)))
            await left.wait()
    except BaseException as error:
        if entered.done():
            raise
        entered.set_exception(error)
