"""Public names that are imported, and regular expressions that are compiled, on first use.

So importing a module stays cheap.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import AnyStr, cast


def lazy_names(
    module: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a module whose names are defined in other modules."""

    def get(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    def list_names() -> list[str]:
        return sorted(homes)

    return get, list_names


class _LazyPattern:
    def __init__(self, compile_pattern: Callable[[], object]) -> None:
        self._compile = compile_pattern

    def __getattr__(self, name: str) -> object:
        # Stored, so that it is called directly from then on.
        found = self.__dict__[name] = getattr(self._compile(), name)
        return found


def lazy_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a regular expression that is compiled on first use.

    Compiling takes up to milliseconds, and a command uses few of the patterns in the modules that it loads.
    """
    return cast("re.Pattern[AnyStr]", _LazyPattern(lambda: re.compile(pattern, flags)))
