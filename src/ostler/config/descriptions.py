"""What each setting means: the comments of the settings types."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Any

from ostler.config import cluster, settings
from ostler.config.checks.shape import Map, Rows, Table, shape_of
from ostler.config.source import KeyPath


@cache
def read_source() -> str:
    """Return the source of all settings types as one text, to find the comments of fields by their lines."""
    text = "\n".join(Path(str(one.__file__)).read_text("utf-8") for one in (settings, cluster))
    return text.replace("from __future__ import annotations\n", "\n")


def read_comment(field: ast.AnnAssign, lines: list[str]) -> str:
    """Return the comment behind a field, or the one line above it."""
    behind = lines[(field.end_lineno or field.lineno) - 1].partition("  # ")[2]
    above = lines[field.lineno - 2].strip()
    return behind.strip() or (above[2:] if above.startswith("# ") else "")


def describe(path: KeyPath) -> str:
    """Return what a setting means; empty for a name that the user chose."""
    kind: Any = settings.Settings
    for part in path[:-1]:
        match shape_of(kind), part:
            case Table(fields=known), str():
                kind = known[part].kind
            case Map(entry=entry), _:
                kind = entry
            case Rows(row=row), _:
                kind = row
            case _:
                return ""
    return _read_comments().get((getattr(kind, "__name__", ""), str(path[-1])), "")


@cache
def _read_comments() -> dict[tuple[str, str], str]:
    lines = read_source().splitlines()
    classes = [node for node in ast.parse(read_source()).body if isinstance(node, ast.ClassDef)]
    return {
        (node.name, ast.unparse(field.target)): read_comment(field, lines)
        for node in classes
        for field in node.body
        if isinstance(field, ast.AnnAssign)
    }
