"""The keys that a person presses, one by one, on a terminal that waits for no Enter."""

from __future__ import annotations

import codecs
import os
import re
import select
import signal
import termios
import tty
from collections.abc import Generator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Never

_ONE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1bO.|.", re.DOTALL)
_NAMES = {
    "\x1b[A": "up",
    "\x1bOA": "up",
    "\x1b[B": "down",
    "\x1bOB": "down",
    "\x1b[5~": "page_up",
    "\x02": "page_up",
    "\x1b[6~": "page_down",
    "\x06": "page_down",
    "\x1b[H": "home",
    "\x1bOH": "home",
    "\x1b[1~": "home",
    "\x1b[F": "end",
    "\x1bOF": "end",
    "\x1b[4~": "end",
    "\r": "enter",
    "\n": "enter",
    "\x7f": "backspace",
    "\x08": "backspace",
    "\x15": "clear",
    "\x1b": "escape",
}
_ENDS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 143}
_HEARD = (*_ENDS, signal.SIGTSTP)


class Left(BaseException):
    """The person or the system wants us gone."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Suspended(BaseException):
    """The person wants the terminal back for a while."""


def names_of(text: str) -> list[str]:
    """What was typed, key by key: its name or the letter; what means nothing to us is left out."""
    typed: list[str] = _ONE.findall(text)
    return [name for key in typed if (name := _NAMES.get(key, key)).isprintable()]


class Keyboard:
    """Reads keys; `raw_mode` must hold meanwhile."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._decode = codecs.getincrementaldecoder("utf-8")("ignore").decode
        self.wake, self.waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def close(self) -> None:
        os.close(self.wake)
        os.close(self.waker)

    def wait(self, seconds: float) -> list[str]:
        """The keys of the next moment; returns early for one, or when the window changes its size."""
        ready = select.select([self._terminal, self.wake], [], [], seconds)[0]
        if self.wake in ready:
            os.read(self.wake, 4096)
        if self._terminal not in ready:
            return []
        typed = _read(self._terminal)
        if not typed:
            raise Left(143)
        return names_of(self._decode(typed))


def _read(terminal: int) -> bytes:
    """What was typed; nothing when the terminal is gone."""
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""


@contextmanager
def raw_mode(terminal: int) -> Generator[Keyboard]:
    """Have keys at once and unseen; at the end the terminal is as before, without what was typed ahead."""
    before = termios.tcgetattr(terminal)
    keyboard = Keyboard(terminal)
    try:
        tty.setcbreak(terminal)
        yield keyboard
    finally:
        with suppress(termios.error):  # the terminal itself may be gone
            termios.tcsetattr(terminal, termios.TCSAFLUSH, before)
        keyboard.close()


@contextmanager
def held_back() -> Generator[None]:
    """Signals wait meanwhile, so that none comes while the terminal is taken or given back."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HEARD)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def let_through(keyboard: Keyboard) -> Generator[None]:
    """Signals come meanwhile, as Left or Suspended, and a new size of the window wakes who waits for keys."""
    handlers = {signal.SIGTSTP: _suspend, signal.SIGWINCH: _look_up, **dict.fromkeys(_ENDS, _leave)}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    waker = signal.set_wakeup_fd(keyboard.waker, warn_on_full_buffer=False)
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HEARD)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, _HEARD)
        signal.set_wakeup_fd(waker)
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave(number: int, frame: FrameType | None) -> Never:
    raise Left(_ENDS[signal.Signals(number)])


def _suspend(number: int, frame: FrameType | None) -> Never:
    raise Suspended


def _look_up(number: int, frame: FrameType | None) -> None:
    """The select that is interrupted by it returns."""
