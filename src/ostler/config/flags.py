"""Settings from the command line's own flags."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

from ostler.config.reading import Reading, merge
from ostler.config.source import Source
from ostler.config.walk import walk


def read_flags(kind: Any, flags: Mapping[str, object]) -> Reading:
    """What the flags say, by dotted key; None is a flag that was not given."""
    given = {key: value for key, value in flags.items() if value is not None}
    return reduce(merge, (_flag(kind, key, value) for key, value in given.items()), Reading())


def _flag(kind: Any, key: str, value: object) -> Reading:
    names = key.split(".")
    source = Source("flag", "--" + names[-1].replace("_", "-"))
    raw: Any = reduce(lambda inner, name: {name: inner}, reversed(names), value)
    return walk(kind, raw, lambda _: source)
