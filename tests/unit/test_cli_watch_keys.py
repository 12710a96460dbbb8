"""Reading keys, handling signals, and restoring the terminal."""

from __future__ import annotations

import os
import pty
import signal
import termios
from collections.abc import Iterator
from contextlib import suppress

import pytest

from ostler.cli.watch.keys import KeySplitter, Quit, Suspended, block_signals, handle_signals, raw_mode


@pytest.mark.parametrize(
    ("typed", "keys"),
    [
        ("jk", ["j", "k"]),
        ("\x1b[A\x1b[B\x1bOA\x1bOB", ["up", "down", "up", "down"]),
        ("\x1b[5~\x1b[6~\x1b[H\x1b[F", ["page_up", "page_down", "home", "end"]),
        ("\r\n\x7f\x15\x1b", ["enter", "enter", "backspace", "clear", "escape"]),
        ("日 é", ["日", " ", "é"]),
        ("\x1b[1;5C\x07\x00\x9b", []),
        ("s\x1b[200~a\r\nb\x1b[201~\r", ["s", "pasted:a\r\nb", "enter"]),
        ("\x1b[200~\x1b[201~q", ["pasted:", "q"]),
        ("", []),
    ],
)
def test_a_key_has_a_name_or_is_its_letter(typed: str, keys: list[str]) -> None:
    """Unknown sequences are dropped as a whole; a sequence may arrive in any parts."""
    splitter = KeySplitter()
    assert splitter.split(typed) + splitter.finish() == keys
    splitter, found = KeySplitter(), list[str]()
    for letter in typed:
        found += splitter.split(letter)
    assert found + splitter.finish() == keys


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """Yield both ends of a pseudo-terminal: the user's and the program's."""
    ends = pty.openpty()
    yield ends
    for end in ends:
        with suppress(OSError):  # one test closes one itself
            os.close(end)


def test_keys_come_without_enter_and_the_terminal_is_as_before(terminal: tuple[int, int]) -> None:
    """A character of two bytes may arrive in two parts."""
    person, program = terminal
    before = termios.tcgetattr(program)
    with raw_mode(program) as keyboard:
        assert not termios.tcgetattr(program)[3] & (termios.ICANON | termios.ECHO)
        os.write(person, b"j\xc3")
        assert keyboard.wait(10) == ["j"]
        os.write(person, b"\xa9")
        assert keyboard.wait(10) == ["é"]
        assert keyboard.wait(0) == []
    assert termios.tcgetattr(program) == before


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)]
)
def test_a_signal_ends_the_wait_and_the_terminal_is_as_before(
    terminal: tuple[int, int], number: signal.Signals, code: int
) -> None:
    """The previous signal handlers are restored."""
    program = terminal[1]
    before, received = termios.tcgetattr(program), signal.getsignal(number)
    with (
        pytest.raises(Quit) as left,
        block_signals(),
        raw_mode(program) as keyboard,
        handle_signals(keyboard),
    ):
        signal.raise_signal(number)
        keyboard.wait(10)
    assert left.value.code == code
    assert termios.tcgetattr(program) == before and signal.getsignal(number) is received


def test_signals_are_blocked_while_the_terminal_is_set_up(terminal: tuple[int, int]) -> None:
    """It is delivered afterwards."""
    with pytest.raises(Suspended), block_signals(), raw_mode(terminal[1]) as keyboard:
        signal.raise_signal(signal.SIGTSTP)
        reached = True
        with handle_signals(keyboard):
            keyboard.wait(10)
    assert reached


def test_a_new_size_wakes_the_wait(terminal: tuple[int, int]) -> None:
    """No key is returned."""
    with block_signals(), raw_mode(terminal[1]) as keyboard, handle_signals(keyboard):
        signal.raise_signal(signal.SIGWINCH)
        assert keyboard.wait(60) == []


def test_a_terminal_that_is_gone_ends_it(terminal: tuple[int, int]) -> None:
    """It ends like a hangup."""
    person, program = terminal
    with raw_mode(program) as keyboard:
        os.close(person)
        with pytest.raises(Quit):
            keyboard.wait(10)
