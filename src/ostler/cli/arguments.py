"""Decode the command line as UTF-8, independent of the locale."""

from __future__ import annotations

import os


def decode_arguments(argv: list[str]) -> list[str]:
    """Return the arguments; decode those that the locale could not as UTF-8, or raise UsageError."""
    return [one if one.isascii() else _decode(one) for one in argv]


def _decode(argument: str) -> str:
    try:
        argument.encode()
    except UnicodeEncodeError:
        # Python marks bytes that the locale cannot decode with surrogates.
        try:
            return os.fsencode(argument).decode()
        except UnicodeError:
            # Not needed for the help.
            from ostler.errors import UsageError  # noqa: PLC0415

            raise UsageError(
                f"the argument {argument!r} is not UTF-8", "pass longer texts with -f FILE"
            ) from None
    return argument
