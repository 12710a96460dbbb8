"""The command line as text, whatever the locale says about its bytes."""

from __future__ import annotations

import os


def read_arguments(words: list[str]) -> list[str]:
    """The same words; bytes that the locale could not read are read as UTF-8, or refused."""
    return [word if word.isascii() else _read(word) for word in words]


def _read(word: str) -> str:
    try:
        word.encode()
    except UnicodeEncodeError:  # surrogates stand for bytes that the locale does not know
        try:
            return os.fsencode(word).decode()
        except UnicodeError:
            from ostler.errors import UsageError  # noqa: PLC0415  (the help needs no table of errors)

            raise UsageError(
                f"the argument {word!r} is not UTF-8", "give longer texts with -f FILE"
            ) from None
    return word
