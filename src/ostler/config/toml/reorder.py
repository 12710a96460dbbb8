"""Put the tables of a list, such as [[models]], into another order; their text and comments stay."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Any, cast

from ostler.config.toml.edit import CannotEdit
from ostler.config.toml.scan import Statement, list_statements


def reorder_rows(text: str, name: str, order: Sequence[int]) -> str:
    """Return the text with the tables of [[name]] in this order of their indexes; raise CannotEdit."""
    tree: dict[str, Any] = tomllib.loads(text)
    rows = cast("list[Any]", tree.get(name, []))
    if sorted(order) != list(range(len(rows))) or not rows:
        raise CannotEdit(f"{name} has other tables")
    blocks = _find_blocks(text, name, len(rows))
    joined = text[: blocks[0][0]]
    for place, index in enumerate(order):
        start, end = blocks[index]
        block = text[start:end]
        joined += block if block.endswith("\n") else f"{block}\n"
        between = text[blocks[place][1] : blocks[place + 1][0]] if place + 1 < len(blocks) else ""
        joined += between
    changed = joined + text[blocks[-1][1] :]
    if tomllib.loads(changed) != {**tree, name: [rows[index] for index in order]}:
        raise CannotEdit("the result has other values")
    return changed


def _find_blocks(text: str, name: str, count: int) -> list[tuple[int, int]]:
    """Return the span of each table: from the comment above its header to the next header of another one."""
    headers = [one for one in list_statements(text) if not one.value]
    spans: list[tuple[int, int]] = []
    for index in range(count):
        own = [at for at, one in enumerate(headers) if one.path[:2] == (name, index)]
        if not own or own != list(range(own[0], own[-1] + 1)) or headers[own[0]].path != (name, index):
            raise CannotEdit(f"{name} is not written as [[{name}]]")
        after = headers[own[-1] + 1] if own[-1] + 1 < len(headers) else None
        end = len(text) if after is None else _find_comment(text, after)
        spans.append((_find_comment(text, headers[own[0]]), end))
    return spans


def _find_comment(text: str, header: Statement) -> int:
    """Return where the comment directly above a header begins, or the header."""
    start = text.rfind("\n", 0, header.start) + 1
    while start and (above := text.rfind("\n", 0, start - 1) + 1) < start:
        if not text[above:start].lstrip().startswith("#"):
            break
        start = above
    return start
