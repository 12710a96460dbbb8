"""The secrets that Ostler holds: values that are redacted wherever they occur, in every encoding."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from threading import RLock
from typing import NamedTuple

from ostler.secrets.variables import list_secret_variables

MIN_LENGTH = 8  # a shorter value is found in ordinary text
_NOT_IN_A_MARK = re.compile(r"[^A-Za-z0-9_.-]")

Source = Callable[[], Iterable[tuple[str, str]]]
"""Returns names and values; it is called once, when something is redacted for the first time."""


class Needle(NamedTuple):
    """One encoding of a registered secret."""

    form: bytes
    dense: bytes  # without spaces and line breaks
    kind: str


class KnownSecrets(NamedTuple):
    """All registered secrets, ready for searching."""

    names: tuple[str, ...]
    needles: tuple[Needle, ...]
    words: tuple[bytes, ...]  # needles and keywords without spaces, sorted
    longest: int
    characters: bytes  # all that occur in needles, and those that end an escape

    def is_beginning(self, text: bytes) -> bool:
        """Return whether a longer word starts with this text."""
        at = bisect_right(self.words, text)
        return at < len(self.words) and self.words[at].startswith(text)


class SecretRegistry:
    """Collects the secrets of a process; sources are read on first use, as most commands redact nothing."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._sources: list[Source] = []
        self._kinds: dict[bytes, str] = {}
        self._known: KnownSecrets | None = None

    def add_source(self, source: Source) -> None:
        """Register what the source returns when something is redacted."""
        with self._lock:
            self._sources.append(source)

    def register(self, values: Iterable[tuple[str, str]]) -> None:
        """Redact these values from now on; a value shorter than MIN_LENGTH is ignored."""
        with self._lock:
            for name, value in values:
                secret = value.strip().encode("utf-8", "surrogateescape")
                if len(secret) >= MIN_LENGTH and secret not in self._kinds:
                    self._kinds[secret] = _NOT_IN_A_MARK.sub("_", name)
                    self._known = None

    def known(self) -> KnownSecrets:
        """Return the registered secrets, including those of new sources."""
        known = self._known
        if known is None or self._sources:
            with self._lock:
                while self._sources:
                    self.register(self._sources.pop()())
                known = self._known = self._known or _prepare(self._kinds)
        return known

    def clear(self) -> None:
        """Forget everything; for tests."""
        with self._lock:
            self._sources.clear()
            self._kinds.clear()
            self._known = None


def _prepare(kinds: Mapping[bytes, str]) -> KnownSecrets:
    # Only a command that redacts needs them.
    from ostler.secrets.encodings import encode_all, squeeze  # noqa: PLC0415
    from ostler.secrets.rules import KEYWORDS_WITH_SPACES  # noqa: PLC0415

    needles = tuple(
        Needle(form, squeeze(form), kind)
        for secret, kind in kinds.items()
        for form in sorted(encode_all(secret))
    )
    words = [one.dense for one in needles] + [squeeze(word.encode()) for word in KEYWORDS_WITH_SPACES]
    characters = bytes({*b"".join(words), *b"\\nrt"})
    return KnownSecrets(
        tuple(kinds.values()), needles, tuple(sorted({*words})), max(map(len, words)), characters
    )


SECRETS = SecretRegistry()
"""The secrets of this process; every writer uses it."""
SECRETS.add_source(lambda: list_secret_variables(os.environ))
