"""Whom the kernel kills first when the memory is used up."""

from __future__ import annotations

import os

_OWN = "/proc/self/oom_score_adj"
_AGENT = 500
_STEP, _MOST = 100, 1000


def read_score() -> int:
    """This process's own; 0, which is the usual one, where the system does not say."""
    try:
        with open(_OWN, "rb", buffering=0) as file:  # noqa: PTH123
            return int(file.readall())
    except OSError:
        return 0


def score_of_agents(own: int) -> bytes:
    """High enough for an agent to go before the run that started it."""
    return b"%d" % min(_MOST, max(_AGENT, own + _STEP))


def write_score(score: bytes) -> None:
    """Give it to this process and to all that it starts from now on."""
    try:
        descriptor = os.open(_OWN, os.O_WRONLY)
        os.write(descriptor, score)
        os.close(descriptor)
    except OSError:
        return  # no /proc, or a container that does not let us: the kernel then goes by size alone
