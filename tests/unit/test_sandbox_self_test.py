"""Why a self-test of a sandbox failed, in one line."""

from __future__ import annotations

import pytest

from ostler.process.tool import ToolResult
from ostler.sandbox.self_test import describe_exit


@pytest.mark.parametrize(
    ("stderr", "reason"),
    [
        (b"docker: no daemon\n\nRun 'docker run --help' for more information\n", ": docker: no daemon"),
        (b"docker: no daemon.\nSee 'docker run --help'.\n", ": docker: no daemon."),
        (b"first\nlast\n\n", ": last"),
        (b"", ""),
    ],
)
def test_the_reason_is_shown_and_not_the_advice_of_the_client(stderr: bytes, reason: str) -> None:
    """The client of docker prints a line on its help after the reason."""
    assert describe_exit(ToolResult(125, b"", stderr)) == f"its self-test failed (exit 125{reason})"
