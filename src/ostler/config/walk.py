"""One walk over a layer's tree beside the types: what is right, and every mistake at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

from msgspec import ValidationError, convert

from ostler.config.expect import expected, got, unusable
from ostler.config.nearest import nearest, unknown
from ostler.config.reading import Mistake, Reading
from ostler.config.shape import Field, Leaf, Map, Rows, Table, keys_of, shape_of
from ostler.config.source import DEFAULT, Path, Source, dotted


def walk(kind: Any, raw: object, source_of: Callable[[Path], Source], *, strict: bool = True) -> Reading:
    """The layer's values by the types of `kind`; not strict: text is read as the type that is expected."""
    walker = _Walker(kind, source_of, strict)
    values = walker.take(kind, raw, ())
    return Reading(values, walker.sources, tuple(sorted(walker.mistakes, key=lambda one: one.source.line)))


def missing(kind: Any, values: Any, sources: dict[str, Source], path: Path = ()) -> Iterator[Mistake]:
    """A mistake for each key that must be set and is in no layer; a value that was refused is None."""
    if values is None:
        return
    match shape_of(kind):
        case Table(fields=known):
            for name, field in known.items():
                if name in values:
                    yield from missing(field.kind, values[name], sources, (*path, name))
                elif field.required:
                    yield Mistake(sources.get(dotted(path), DEFAULT), dotted((*path, name)), "must be set")
            yield from _undecided(known, values, sources.get(dotted(path), DEFAULT), path)
        case Map(entry=entry):
            for name, value in values.items():
                yield from missing(entry, value, sources, (*path, name))
        case Rows(row=row):
            for index, value in enumerate(values):
                yield from missing(row, value, sources, (*path, index))
        case Leaf():
            return


def _undecided(known: dict[str, Field], values: Any, source: Source, path: Path) -> Iterator[Mistake]:
    """A mistake when a table that must have one of some keys has none of them, or several."""
    names = [name for name, field in known.items() if field.alternative]
    if names and sum(name in values for name in names) != 1:
        yield Mistake(source, dotted(path), f"set either {' or '.join(names)}")


class _Walker:
    """The mistakes and sources that one walk collects."""

    def __init__(self, root: Any, source_of: Callable[[Path], Source], strict: bool) -> None:
        self.root = root
        self.source_of = source_of
        self.strict = strict
        self.sources: dict[str, Source] = {}
        self.mistakes: list[Mistake] = []

    def take(self, kind: Any, raw: Any, path: Path) -> Any:
        self.sources[dotted(path)] = self.source_of(path)
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
                return self._refuse(path, f"expected a list of tables, got {got(raw)}")
            case Table() | Map():
                return self._refuse(path, f"expected a table, got {got(raw)}")

    def _table(self, known: dict[str, Field], raw: dict[str, Any], path: Path) -> dict[str, Any]:
        for name in (name for name in raw if name not in known):
            self._refuse((*path, name), unknown(self._suggest(name, known, path)))
        return {
            name: self.take(known[name].kind, value, (*path, name))
            for name, value in raw.items()
            if name in known
        }

    def _map(self, name_kind: Any, entry: Any, raw: dict[str, Any], path: Path) -> dict[str, Any]:
        for name in raw:
            if not _fits(name_kind, name):
                self._refuse((*path, name), f"as a name, expected {expected(name_kind)}")
        return {name: self.take(entry, value, (*path, name)) for name, value in raw.items()}

    def _rows(self, row: Any, raw: list[Any], path: Path) -> list[Any]:
        found = [self.take(row, item, (*path, index)) for index, item in enumerate(raw)]
        match shape_of(row):
            case Table(fields=known):
                for name in (name for name, field in known.items() if field.unique):
                    self._refuse_repeats(found, name, path)
            case _:
                pass
        return found

    def _refuse_repeats(self, rows: list[Any], name: str, path: Path) -> None:
        first: dict[object, int] = {}
        for index, row in enumerate(rows):
            value = cast("dict[str, object]", row).get(name) if row else None
            if value is not None and first.setdefault(value, index) != index:
                earlier = dotted((*path, first[value], name))
                self._refuse((*path, index, name), f"{got(value)} is taken by {earlier}")

    def _leaf(self, kind: Any, raw: object, path: Path) -> Any:
        try:
            value = convert(raw, kind, strict=self.strict)
        except ValidationError:
            return self._refuse(path, f"expected {expected(kind)}, got {got(raw)}")
        if reason := unusable(value):
            self._refuse(path, f"expected {expected(kind)}, got {got(raw)}{reason}")
        return value

    def _refuse(self, path: Path, reason: str) -> None:
        self.mistakes.append(Mistake(self.source_of(path), dotted(path), reason))

    def _suggest(self, name: str, known: dict[str, Field], path: Path) -> str | None:
        """A sibling that is spelled alike, else the same name in another section."""
        if near := nearest(name, known):
            return dotted((*path, near))
        return next((dotted(key) for key in keys_of(self.root) if key[-1] == name), None)


def _fits(kind: Any, name: str) -> bool:
    try:
        return not unusable(convert(name, kind))
    except ValidationError:
        return False
