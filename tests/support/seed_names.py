"""The form of the tables of seed names."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

Named = Any
Check = Callable[[Named, Path], object]
Row = tuple[str, str, Check]
"""The name, its module below ostler, and a check of one behaviour."""


def find_name(name: str, home: str) -> Named:
    """Return a name from `ostler.compat`, or from its module when it is not one of the public names."""
    compat = import_module("ostler.compat")
    module = compat if name in compat.__all__ else import_module(f"ostler.{home}")
    return getattr(module, name)
