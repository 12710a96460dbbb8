"""Keys of settings that a person writes: run.jobs, gates.commands.test, models[0].cost_weight."""

from __future__ import annotations

import re
import tomllib
from typing import Any, cast

from ostler.config.checks.expect import describe_expected, nearest
from ostler.config.checks.shape import Leaf, Map, Rows, Table, keys_of, shape_of
from ostler.config.checks.validate import validate
from ostler.config.environment import parse_text
from ostler.config.layer import LayerValues
from ostler.config.literal import quote, shorten
from ostler.config.settings import Settings
from ostler.config.source import DEFAULT, KeyPath, format_key
from ostler.errors import UsageError

_INDEX = re.compile(r"\[(\d{1,6})\]")
_MARK = "ostler-index-"  # an index in a name that tomllib accepts
_INDEX_AS_NAME = rf".{_MARK}\1"
_LIST = "ostler config show   lists all settings"


def parse_key(text: str) -> KeyPath:
    """Return the path of a key in TOML notation; raise UsageError."""
    try:
        tree: Any = tomllib.loads(_INDEX.sub(_INDEX_AS_NAME, text) + " = 0")
    except (ValueError, RecursionError):
        tree = {}
    path: KeyPath = ()
    while isinstance(tree, dict) and len(table := cast("dict[str, Any]", tree)) == 1:
        [(name, tree)] = table.items()
        path = (*path, int(name.removeprefix(_MARK)) if name.startswith(_MARK) else name)
    if tree != 0:
        raise UsageError(f"invalid key {quote(shorten(text))}: expected a key such as run.jobs", _LIST)
    return path


def find_kind(path: KeyPath) -> Any:
    """Return the type of the setting or table at a path; raise UsageError for an unknown one."""
    kind: Any = Settings
    for depth, part in enumerate(path):
        match shape_of(kind), part:
            case Table(fields=known), str() if part in known:
                kind = known[part].kind
            case Map(name=name_kind, entry=entry), str():
                _require_name(name_kind, path[: depth + 1])
                kind = entry
            case Rows(row=row), int():
                kind = row
            case _:
                raise _unknown(path)
    return kind


def parse_value(path: KeyPath, text: str) -> Any:
    """Return the value for a setting, converted to its type; raise UsageError."""
    kind, key = find_kind(path), format_key(path)
    match shape_of(kind):
        case Leaf():
            return _convert(kind, key, text)
        case Rows():
            raise UsageError(f"{key} is a list of tables", f"ostler config edit   and write [[{key}]]")
        case Map():
            raise UsageError(f"{key} is a table", f"ostler config set {key}.NAME VALUE")
        case Table(fields=known):
            raise UsageError(f"{key} is a table", f"set one of its keys: {', '.join(known)}")


def convert_value(path: KeyPath, value: object) -> Any:
    """Return a value that has a type already, such as one of JSON; raise UsageError if it is another one."""
    kind = find_kind(path)
    if not isinstance(shape_of(kind), Leaf):
        raise UsageError(f"{format_key(path)} is a table", "set one of its keys")
    found = validate(kind, value, lambda _: DEFAULT)
    if found.errors:
        raise UsageError(f"{format_key(path)}: {found.errors[0].reason}")
    return found.values


def _convert(kind: Any, key: str, text: str) -> Any:
    expected = describe_expected(kind)
    try:
        raw = parse_text(kind, text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{key}: expected {expected} as JSON, got {quote(shorten(text))}") from error
    found: LayerValues = validate(kind, raw, lambda _: DEFAULT, strict=False)
    if found.errors:
        raise UsageError(f"{key}: {found.errors[0].reason}")
    return found.values


def _require_name(kind: Any, path: KeyPath) -> None:
    found = validate(dict[kind, Any], {path[-1]: 0}, lambda _: DEFAULT)
    if found.errors:
        raise UsageError(f"{format_key(path)}: {found.errors[0].reason}")


def _unknown(path: KeyPath) -> UsageError:
    key = format_key(path)
    known = [format_key(one) for one in keys_of(Settings)]
    same_name = next((one for one in known if one.rpartition(".")[2] == path[-1]), None)
    near = nearest(key, known) or same_name
    suggestion = f"; did you mean {near}?" if near else ""
    return UsageError(f"unknown setting {quote(shorten(key))}{suggestion}", _LIST)
