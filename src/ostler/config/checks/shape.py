"""The structure of settings types, so that one validator handles every section."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from msgspec import NODEFAULT, Struct
from msgspec.structs import FieldInfo, fields

from ostler.config.settings import ALTERNATIVE, AS_WRITTEN, UNIQUE
from ostler.config.source import KeyPath


class Field(Struct, frozen=True):
    kind: Any
    required: bool
    unique: bool  # among the tables of a list
    alternative: bool  # its table must have exactly one of these


class Table(Struct, frozen=True):
    """A section with known keys."""

    fields: dict[str, Field]


class Map(Struct, frozen=True):
    """A section whose keys are chosen by the user; layers merge by key."""

    name: Any
    entry: Any
    lowers_names: bool  # when a key comes from an environment variable


class Rows(Struct, frozen=True):
    """A list of tables; a later layer replaces the whole list."""

    row: Any


class Leaf(Struct, frozen=True):
    """One value, validated by msgspec."""

    kind: Any
    is_list: bool


Shape = Table | Map | Rows | Leaf


@cache
def shape_of(kind: Any) -> Shape:
    bare = _bare(kind)
    origin, args = get_origin(bare), get_args(bare)
    if _is_struct(bare):
        return Table({field.encode_name: _field(field) for field in fields(bare)})
    if origin is dict:
        return Map(args[0], args[1], not _is_marked(args[0], AS_WRITTEN))
    is_list = origin in (list, tuple)
    if is_list and _is_struct(_bare(args[0])):
        return Rows(args[0])
    return Leaf(kind, is_list)


def keys_of(kind: Any, path: KeyPath = ()) -> Iterator[KeyPath]:
    """Yield every key that does not depend on names chosen by the user."""
    match shape_of(kind):
        case Table(fields=known):
            for name, field in known.items():
                yield from keys_of(field.kind, (*path, name))
        case _:
            yield path


def _bare(kind: Any) -> Any:
    """Return the type without constraints and without `| None`."""
    if get_origin(kind) is Annotated:
        return _bare(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        others = [arg for arg in get_args(kind) if arg is not NoneType]
        return _bare(others[0]) if len(others) == 1 else kind
    return kind


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)


def _field(field: FieldInfo) -> Field:
    required = field.default is NODEFAULT and field.default_factory is NODEFAULT
    unique, alternative = _is_marked(field.type, UNIQUE), _is_marked(field.type, ALTERNATIVE)
    return Field(field.type, required, unique, alternative)


def _is_marked(kind: Any, mark: str) -> bool:
    return mark in getattr(kind, "__metadata__", ())
