"""One value as YAML writes it on one line, such that nothing in it can be read as anything else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}


def yaml_line(value: object) -> str:
    """Text in double quotes; lists and mappings in brackets. JSON would spoil what is beyond U+FFFF."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return f'"{quoted(value)}"'
        case Mapping():
            pairs = cast(Mapping[str, object], value).items()
            return "{" + ", ".join(f"{key}: {yaml_line(item)}" for key, item in pairs) + "}"
        case Sequence():
            return "[" + ", ".join(yaml_line(item) for item in cast(Sequence[object], value)) + "]"
        case _:
            return str(value)


def quoted(text: str) -> str:
    """What stands between the quotes; all that a terminal would not show is escaped."""
    return "".join(_SHORT.get(sign) or (sign if sign.isprintable() else _escaped(sign)) for sign in text)


def _escaped(sign: str) -> str:
    number = ord(sign)
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"
