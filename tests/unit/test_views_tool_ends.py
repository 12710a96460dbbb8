"""The times at which tools returned, read from the attempt logs of a task."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ostler.views.agent_work.tool_ends import ToolEnd, tool_ends


def write(task: Path, name: str, *entries: dict[str, Any] | bytes) -> None:
    """Write an attempt's page and its log."""
    place = task / "transcripts"
    place.mkdir(exist_ok=True)
    (place / f"{name}.md").touch()
    lines = [entry if isinstance(entry, bytes) else json.dumps(entry).encode() for entry in entries]
    (place / f"{name}.log.ndjson").write_bytes(b"\n".join(lines) + b"\n")


def used(use: str) -> dict[str, Any]:
    return {"at": 1.0, "type": "tool_used", "id": use, "tool": "T", "detail": "", "input": {"a": [1]}}


def returned(use: str, at: float, failed: bool = False) -> dict[str, Any]:
    return {"at": at, "type": "tool_returned", "id": use, "text": "", "failed": failed}


def test_each_use_has_its_end(tmp_path: Path) -> None:
    """In the order of the uses, for any order of the ends; a use that never returned has none."""
    ends = (returned("b", 4.0, failed=True), returned("a", 5.0), returned("z", 6.0))
    write(tmp_path, "implement-001", used("a"), used("b"), used("c"), *ends)
    assert tool_ends(tmp_path) == {1: [ToolEnd(5.0), ToolEnd(4.0, failed=True), None]}


def test_uses_without_a_number_end_one_after_the_other(tmp_path: Path) -> None:
    """An end without a number belongs to the last use before it."""
    write(tmp_path, "implement-001", used(""), returned("", 2.0), used(""), returned("", 3.0))
    assert tool_ends(tmp_path) == {1: [ToolEnd(2.0), ToolEnd(3.0)]}


def test_every_attempt_is_looked_at(tmp_path: Path) -> None:
    """Attempts are found by the number at the end of their name; damaged lines are skipped."""
    write(tmp_path, "implement-001", used("a"), b"half a li", b'{"a":' * 5000, returned("a", 2.0))
    write(tmp_path, "test-012", used("a"))
    (tmp_path / "transcripts" / "implement-003.md").touch()
    assert tool_ends(tmp_path) == {1: [ToolEnd(2.0)], 3: [], 12: [None]}


def test_history_that_is_too_long_is_not_read(tmp_path: Path) -> None:
    """The end from the feed is used instead."""
    write(tmp_path, "implement-001", used("a"))
    with (tmp_path / "transcripts" / "implement-001.log.ndjson").open("r+b") as file:
        file.truncate(200 * 1024 * 1024)
    assert tool_ends(tmp_path) == {1: []}


def test_task_that_was_never_begun_has_none(tmp_path: Path) -> None:
    """Without files the result is empty, without an error."""
    assert tool_ends(tmp_path) == {}
