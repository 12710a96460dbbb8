"""Find the file edits in a tool's input, for the field names of all agents."""

from __future__ import annotations

from typing import Any, cast

Edit = dict[str, str]
"""One edit: `path`, and the text `old` that is replaced by the text `new`."""

_PATHS = ("file_path", "filePath", "path", "notebook_path", "absolute_path", "target_file")
_OLD = ("old_string", "oldString", "old_str", "oldText", "old")
_NEW = ("new_string", "newString", "new_str", "newText", "new", "content", "contents", "file_text")
_SEVERAL = ("edits", "changes")


def find_edits(tool_input: object) -> list[Edit]:
    """Return the edits of a tool call; empty when its input has none."""
    if not isinstance(tool_input, dict):
        return []
    members = cast("dict[str, Any]", tool_input)
    several = [part for name in _SEVERAL for part in _list(members.get(name))]
    path = _first(members, _PATHS) or ""
    found = (_edit(part, path) for part in several or [members])
    return [edit for edit in found if edit is not None]


def _edit(members: dict[str, Any], path: str) -> Edit | None:
    new, path = _first(members, _NEW), _first(members, _PATHS) or path
    if new is None or not path:
        return None
    return {"path": path, "old": _first(members, _OLD) or "", "new": new}


def _first(members: dict[str, Any], names: tuple[str, ...]) -> str | None:
    return next((members[name] for name in names if isinstance(members.get(name), str)), None)


def _list(value: object) -> list[dict[str, Any]]:
    parts = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("dict[str, Any]", part) for part in parts if isinstance(part, dict)]
