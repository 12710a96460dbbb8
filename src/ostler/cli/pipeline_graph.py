"""A pipeline drawn as a graph of lines: rows of steps, each below what it needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from ostler.engine.pipeline import Node

_T = TypeVar("_T", bound=Node)


def draw(rows: Sequence[Sequence[_T]], about: Callable[[_T], str]) -> list[str]:
    """One line for each step, with what there is to say about it; several in a row hang on one branch."""
    names = max((len(node.id) for row in rows for node in row), default=0)
    lines: list[str] = []
    above: set[str] = set()
    for row in rows:
        if lines:
            lines.append("│")
        for number, node in enumerate(row, 1):
            twig = "" if len(row) == 1 else "└─ " if number == len(row) else "├─ "
            odd = f"after {', '.join(node.after)}  " if set(node.after) != above else ""
            lines.append(f"{twig}{node.id:<{names + 3 - len(twig)}}  {odd}{about(node)}".rstrip())
        above = {node.id for node in row}
    return lines
