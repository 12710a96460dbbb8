"""Change one value in the text of a TOML document; everything else stays as it is written."""

from __future__ import annotations

import re
import tomllib
from copy import deepcopy
from typing import Any, cast

from ostler.config.literal import to_toml
from ostler.config.source import KeyPath, format_key
from ostler.config.toml.scan import Statement, list_statements

_NOTHING = object()


class CannotEdit(Exception):
    """Raised when the text has a form that these functions do not change correctly."""


def get_value(tree: Any, path: KeyPath) -> Any:
    """Return the value at a path of a parsed document; raise KeyError when there is none."""
    for part in path:
        try:
            tree = tree[part]
        except (IndexError, TypeError) as error:
            raise KeyError(format_key(path)) from error
    return tree


def set_value(text: str, path: KeyPath, value: object) -> str:
    """Return the text with the value at this path; raise CannotEdit when the result would be another."""
    try:
        changed = _assign(text, list_statements(text), path, value)
        return _verify(changed, _replaced(tomllib.loads(text), path, value))
    except (TypeError, AttributeError, LookupError) as error:
        raise CannotEdit("a value is in the place of a table") from error


def remove_value(text: str, path: KeyPath, *, with_headers: bool = False) -> str:
    """Return the text without the value or table at this path; raise CannotEdit as set_value does."""
    statements = list_statements(text)
    if inline := _find_inline(statements, path):
        inner = _replaced(_read(text, inner_path := inline.path), path[len(inner_path) :], _NOTHING)
        changed = _write_span(text, inline, inner)
    else:
        below = [one for one in statements if one.path[: len(path)] == path]
        gone = [one for one in below if one.value or with_headers or _is_bare(text, statements, one)]
        changed = _cut(text, gone)
    return _verify(changed, _replaced(tomllib.loads(text), path, _NOTHING))


def _assign(text: str, statements: list[Statement], path: KeyPath, value: object) -> str:
    for one in statements:
        if one.path == path and one.value:
            return _write_span(text, one, value)
    if inline := _find_inline(statements, path):
        inner = _replaced(_read(text, inline.path), path[len(inline.path) :], value)
        return _write_span(text, inline, inner)
    newline = "\r\n" if "\r\n" in text else "\n"
    if (place := _find_place(text, statements, path)) is None:
        before = text if not text or text.endswith("\n") else text + newline
        gap = newline if before.strip() else ""
        return f"{before}{gap}[{format_key(path[:-1])}]{newline}{_line(path[-1:], value)}{newline}"
    at, table = place
    before = text[:at] if text[:at].endswith("\n") or not at else text[:at] + newline
    return f"{before}{_line(path[len(table) :], value)}{newline}{text[at:]}"


def _find_inline(statements: list[Statement], path: KeyPath) -> Statement | None:
    """Return the assignment of an inline table that contains the path."""
    parents = (one for one in statements if one.value and one.path == path[: len(one.path)])
    return next((one for one in parents if one.path != path), None)


def _find_place(text: str, statements: list[Statement], path: KeyPath) -> tuple[int, KeyPath] | None:
    """Return where to add an assignment, and the table of that place; None: it needs a header."""
    siblings = [one for one in statements if one.value and one.path[:-1] == path[:-1]]
    if siblings and siblings[-1].table != path[:-1]:
        return siblings[-1].end, siblings[-1].table
    row = max((index for index, part in enumerate(path) if isinstance(part, int)), default=-1)
    for table in (path[:-1], path[: row + 1]):
        if header := next((one for one in statements if one.path == table and not one.value), None):
            return _find_line(text, statements, header, path[len(table) :]), table
    return None


def _find_line(text: str, statements: list[Statement], header: Statement, key: KeyPath) -> int:
    """Return the position below the commented default of the key, else below the last assignment."""
    later = [one.start for one in statements if one.start > header.start and not one.value]
    end = min(later, default=len(text))
    pattern = rf"^[ \t]*#[ \t]*{re.escape(format_key(key))}[ \t]*=[^\n]*(?:\n|\Z)"
    if found := re.compile(pattern, re.MULTILINE).search(text, header.end, end):
        return found.end()
    inside = [one.end for one in statements if one.value and header.start < one.start < end]
    return max(inside, default=header.end)


def _is_bare(text: str, statements: list[Statement], header: Statement) -> bool:
    """Return whether a section has no comment, which would belong to another one without the header."""
    end = min(
        (one.start for one in statements if one.start > header.start and not one.value), default=len(text)
    )
    inside = [one for one in statements if one.value and header.start < one.start < end]
    return "#" not in _cut(text[:end], inside)[header.end :]


def _line(key: KeyPath, value: object) -> str:
    return f"{format_key(key)} = {to_toml(value)}"


def _write_span(text: str, statement: Statement, value: object) -> str:
    assert statement.value is not None
    start, end = statement.value
    return text[:start] + to_toml(value) + text[end:]


def _cut(text: str, statements: list[Statement]) -> str:
    for one in reversed(statements):
        start = text.rfind("\n", 0, one.start) + 1
        before, after = text[:start], text[one.end :]
        if not one.value:  # a header takes the blank lines above it along
            before = before.rstrip() + "\n" if before.strip() else ""
        text = before + after
    return text


def _read(text: str, path: KeyPath) -> Any:
    return get_value(tomllib.loads(text), path)


def _replaced(tree: Any, path: KeyPath, value: object) -> Any:
    """Return a copy of the tree with another value at the path; _NOTHING removes it."""
    copy = deepcopy(tree)
    table: Any = copy
    for part in path[:-1]:
        if isinstance(part, str):
            cast("dict[str, Any]", table).setdefault(part, {})
        table = table[part]
    if value is _NOTHING:
        del table[path[-1]]
    else:
        table[path[-1]] = value
    return copy


def _verify(text: str, expected: Any) -> str:
    try:
        found = tomllib.loads(text)
    except ValueError as error:
        raise CannotEdit(str(error)) from error
    if _pruned(found) != _pruned(expected):
        raise CannotEdit("the result has other values")
    return text


def _pruned(tree: Any) -> Any:
    """Return the tree without empty tables: a header may be left or created."""
    if isinstance(tree, (list, tuple)):
        return [_pruned(item) for item in cast("list[Any]", tree)]
    if not isinstance(tree, dict):
        return tree
    inner = {key: _pruned(item) for key, item in cast("dict[str, Any]", tree).items()}
    return {key: item for key, item in inner.items() if item != {}}
