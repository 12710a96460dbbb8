"""Validate a layer against the settings types and collect every error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

from msgspec import ValidationError, convert, to_builtins
from msgspec.structs import replace

from ostler.config.checks.expect import describe_actual, describe_expected, find_problem, nearest, unknown
from ostler.config.checks.shape import Field, Leaf, Map, Rows, Table, keys_of, shape_of
from ostler.config.layer import ConfigError, LayerValues
from ostler.config.source import DEFAULT, KeyPath, Source, format_key
from ostler.errors import Code, UsageError

_T = TypeVar("_T")


def validate(
    kind: Any, raw: object, source_of: Callable[[KeyPath], Source], *, strict: bool = True
) -> LayerValues:
    """Return the layer's values by the types of `kind`; without strict, text is converted to the expected
    type.
    """
    walker = _Validator(kind, source_of, strict)
    values = walker.validate(kind, raw, ())
    return LayerValues(values, walker.sources, tuple(sorted(walker.errors, key=lambda one: one.source.line)))


def convert_settings(kind: type[_T], value: object, name: str) -> _T:
    """Return what a program passes as settings of this type. Raises UsageError with a line per mistake."""
    source, hint = Source("flag", name), "correct it in the argument"
    try:
        raw = to_builtins(value, str_keys=True)
    except TypeError as error:
        raise UsageError(f"{name}: {error}", hint, Code.CONFIG_INVALID) from None
    found = validate(kind, raw, lambda _: source)
    errors = (*found.errors, *find_missing(kind, found.values, found.sources))
    if errors:
        lines = (replace(one, source=source).problem.text for one in errors)
        raise UsageError("\n".join(lines), hint, Code.CONFIG_INVALID)
    return convert(found.values, kind)


def find_missing(
    kind: Any, values: Any, sources: dict[str, Source], path: KeyPath = ()
) -> Iterator[ConfigError]:
    """Yield an error for each required key that no layer sets; a refused value is None."""
    if values is None:
        return
    match shape_of(kind):
        case Table(fields=known):
            for name, field in known.items():
                if name in values:
                    yield from find_missing(field.kind, values[name], sources, (*path, name))
                elif field.required:
                    yield ConfigError(
                        sources.get(format_key(path), DEFAULT), format_key((*path, name)), "must be set"
                    )
            yield from _find_undecided(known, values, sources.get(format_key(path), DEFAULT), path)
        case Map(entry=entry):
            for name, value in values.items():
                yield from find_missing(entry, value, sources, (*path, name))
        case Rows(row=row):
            for index, value in enumerate(values):
                yield from find_missing(row, value, sources, (*path, index))
        case Leaf():
            return


def _find_undecided(
    known: dict[str, Field], values: Any, source: Source, path: KeyPath
) -> Iterator[ConfigError]:
    """Yield an error when a table has none or several of its alternative keys."""
    names = [name for name, field in known.items() if field.alternative]
    if names and sum(name in values for name in names) != 1:
        yield ConfigError(source, format_key(path), f"set either {' or '.join(names)}")


class _Validator:
    """Collects errors and sources while validating one layer."""

    def __init__(self, root: Any, source_of: Callable[[KeyPath], Source], strict: bool) -> None:
        self.root = root
        self.source_of = source_of
        self.strict = strict
        self.sources: dict[str, Source] = {}
        self.errors: list[ConfigError] = []

    def validate(self, kind: Any, raw: Any, path: KeyPath) -> Any:
        self.sources[format_key(path)] = self.source_of(path)
        match shape_of(kind):
            case Table(fields=known) if isinstance(raw, dict):
                return self._table(known, cast("dict[str, Any]", raw), path)
            case Map(name=name, entry=entry) if isinstance(raw, dict):
                return self._map(name, entry, cast("dict[str, Any]", raw), path)
            case Rows(row=row) if isinstance(raw, (list, tuple)):
                return self._rows(row, cast("list[Any]", raw), path)
            case Leaf(kind=leaf):
                return self._leaf(leaf, raw, path)
            case Rows():
                return self._refuse(path, f"expected a list of tables, got {describe_actual(raw)}")
            case Table() | Map():
                return self._refuse(path, f"expected a table, got {describe_actual(raw)}")

    def _table(self, known: dict[str, Field], raw: dict[str, Any], path: KeyPath) -> dict[str, Any]:
        for name in (name for name in raw if name not in known):
            self._refuse((*path, name), unknown(self._suggest(name, known, path)))
        return {
            name: self.validate(known[name].kind, value, (*path, name))
            for name, value in raw.items()
            if name in known
        }

    def _map(self, name_kind: Any, entry: Any, raw: dict[str, Any], path: KeyPath) -> dict[str, Any]:
        for name in raw:
            if not _fits(name_kind, name):
                self._refuse((*path, name), f"as a name, expected {describe_expected(name_kind)}")
        return {name: self.validate(entry, value, (*path, name)) for name, value in raw.items()}

    def _rows(self, row: Any, raw: list[Any], path: KeyPath) -> list[Any]:
        found = [self.validate(row, item, (*path, index)) for index, item in enumerate(raw)]
        match shape_of(row):
            case Table(fields=known):
                for name in (name for name, field in known.items() if field.unique):
                    self._refuse_repeats(found, name, path)
            case _:
                pass
        return found

    def _refuse_repeats(self, rows: list[Any], name: str, path: KeyPath) -> None:
        first: dict[object, int] = {}
        for index, row in enumerate(rows):
            value = cast("dict[str, object]", row).get(name) if row else None
            if value is not None and first.setdefault(value, index) != index:
                earlier = format_key((*path, first[value], name))
                self._refuse((*path, index, name), f"{describe_actual(value)} is taken by {earlier}")

    def _leaf(self, kind: Any, raw: object, path: KeyPath) -> Any:
        try:
            value = convert(raw, kind, strict=self.strict)
        except ValidationError:
            return self._refuse(path, f"expected {describe_expected(kind)}, got {describe_actual(raw)}")
        if reason := find_problem(value):
            self._refuse(path, f"expected {describe_expected(kind)}, got {describe_actual(raw)}{reason}")
        return value

    def _refuse(self, path: KeyPath, reason: str) -> None:
        self.errors.append(ConfigError(self.source_of(path), format_key(path), reason))

    def _suggest(self, name: str, known: dict[str, Field], path: KeyPath) -> str | None:
        """Return the same key in another section, else a similar sibling key."""
        if elsewhere := next((format_key(key) for key in keys_of(self.root) if key[-1] == name), None):
            return elsewhere
        return format_key((*path, near)) if (near := nearest(name, known)) else None


def _fits(kind: Any, name: str) -> bool:
    try:
        return not find_problem(convert(name, kind))
    except ValidationError:
        return False
