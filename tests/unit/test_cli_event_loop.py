"""A command runs its coroutine, or names what it lacks for that."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ostler.cli.event_loop import run_loop

SCRIPT = """
import asyncio, os, resource
from ostler.cli.event_loop import run_loop

async def work():
    return "done"

free = os.dup(0)
os.close(free)
resource.setrlimit(resource.RLIMIT_NOFILE, (free + {left}, free + {left}))
try:
    print(run_loop(work()))
except OSError as error:
    print(error.strerror)
"""


async def fail() -> None:
    raise ValueError("of the coroutine")


def test_the_error_of_the_coroutine_is_raised() -> None:
    """It is not taken for a missing descriptor."""
    with pytest.raises(ValueError, match="of the coroutine"):
        run_loop(fail())


@pytest.mark.parametrize(("left", "printed"), [(2, "Too many open files\n"), (8, "done\n")])
def test_too_few_descriptors_for_an_event_loop_are_an_error_without_a_traceback(
    left: int, printed: str
) -> None:
    """A loop that is half made would print one, and the coroutine a warning."""
    argv = [sys.executable, "-c", SCRIPT.format(left=left)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (printed, "")
