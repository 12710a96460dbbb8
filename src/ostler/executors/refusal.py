"""A program that does not know an argument of ours: it says so, or prints its help, and does nothing."""

from __future__ import annotations

import re

from ostler.errors import Code
from ostler.executors.ending import Ending
from ostler.executors.failure import Words
from ostler.executors.wire import one_line
from ostler.model.command import Exit

_STATUSES = (1, 2)
_REFUSED = re.compile(
    r"^.*(?:unknown|unrecogni[sz]ed|unexpected|invalid|no such) (?:option|argument|flag)s?\b.*$",
    re.IGNORECASE | re.MULTILINE,
)
_HELP = re.compile(r"^\s{0,8}-h, --help\b", re.MULTILINE)


def refusal_of(exit: Exit, program: str, words: Words | None = None) -> Ending | None:
    """AGENT_INCOMPATIBLE for arguments that were not understood; None when it was something else.

    A help screen has words of every kind in it, so that this is asked before any of them is believed; but a
    sentence of the program's own (`words`) beside it is the reason.
    """
    said = exit.stderr_tail
    if exit.stopped is not None or exit.status not in _STATUSES or exit.stdout_bytes:
        return None
    if found := _REFUSED.search(said):
        return _incompatible(program, one_line(found[0]))
    if _HELP.search(said) and not any(re.search(word, said, re.IGNORECASE) for word in words or {}):
        return _incompatible(program, "it printed its help instead of working")
    return None


def _incompatible(program: str, why: str) -> Ending:
    return Ending(Code.AGENT_INCOMPATIBLE, f"{program} does not know an argument of ours: {why}")
