"""The private home directory of a sandbox."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.calls.sandbox.open import _find_home


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"HOME": "/home/me"}, "/home/me"),
        ({"HOME": "/home/me/"}, "/home/me"),
        ({"HOME": "/home/../srv/me"}, "/srv/me"),
        ({"HOME": "/"}, "/root"),
        ({"HOME": "//"}, "/root"),
        ({"HOME": "relative"}, "/root"),
        ({"HOME": ""}, "/root"),
        ({}, "/root"),
    ],
)
def test_the_path_of_the_home_directory(environ: dict[str, str], expected: str) -> None:
    """It is that of the user, unless nothing can be mounted there."""
    assert _find_home(environ) == Path(expected)
