"""Describe what a type expects, for error messages; a type with a pattern has a title that describes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, cast, get_args, get_origin

from msgspec import ValidationError, inspect

from ostler.config.literal import shorten, to_toml
from ostler.config.secrets.hidden import hide_passwords

_BOUNDS = (("ge", ">="), ("gt", ">"), ("le", "<="), ("lt", "<"))
_NOT_BLANK = (r"matching regex '\\S'", "of length >= 1")  # how msgspec states that a text must not be blank
_MAX_NUMBER = 2**63  # the limit of TOML and SQLite; also excludes nan and infinity


def describe_expected(kind: Any) -> str:
    """Describe a type: `int >= 1`, `one of "ask", "skip"`, `list of str`."""
    if get_origin(kind) is Literal:
        return _choice(get_args(kind))  # type_info sorts the values
    return _describe(inspect.type_info(kind))


def describe_actual(value: object) -> str:
    """Describe a value: short, in the notation of the file, without the password in an address."""
    return "a table" if isinstance(value, Mapping) else shorten(hide_passwords(to_toml(value)))


def explain_invalid(error: ValidationError) -> tuple[str, str]:
    """Return the name of the value that msgspec refuses, empty for the whole, and why."""
    reason, _, place = str(error).partition(" - at `$.")
    is_blank = any(rule in reason for rule in _NOT_BLANK)
    return place.rstrip("`"), "it must not be blank" if is_blank else reason


def find_problem(value: object) -> str:
    """Return why a value of the right type cannot be used; empty when it can."""
    match value:
        case str():
            return "" if _is_text(value) else " (no program accepts that character)"
        case bool() | None:
            return ""
        case int() | float():
            return "" if abs(value) < _MAX_NUMBER else " (out of range)"
        case list() | tuple():
            reasons = (find_problem(item) for item in cast("list[object]", value))
            return next((reason for reason in reasons if reason), "")
        case _:
            return ""


def _is_text(value: str) -> bool:
    return "\0" not in value and not any("\ud800" <= letter <= "\udfff" for letter in value)


def _describe(info: inspect.Type) -> str:
    match info:
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType():
            return "int" + _bounds(info)
        case inspect.FloatType():
            return "float" + _bounds(info)
        case inspect.StrType():
            return "str that is not empty" if info.min_length else "str"
        case _:
            return _describe_other(info)


def _describe_other(info: inspect.Type) -> str:
    match info:
        case inspect.LiteralType() | inspect.EnumType():
            return _choice(_values_of(info))
        case inspect.ListType() | inspect.VarTupleType() | inspect.SetType():
            return f"list of {_describe(info.item_type)}"
        case inspect.DictType() | inspect.StructType():
            return "table"
        case inspect.UnionType(types=types):
            return " or ".join(_describe(one) for one in types if not isinstance(one, inspect.NoneType))
        case inspect.Metadata(type=inner):
            more = cast("dict[str, str] | None", info.extra_json_schema)
            return (more or {}).get("title") or _describe(inner)
        case _:
            return type(info).__name__.removesuffix("Type").lower()


def _bounds(info: inspect.IntType | inspect.FloatType) -> str:
    if info.ge is not None and info.le is not None:
        return f" from {info.ge} to {info.le}"
    limits = ((sign, getattr(info, name)) for name, sign in _BOUNDS)
    return " and".join(f" {sign} {limit}" for sign, limit in limits if limit is not None)


def _values_of(info: inspect.LiteralType | inspect.EnumType) -> tuple[object, ...]:
    if isinstance(info, inspect.LiteralType):
        return info.values
    return tuple(member.value for member in info.cls)


def _choice(words: tuple[object, ...]) -> str:
    listed = ", ".join(to_toml(word) for word in words)
    return listed if len(words) == 1 else f"one of {listed}"


def nearest(name: str, known: Iterable[str], cutoff: float = 0.65) -> str | None:
    """Return the most similar name without regard to case, if the ratio of difflib is at least `cutoff`."""
    from difflib import get_close_matches  # noqa: PLC0415  (needed for an error message only)

    names = {one.lower(): one for one in known}
    found = get_close_matches(name.lower(), list(names), n=1, cutoff=cutoff)
    return names[found[0]] if found else None


def unknown(suggestion: str | None) -> str:
    return f"unknown setting; did you mean {suggestion}?" if suggestion else "unknown setting"
