"""A measured curve: some series over the same sizes."""

from __future__ import annotations

from msgspec import Struct


class Series(Struct, frozen=True):
    """One line of a plot; a value for each size of its curve, None where it was not measured."""

    name: str
    values: tuple[float | None, ...]


class Curve(Struct, frozen=True):
    """One plot and its table."""

    id: str  # names the picture
    title: str
    size: str  # what grows: "tasks"
    unit: str  # of every value: "ms"
    sizes: tuple[int, ...]
    series: tuple[Series, ...]
    note: str = ""  # what was measured and how
    linear: bool = False  # both scales start at zero; otherwise they are logarithmic


def collect(names: tuple[str, ...], rows: list[tuple[float | None, ...]]) -> tuple[Series, ...]:
    """Return a series for each name from one row of values per size."""
    return tuple(Series(name, column) for name, column in zip(names, zip(*rows, strict=True), strict=True))
