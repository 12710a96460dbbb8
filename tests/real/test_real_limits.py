"""The real codex at a limit of its account, on the local server; only in make test-full."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.errors import Code
from ostler.testing.fake_llm import LIMITS, FakeLlm
from real_agents import Seat

HOUR, DAY = 3600.0, 86_400.0


@pytest.mark.parametrize(
    ("case", "code", "expected", "wait"),
    [
        ("near", None, [("five_hour", 0.93, "allowed"), ("seven_day", 0.42, "allowed")], None),
        (
            "rejected",
            Code.QUOTA_EXCEEDED,
            [("five_hour", 1.0, "rejected"), ("seven_day", 0.42, "allowed")],
            4 * HOUR,
        ),
        (
            "weekly",
            Code.QUOTA_EXCEEDED,
            [("five_hour", 0.3, "allowed"), ("seven_day", 1.0, "rejected")],
            3 * DAY,
        ),
    ],
)
def test_codex_has_its_windows(
    case: str,
    code: Code | None,
    expected: list[tuple[str, float, str]],
    wait: float | None,
    tmp_path: Path,
) -> None:
    """The windows come from the session file; after a rejection the time is that of the window."""
    with FakeLlm([LIMITS[case]]) as llm:
        seat = Seat("codex", tmp_path, llm)
        result = seat.spawn()
    assert result.code is code, result.message
    assert [(one.name, one.used, one.status) for one in result.windows] == expected
    assert {one.source for one in result.windows} == {"file"}
    seconds = result.retry_after_seconds
    assert seconds is None if wait is None else seconds is not None and wait - 60 < seconds <= wait + 1
    assert seat.processes() == []
