"""Settings from environment variables: OSTLER_RUN__JOBS is run.jobs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import reduce
from typing import Any, cast

from msgspec import Struct, json

from ostler.config.expect import expected
from ostler.config.literal import quote
from ostler.config.nearest import nearest, unknown
from ostler.config.reading import Reading, failed, merge
from ostler.config.shape import Leaf, Map, Rows, Table, shape_of
from ostler.config.source import Path, Source, dotted
from ostler.config.walk import walk

_PREFIX = "OSTLER_"
_BETWEEN = "__"


class _Target(Struct, frozen=True):
    """The setting that a variable names."""

    path: Path
    kind: Any


class _Refused(Exception):
    """The variable can set nothing; its text says why."""


def read_environment(kind: Any, environ: Mapping[str, str], earlier: dict[str, Any]) -> Reading:
    """What the variables say. Names of the user's own are looked up in the earlier layers' values."""
    named = sorted(name for name in environ if _is_ours(kind, name))
    return reduce(merge, (_variable(kind, name, environ[name], earlier) for name in named), Reading())


def _is_ours(kind: Any, name: str) -> bool:
    """Two underscores make a setting; the bare name of a list of tables is an attempt at one."""
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


def _variable(kind: Any, name: str, text: str, earlier: dict[str, Any]) -> Reading:
    source = Source("environment", name if name.isprintable() else quote(name))
    parts = name.removeprefix(_PREFIX).split(_BETWEEN)
    try:
        target = _resolve(kind, parts, earlier)
    except _Refused as error:
        return failed(source, str(error))
    try:
        value = _parse(target.kind, text)
    except (ValueError, RecursionError):
        return failed(source, f"expected {expected(target.kind)} as JSON", dotted(target.path))
    return walk(kind, _nest(target.path, value), lambda _: source, strict=False)


def _resolve(kind: Any, parts: list[str], earlier: Any) -> _Target:
    path: Path = ()
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
        raise _Refused(f"a variable cannot set a list of tables; write [[{dotted(path)}]] in a settings file")
    return _Target(path, kind)


def _field(part: str, known: list[str], parts: list[str], index: int) -> str:
    upper = {name.upper(): name for name in known}
    if part in upper:
        return upper[part]
    near = nearest(part.upper(), upper)
    raise _Refused(unknown(near and _PREFIX + _BETWEEN.join([*parts[:index], near, *parts[index + 1 :]])))


def _own_name(part: str, earlier: Any, lowers: bool) -> str:
    """A variable's name has no dashes and one case, so a name that a file already uses goes first."""
    names = cast("dict[str, Any]", earlier) if isinstance(earlier, dict) else {}
    plain = _plain(part)
    return next((name for name in names if _plain(name) == plain), part.lower() if lowers else part)


def _plain(name: str) -> str:
    """As a shell can spell it: claude-sonnet-4.5 is claude_sonnet_4_5."""
    return re.sub(r"\W", "_", name.lower())


def _parse(kind: Any, text: str) -> Any:
    """Text as it is where one word is expected, a list split at commas, JSON for the rest."""
    match shape_of(kind):
        case Leaf(is_list=False):
            return text
        case Leaf() if not text.lstrip().startswith("["):
            return [item.strip() for item in text.split(",") if item.strip()]
        case _:
            return json.decode(text)


def _nest(path: Path, value: Any) -> Any:
    return reduce(lambda inner, name: {name: inner}, reversed(path), value)
