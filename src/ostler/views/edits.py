"""What a tool's input changes in files, whatever its agent calls the members."""

from __future__ import annotations

from typing import Any, cast

Edit = dict[str, str]
"""One change: `path`, and the text `old` that gives way to the text `new`."""

_PATHS = ("file_path", "filePath", "path", "notebook_path", "absolute_path", "target_file")
_OLD = ("old_string", "oldString", "old_str", "oldText", "old")
_NEW = ("new_string", "newString", "new_str", "newText", "new", "content", "contents", "file_text")
_SEVERAL = ("edits", "changes")


def edits_of(given: object) -> list[Edit]:
    """The changes that a tool was asked for; none for a tool that does not say what it changes."""
    if not isinstance(given, dict):
        return []
    members = cast("dict[str, Any]", given)
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
