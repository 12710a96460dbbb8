"""The changes in a tool's input, in the format of each agent."""

from __future__ import annotations

from typing import Any

import pytest

from ostler.views.agent_work.edits import find_edits

ONE = [{"path": "a.py", "old": "x", "new": "y"}]


@pytest.mark.parametrize(
    "given",
    [
        {"file_path": "a.py", "old_string": "x", "new_string": "y", "replace_all": False},
        {"filePath": "a.py", "oldString": "x", "newString": "y"},
        {"path": "a.py", "old_str": "x", "new_str": "y", "command": "str_replace"},
        {"path": "a.py", "oldText": "x", "newText": "y"},
        {"path": "a.py", "old": "x", "new": "y"},
        {"file_path": "a.py", "edits": [{"old_string": "x", "new_string": "y"}]},
        {"edits": [{"path": "a.py", "oldText": "x", "newText": "y"}]},
    ],
)
def test_one_change_in_many_words(given: dict[str, Any]) -> None:
    """Claude, opencode, copilot, ACP and the scripted agent; single or in a list."""
    assert find_edits(given) == ONE


@pytest.mark.parametrize("name", ["content", "contents", "file_text"])
def test_new_file_has_nothing_before(name: str) -> None:
    """A file that is written as a whole has only added lines."""
    assert find_edits({"file_path": "a.py", name: "y"}) == [{"path": "a.py", "old": "", "new": "y"}]


def test_text_that_is_taken_away_is_a_change() -> None:
    """An empty new text is a change."""
    assert find_edits({"path": "a", "old_str": "x", "new_str": ""}) == [{"path": "a", "old": "x", "new": ""}]


def test_several_changes_stay_in_order() -> None:
    """Each has the common path, unless it has its own."""
    parts = [{"old_string": "1", "new_string": "2"}, {"path": "b", "old_string": "3", "new_string": "4"}]
    found = find_edits({"file_path": "a", "edits": parts})
    assert [(edit["path"], edit["old"], edit["new"]) for edit in found] == [("a", "1", "2"), ("b", "3", "4")]


@pytest.mark.parametrize(
    "given",
    [
        None,
        [],
        "text",
        {},
        {"command": "ls"},
        {"file_path": "a.py"},
        {"content": "without a path"},
        {"path": "a.py", "content": 5},
        {"path": "a", "edits": [7, None]},
        {"changes": [{"path": "a.py", "kind": "update"}]},
        {"truncated": True, "text": '{"file_path":"a'},
    ],
)
def test_what_changes_nothing_has_no_change(given: object) -> None:
    """An input without a described change has none."""
    assert find_edits(given) == []
