"""The public names of the package: imported on first use, small and complete."""

from __future__ import annotations

import pytest

import ostler
import ostler.compat
import ostler.executors


def test_the_public_api_is_small_and_complete() -> None:
    """`dir()` and `__all__` list the same names, and each one can be imported."""
    for module in (ostler, ostler.compat, ostler.executors):
        names = set(module.__all__) - {"__version__"}
        assert names == set(dir(module)) - {"__version__"}
        assert all(getattr(module, name) is not None for name in names)
        assert list(module.__all__) == sorted(module.__all__, key=_order)


def test_an_unknown_name_is_an_attribute_error() -> None:
    """As for any module."""
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        ostler.Nothing  # noqa: B018


def _order(name: str) -> tuple[int, str]:
    kind = 0 if name.isupper() else 1 if name[0].isupper() else 2
    return kind, name
