"""Points in the code where a test makes a process fail."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from ostler.errors import UsageError
from ostler.files import failpoint


@pytest.fixture(autouse=True)
def disarmed() -> Iterator[None]:
    yield
    failpoint.arm("")


def run(order: str, times: int) -> int:
    code = f"from ostler.files.failpoint import reach\nfor _ in range({times}): reach('a.b')"
    environment = os.environ | {"OSTLER_FAILPOINT": order}
    return subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode


@pytest.mark.parametrize(
    ("order", "times", "status"),
    [
        ("a.b:kill", 1, -signal.SIGKILL),
        ("a.b:kill:3", 2, 0),
        ("a.b:kill:3", 3, -signal.SIGKILL),
        ("a.b:exit:2", 2, 1),
        ("other:kill", 5, 0),
        ("", 5, 0),
    ],
)
def test_environment_orders_the_failure(order: str, times: int, status: int) -> None:
    """The named failpoint fails the n-th time that it is reached, in the requested way."""
    assert run(order, times) == status


@pytest.mark.parametrize(("action", "number"), [("enospc", errno.ENOSPC), ("eio", errno.EIO)])
def test_disk_errors_come_once(action: str, number: int) -> None:
    """An error is raised once; later writes succeed."""
    failpoint.arm(f"x:{action}:2")
    failpoint.reach("x")
    with pytest.raises(OSError) as caught:
        failpoint.reach("x")
    assert caught.value.errno == number
    failpoint.reach("x")


@pytest.mark.parametrize("order", ["x", "x:explode", "x:kill:soon", ":kill", "x:kill:-1"])
def test_misspelt_order_is_refused(order: str) -> None:
    """An unknown order is an error, so that no test passes by a typing mistake."""
    with pytest.raises(UsageError, match="OSTLER_FAILPOINT"):
        failpoint.arm(order)
