"""Colour the lines of a file on a terminal, by the language of its name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pygments.lexer import Lexer

# The 16 colours of the terminal, so that they fit its background.
_STYLES = (
    ("Token.Comment", "2"),
    ("Token.Keyword", "35"),
    ("Token.Literal.String", "33"),
    ("Token.Literal.Number", "36"),
    ("Token.Name.Function", "34"),
    ("Token.Name.Class", "34"),
    ("Token.Name.Tag", "34"),
    ("Token.Name.Decorator", "34"),
    ("Token.Generic.Heading", "1"),
    ("Token.Generic.Subheading", "1"),
)


def colour_code(path: str, lines: Sequence[str]) -> list[str]:
    """Return the lines with colours; as they are for a file in no known language."""
    lexer = _find_lexer(path)
    if lexer is None:
        return [*lines]
    coloured, current = list[str](), list[str]()
    for kind, text in lexer.get_tokens("\n".join(lines)):
        style = _find_style(str(kind))
        for number, part in enumerate(text.split("\n")):
            if number:
                coloured.append("".join(current))
                current = []
            if part:
                current.append(f"\x1b[{style}m{part}\x1b[0m" if style and part.strip() else part)
    coloured.append("".join(current))
    return coloured if len(coloured) == len(lines) else [*lines]


@lru_cache(maxsize=256)
def _find_style(kind: str) -> str:
    return next((style for name, style in _STYLES if kind == name or kind.startswith(f"{name}.")), "")


@lru_cache(maxsize=64)
def _find_lexer(path: str) -> Lexer | None:
    # Most commands show no code, and the import is slow.
    from pygments.lexers import (  # noqa: PLC0415
        get_lexer_for_filename,  # pyright: ignore[reportUnknownVariableType]
    )
    from pygments.util import ClassNotFound  # noqa: PLC0415

    try:
        found: Lexer = get_lexer_for_filename(path, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None
    return found
