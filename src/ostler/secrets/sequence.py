"""Redacts texts that follow each other, such as the events of an agent: a private key may be in several."""

from __future__ import annotations

from collections.abc import Sequence

from ostler.secrets.find import find_secrets
from ostler.secrets.key_lines import OpenKey, find_key_lines
from ostler.secrets.redact import replace_found


class RedactingSequence:
    """Returns the redacted texts; it knows whether the first lines of a private key were in earlier ones."""

    def __init__(self) -> None:
        self._opened: OpenKey | None = None

    def redact(self, texts: Sequence[bytes]) -> Sequence[bytes]:
        """Return the next texts without secrets, each the same object if it has none.

        They are searched together, which is much cheaper for many short ones. What is found may be of two
        texts, so each one is then searched alone.
        """
        joined = b"\n".join(texts)
        if find_secrets(joined, 0, self._opened):
            return [*map(self._redact, texts)]
        self._opened = find_key_lines(joined, 0, len(joined), self._opened).opened
        return texts

    def _redact(self, text: bytes) -> bytes:
        found = find_secrets(text, 0, self._opened)
        self._opened = find_key_lines(text, 0, len(text), self._opened).opened
        return replace_found(text, found) if found else text
