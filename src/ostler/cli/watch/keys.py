"""Read single keys from the terminal, and handle signals meanwhile."""

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
from typing import IO, Never

PASTED = "pasted:"
"""The beginning of a key that is a pasted text."""
_KEY = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1bO.|.", re.DOTALL)
_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|O)?\Z")
_PASTE_ON, _PASTE_OFF = "\x1b[?2004h", "\x1b[?2004l"
_PASTE_START, _PASTE_END = "\x1b[200~", "\x1b[201~"
_REST_SECONDS = 0.05  # until the rest of a sequence has arrived; Escape is one without a rest
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
_EXIT_CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 143}
_HANDLED = (*_EXIT_CODES, signal.SIGTSTP)


class Quit(BaseException):
    """The user or the system ends the program."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Suspended(BaseException):
    """The user suspends the program with Ctrl-Z."""


class KeySplitter:
    """Splits what is typed into keys by name or character; unknown sequences are left out."""

    def __init__(self) -> None:
        self.rest = ""  # the beginning of a sequence or of a pasted text

    def split(self, text: str) -> list[str]:
        """Return the complete keys; a pasted text is one key, so that no line of it acts."""
        keys, text = list[str](), self.rest + text
        while (start := text.find(_PASTE_START)) >= 0:
            keys += _split_typed(text[:start])
            pasted, end, text = text[start + len(_PASTE_START) :].partition(_PASTE_END)
            if not end:
                self.rest = _PASTE_START + pasted
                return keys
            keys.append(PASTED + pasted)
        found = _UNFINISHED.search(text)
        self.rest = found[0] if found else ""
        return keys + _split_typed(text.removesuffix(self.rest))

    def finish(self) -> list[str]:
        """Return the keys of a sequence that has no rest; a pasted text is still awaited."""
        if self.rest.startswith(_PASTE_START):
            return []
        typed, self.rest = self.rest, ""
        return _split_typed(typed)


def _split_typed(text: str) -> list[str]:
    typed: list[str] = _KEY.findall(text)
    return [name for key in typed if (name := _NAMES.get(key, key)).isprintable()]


class Keyboard:
    """Reads keys while `raw_mode` is active."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._decode = codecs.getincrementaldecoder("utf-8")("ignore").decode
        self._splitter = KeySplitter()
        self.wake, self.waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def close(self) -> None:
        os.close(self.wake)
        os.close(self.waker)

    def wait(self, seconds: float) -> list[str]:
        """Wait for keys and return them; returns early on a key or when the window is resized."""
        seconds = min(seconds, _REST_SECONDS) if self._splitter.rest else seconds
        ready = select.select([self._terminal, self.wake], [], [], seconds)[0]
        if self.wake in ready:
            os.read(self.wake, 4096)
        if self._terminal not in ready:
            return self._splitter.finish()
        typed = _read(self._terminal)
        if not typed:
            raise Quit(143)
        return self._splitter.split(self._decode(typed))


def _read(terminal: int) -> bytes:
    """Read typed bytes; empty when the terminal is gone."""
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""


@contextmanager
def raw_mode(terminal: int) -> Generator[Keyboard]:
    """Read keys without Enter and echo; restores the terminal and discards unread input at the end."""
    before = termios.tcgetattr(terminal)
    keyboard = Keyboard(terminal)
    try:
        tty.setcbreak(terminal)
        yield keyboard
    finally:
        # The terminal may be gone.
        with suppress(termios.error):
            termios.tcsetattr(terminal, termios.TCSAFLUSH, before)
        keyboard.close()


@contextmanager
def paste_mode(screen: IO[str]) -> Generator[None]:
    """Ask the terminal to mark pasted texts, which are not keys."""
    screen.write(_PASTE_ON)
    screen.flush()
    try:
        yield
    finally:
        screen.write(_PASTE_OFF)
        screen.flush()


@contextmanager
def block_signals() -> Generator[None]:
    """Block signals, so that none interrupts the setup or the restoring of the terminal."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def handle_signals(keyboard: Keyboard) -> Generator[None]:
    """Raise signals as Quit or Suspended; a resize of the window wakes `Keyboard.wait`."""
    handlers = {signal.SIGTSTP: _suspend, signal.SIGWINCH: _ignore, **dict.fromkeys(_EXIT_CODES, _quit)}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    waker = signal.set_wakeup_fd(keyboard.waker, warn_on_full_buffer=False)
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED)
        signal.set_wakeup_fd(waker)
        for number, handler in before.items():
            signal.signal(number, handler)


def _quit(number: int, frame: FrameType | None) -> Never:
    raise Quit(_EXIT_CODES[signal.Signals(number)])


def _suspend(number: int, frame: FrameType | None) -> Never:
    raise Suspended


def _ignore(number: int, frame: FrameType | None) -> None:
    """Only interrupts the select in `Keyboard.wait`."""
