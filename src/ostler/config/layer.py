"""The values of one layer of settings, and how layers are merged."""

from __future__ import annotations

from typing import Any, cast

from msgspec import Struct

from ostler.config.literal import shorten
from ostler.config.source import Source
from ostler.errors import Problem


class ConfigError(Struct, frozen=True):
    """One error and where it is."""

    source: Source
    key: str  # empty: the layer as a whole
    reason: str

    @property
    def problem(self) -> Problem:
        source = self.source
        return Problem(source.name or source.layer, source.line, shorten(self.key, 100), self.reason)


class LayerValues(Struct, frozen=True):
    """The values of one or more layers, with the source of each key."""

    values: dict[str, Any] = {}
    sources: dict[str, Source] = {}
    errors: tuple[ConfigError, ...] = ()


def failed_layer(source: Source, reason: str, key: str = "") -> LayerValues:
    """Return a layer with one error: the layer, or a value in it, could not be read."""
    return LayerValues(errors=(ConfigError(source, key, reason),))


def merge_layers(earlier: LayerValues, later: LayerValues) -> LayerValues:
    """Merge two layers; the later wins. Tables merge by key, lists are replaced."""
    kept = {key: source for key, source in earlier.sources.items() if _list_of(key) not in later.sources}
    return LayerValues(
        _over(earlier.values, later.values),
        kept | later.sources,
        earlier.errors + later.errors,
    )


def _over(earlier: Any, later: Any) -> Any:
    if not (isinstance(earlier, dict) and isinstance(later, dict)):
        return later
    below, above = cast("dict[str, Any]", earlier), cast("dict[str, Any]", later)
    return below | {key: _over(below.get(key), value) for key, value in above.items()}


def _list_of(key: str) -> str | None:
    """Return the list that contains a key such as models[0].name."""
    name, bracket, _ = key.partition("[")
    return name if bracket else None
