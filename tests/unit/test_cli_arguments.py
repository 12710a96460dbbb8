"""Arguments are decoded as UTF-8 in every locale."""

from __future__ import annotations

import pytest

from ostler.cli.arguments import decode_arguments
from ostler.errors import UsageError


@pytest.mark.parametrize("word", ["", "--json", "Grüße", "你好 😀", "\x01"])
def test_text_stays_as_it_is(word: str) -> None:
    """Text that the locale decoded is unchanged."""
    assert decode_arguments([word]) == [word]


def test_bytes_of_an_ascii_locale_are_read_as_utf_8() -> None:
    """With LC_ALL=POSIX the bytes arrive as surrogates."""
    assert decode_arguments(["new", "Grüße 你好".encode().decode("ascii", "surrogateescape")]) == [
        "new",
        "Grüße 你好",
    ]


def test_bytes_that_are_no_text_are_refused() -> None:
    """One line with the argument, and exit 2."""
    with pytest.raises(UsageError, match=r"udcff") as caught:
        decode_arguments(["new", "a \udcff b"])
    assert caught.value.exit == 2
