"""Arguments are text, whatever the locale made of their bytes."""

from __future__ import annotations

import pytest

from ostler.cli.arguments import read_arguments
from ostler.errors import UsageError


@pytest.mark.parametrize("word", ["", "--json", "Grüße", "你好 😀", "\x01"])
def test_text_stays_as_it_is(word: str) -> None:
    """Nothing that the locale could read is touched."""
    assert read_arguments([word]) == [word]


def test_bytes_of_an_ascii_locale_are_read_as_utf_8() -> None:
    """LC_ALL=POSIX: the bytes come as surrogates, one by one."""
    assert read_arguments(["new", "Grüße 你好".encode().decode("ascii", "surrogateescape")]) == [
        "new",
        "Grüße 你好",
    ]


def test_bytes_that_are_no_text_are_refused() -> None:
    """One sentence with the word, and exit 2."""
    with pytest.raises(UsageError, match=r"udcff") as caught:
        read_arguments(["new", "a \udcff b"])
    assert caught.value.exit == 2
