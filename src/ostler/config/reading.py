"""What one layer of settings says, and how a later layer goes over an earlier one."""

from __future__ import annotations

from typing import Any, cast

from msgspec import Struct

from ostler.config.literal import shorten
from ostler.config.source import Source


class Mistake(Struct, frozen=True):
    """One thing that is wrong, and where."""

    source: Source
    key: str  # empty: the layer as a whole
    reason: str

    @property
    def line(self) -> str:
        return ": ".join(filter(None, (self.source.place, shorten(self.key, 100), self.reason)))


class Reading(Struct, frozen=True):
    """The values of a layer, or of several, with the source of each key."""

    values: dict[str, Any] = {}
    sources: dict[str, Source] = {}
    mistakes: tuple[Mistake, ...] = ()


def failed(source: Source, reason: str, key: str = "") -> Reading:
    """A layer, or one value of it, that could not be read."""
    return Reading(mistakes=(Mistake(source, key, reason),))


def merge(earlier: Reading, later: Reading) -> Reading:
    """Both, where the later one wins; tables grow key by key, lists are replaced."""
    kept = {key: source for key, source in earlier.sources.items() if _list_of(key) not in later.sources}
    return Reading(
        _over(earlier.values, later.values),
        kept | later.sources,
        earlier.mistakes + later.mistakes,
    )


def _over(earlier: Any, later: Any) -> Any:
    if not (isinstance(earlier, dict) and isinstance(later, dict)):
        return later
    below, above = cast("dict[str, Any]", earlier), cast("dict[str, Any]", later)
    return below | {key: _over(below.get(key), value) for key, value in above.items()}


def _list_of(key: str) -> str | None:
    """The list that a key such as models[0].name stands in."""
    name, bracket, _ = key.partition("[")
    return name if bracket else None
