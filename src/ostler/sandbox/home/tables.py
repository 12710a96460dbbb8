"""Reads, cuts and writes settings files of agents: JSON, with or without comments, and TOML."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any, cast

from ostler.config.literal import quote, to_toml
from ostler.sandbox.home.contents import Table

_STRING = r'"(?:\\.|[^"\\])*"'
_COMMENT = re.compile(rf"({_STRING})|//[^\n]*|/\*.*?\*/", re.DOTALL)
_LAST_COMMA = re.compile(rf"({_STRING})|,(?=\s*[}}\]])", re.DOTALL)


def read_table(path: str, content: bytes) -> Table | None:
    """Return the parsed file; None when it is not a table in the format of its name."""
    try:
        text = content.decode("utf-8-sig")
        found: object = tomllib.loads(text) if path.endswith(".toml") else _parse_json(text)
    except (ValueError, RecursionError):  # both parsers and the decoder raise kinds of ValueError
        return None
    return cast(Table, found) if isinstance(found, dict) else None


def write_table(path: str, table: Table) -> bytes:
    """Return the content of a file; the tables of TOML are written inline."""
    if not path.endswith(".toml"):
        return json.dumps(table, indent=2).encode()
    return "".join(f"{quote(key)} = {to_toml(value)}\n" for key, value in table.items()).encode()


def find_part(table: Table, key: str) -> Any:
    """Return the value of a key such as a.b; None without it."""
    here: Any = table
    for name in key.split("."):
        if not isinstance(here, dict):
            return None
        here = cast(Table, here).get(name)
    return here


def remove_part(table: Table, key: str) -> Table:
    """Return the table without a key such as a.b."""
    name, _, rest = key.partition(".")
    below = table.get(name)
    if rest and isinstance(below, dict):
        return {**table, name: remove_part(cast(Table, below), rest)}
    return table if rest else {one: value for one, value in table.items() if one != name}


def set_part(table: Table, key: str, value: Any) -> Table:
    """Return the table with the value of a key such as a.b."""
    name, _, rest = key.partition(".")
    below = table.get(name)
    inner = cast(Table, below) if isinstance(below, dict) else {}
    return {**table, name: set_part(inner, rest, value) if rest else value}


def merge(first: Table, second: Mapping[str, Any]) -> Table:
    """Return both tables as one; values of the second override those of the first."""
    merged = dict(first)
    for name, value in second.items():
        before = merged.get(name)
        both = isinstance(before, dict) and isinstance(value, dict)
        merged[name] = merge(cast(Table, before), cast(Table, value)) if both else value
    return merged


def _parse_json(text: str) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        # gemini, qwen and opencode accept comments and a comma after the last value.
        plain = _COMMENT.sub(lambda found: found[1] or " ", text)
        return json.loads(_LAST_COMMA.sub(lambda found: found[1] or "", plain))
