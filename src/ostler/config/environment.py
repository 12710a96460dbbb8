"""Settings from environment variables (OSTLER_RUN__JOBS is run.jobs) and from command-line flags."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import reduce
from typing import Any, cast

from msgspec import Struct, json

from ostler.config.checks.expect import describe_expected, nearest, unknown
from ostler.config.checks.shape import Leaf, Map, Rows, Table, shape_of
from ostler.config.checks.validate import validate
from ostler.config.layer import LayerValues, failed_layer, merge_layers
from ostler.config.literal import quote
from ostler.config.source import KeyPath, Source, format_key

_PREFIX = "OSTLER_"
_BETWEEN = "__"


class _Target(Struct, frozen=True):
    """The setting that a variable names."""

    path: KeyPath
    kind: Any


class _Refused(Exception):
    """Raised for a variable that cannot set anything; its text is the reason."""


def read_environment(kind: Any, environ: Mapping[str, str], earlier: dict[str, Any]) -> LayerValues:
    """Read the variables; names chosen by the user are looked up in the values of earlier layers."""
    named = sorted(name for name in environ if _is_ours(kind, name))
    return reduce(
        merge_layers, (_variable(kind, name, environ[name], earlier) for name in named), LayerValues()
    )


def _is_ours(kind: Any, name: str) -> bool:
    """Return whether a variable is a setting: two underscores, or the bare name of a list of tables."""
    if not name.startswith(_PREFIX):
        return False
    return _BETWEEN in name or _is_list_of_tables(kind, name.removeprefix(_PREFIX))


def _is_list_of_tables(kind: Any, name: str) -> bool:
    match shape_of(kind):
        case Table(fields=known):
            return any(
                key.upper() == name and isinstance(shape_of(field.kind), Rows) for key, field in known.items()
            )
        case _:
            return False


def _variable(kind: Any, name: str, text: str, earlier: dict[str, Any]) -> LayerValues:
    source = Source("environment", name if name.isprintable() else quote(name))
    parts = name.removeprefix(_PREFIX).split(_BETWEEN)
    try:
        target = _resolve(kind, parts, earlier)
    except _Refused as error:
        return failed_layer(source, str(error))
    try:
        value = parse_text(target.kind, text)
    except (ValueError, RecursionError):
        return failed_layer(
            source, f"expected {describe_expected(target.kind)} as JSON", format_key(target.path)
        )
    return validate(kind, _nest(target.path, value), lambda _: source, strict=False)


def _resolve(kind: Any, parts: list[str], earlier: Any) -> _Target:
    path: KeyPath = ()
    for index, part in enumerate(parts):
        match shape_of(kind):
            case Table(fields=known):
                name = _field(part, list(known), parts, index)
                kind = known[name].kind
            case Map(lowers_names=False, entry=entry) if part and isinstance(shape_of(entry), Leaf):
                return _Target((*path, _BETWEEN.join(parts[index:])), entry)
            case Map(entry=kind, lowers_names=lowers) if part:
                name = _own_name(part, earlier, lowers)
            case Rows():
                break
            case Map() | Leaf():
                raise _Refused(unknown(None))
        path = (*path, name)
        earlier = cast("dict[str, Any]", earlier).get(name) if isinstance(earlier, dict) else None
    if isinstance(shape_of(kind), Rows):
        raise _Refused(
            f"a variable cannot set a list of tables; write [[{format_key(path)}]] in a settings file"
        )
    return _Target(path, kind)


def _field(part: str, known: list[str], parts: list[str], index: int) -> str:
    upper = {name.upper(): name for name in known}
    if part in upper:
        return upper[part]
    near = nearest(part.upper(), upper)
    raise _Refused(unknown(near and _PREFIX + _BETWEEN.join([*parts[:index], near, *parts[index + 1 :]])))


def _own_name(part: str, earlier: Any, lowers: bool) -> str:
    """Return the user's name that a variable means: variables have no dashes and one case."""
    names = cast("dict[str, Any]", earlier) if isinstance(earlier, dict) else {}
    plain = _plain(part)
    return next((name for name in names if _plain(name) == plain), part.lower() if lowers else part)


def _plain(name: str) -> str:
    """Spell a name as a shell variable: claude-sonnet-4.5 is claude_sonnet_4_5."""
    return re.sub(r"\W", "_", name.lower())


def parse_text(kind: Any, text: str) -> Any:
    """Parse the text of a variable: plain text for one value, commas for a list, JSON for the rest."""
    match shape_of(kind):
        case Leaf(is_list=False):
            return text
        case Leaf() if not text.lstrip().startswith("["):
            return [item.strip() for item in text.split(",") if item.strip()]
        case _:
            return json.decode(text)


def _nest(path: KeyPath, value: Any) -> Any:
    return reduce(lambda inner, name: {name: inner}, reversed(path), value)


def read_flags(kind: Any, flags: Mapping[str, object]) -> LayerValues:
    """Read the flags by dotted key; None is a flag that was not given."""
    given = {key: value for key, value in flags.items() if value is not None}
    return reduce(merge_layers, (_flag(kind, key, value) for key, value in given.items()), LayerValues())


def _flag(kind: Any, key: str, value: object) -> LayerValues:
    names = key.split(".")
    source = Source("flag", "--" + names[-1].replace("_", "-"))
    raw: Any = reduce(lambda inner, name: {name: inner}, reversed(names), value)
    return validate(kind, raw, lambda _: source)
