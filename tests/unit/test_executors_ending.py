"""How a program's exit reads when its output says nothing better."""

from __future__ import annotations

import pytest

from ostler.errors import Code
from ostler.executors.ending import Ending, ending_of
from ostler.model.command import Exit, Stopped


@pytest.mark.parametrize(
    ("stopped", "code"),
    [
        (Stopped.TIMEOUT, Code.TIMEOUT),
        (Stopped.IDLE, Code.IDLE_TIMEOUT),
        (Stopped.NEEDS_INPUT, Code.NEEDS_INPUT),
        (Stopped.AFTER_RESULT, Code.NO_RESULT),
        (Stopped.MEMORY, Code.AGENT_OOM),
    ],
)
def test_every_stop_has_its_code(stopped: Stopped, code: Code) -> None:
    """Why we stopped it is what the attempt ended with, whatever its status then was."""
    assert ending_of(Exit(-15, 1.0, stopped), "claude").code is code


def test_what_was_seen_is_in_the_message() -> None:
    """The question that a program asked is told."""
    exit = Exit(-15, 312.4, Stopped.NEEDS_INPUT, "Do you trust the files?")
    said = "claude was stopped after 312 s: the agent asks a person something (Do you trust the files?)"
    assert ending_of(exit, "claude") == Ending(Code.NEEDS_INPUT, said)
