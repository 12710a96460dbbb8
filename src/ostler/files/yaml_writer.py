"""Write values as YAML without loading a YAML library, which takes milliseconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}


def write_yaml_value(value: object) -> str:
    """Write a value as one line of YAML; JSON escapes characters beyond U+FFFF differently."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return f'"{escape_yaml(value)}"'
        case Mapping():
            pairs = cast(Mapping[str, object], value).items()
            return "{" + ", ".join(f"{key}: {write_yaml_value(item)}" for key, item in pairs) + "}"
        case Sequence():
            return "[" + ", ".join(write_yaml_value(item) for item in cast(Sequence[object], value)) + "]"
        case _:
            return str(value)


def escape_yaml(text: str) -> str:
    """Return the text between the quotes, with everything unprintable escaped."""
    return "".join(_SHORT.get(sign) or (sign if sign.isprintable() else _escaped(sign)) for sign in text)


def _escaped(sign: str) -> str:
    number = ord(sign)
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"
