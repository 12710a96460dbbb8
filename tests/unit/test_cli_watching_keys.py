"""What a terminal sends, as keys; and that it is given back as it was."""

from __future__ import annotations

import os
import pty
import signal
import termios
from collections.abc import Iterator
from contextlib import suppress

import pytest

from ostler.cli.watching.keys import Left, Suspended, held_back, let_through, names_of, raw_mode


@pytest.mark.parametrize(
    ("typed", "keys"),
    [
        ("jk", ["j", "k"]),
        ("\x1b[A\x1b[B\x1bOA\x1bOB", ["up", "down", "up", "down"]),
        ("\x1b[5~\x1b[6~\x1b[H\x1b[F", ["page_up", "page_down", "home", "end"]),
        ("\r\n\x7f\x15\x1b", ["enter", "enter", "backspace", "clear", "escape"]),
        ("日 é", ["日", " ", "é"]),
        ("\x1b[1;5C\x1b[200~\x07\x00\x9b", []),
        ("", []),
    ],
)
def test_a_key_has_a_name_or_is_its_letter(typed: str, keys: list[str]) -> None:
    """What has no meaning here is left out whole, so that its letters do nothing."""
    assert names_of(typed) == keys


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """What a person types into, and what the program reads."""
    ends = pty.openpty()
    yield ends
    for end in ends:
        with suppress(OSError):  # one test closes one itself
            os.close(end)


def test_keys_come_without_enter_and_the_terminal_is_as_before(terminal: tuple[int, int]) -> None:
    """A letter of two bytes may come in two parts."""
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
    """And whoever heard it before hears it again."""
    program = terminal[1]
    before, heard = termios.tcgetattr(program), signal.getsignal(number)
    with pytest.raises(Left) as left, held_back(), raw_mode(program) as keyboard, let_through(keyboard):
        signal.raise_signal(number)
        keyboard.wait(10)
    assert left.value.code == code
    assert termios.tcgetattr(program) == before and signal.getsignal(number) is heard


def test_a_signal_waits_while_the_terminal_is_taken_and_given_back(terminal: tuple[int, int]) -> None:
    """It comes as soon as it can do no harm."""
    with pytest.raises(Suspended), held_back(), raw_mode(terminal[1]) as keyboard:
        signal.raise_signal(signal.SIGTSTP)
        reached = True
        with let_through(keyboard):
            keyboard.wait(10)
    assert reached


def test_a_new_size_wakes_the_wait(terminal: tuple[int, int]) -> None:
    """With no key."""
    with held_back(), raw_mode(terminal[1]) as keyboard, let_through(keyboard):
        signal.raise_signal(signal.SIGWINCH)
        assert keyboard.wait(60) == []


def test_a_terminal_that_is_gone_ends_it(terminal: tuple[int, int]) -> None:
    """As a hangup does."""
    person, program = terminal
    with raw_mode(program) as keyboard:
        os.close(person)
        with pytest.raises(Left):
            keyboard.wait(10)
