"""The entries of sandbox.home: FILE or FILE#KEY below the home directory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ostler.config.layer import ConfigError, LayerValues
from ostler.config.source import DEFAULT
from ostler.errors import PathEscape
from ostler.files.paths import split_beneath

KEY_MARK = "#"  # between a file and its key
_KEY = "sandbox.home"


def parse_home_file(entry: str) -> tuple[str, str]:
    """Return the path below the home directory and the key, or ""; raise PathEscape for another path."""
    path, _, key = entry.removeprefix("~/").partition(KEY_MARK)
    return "/".join(split_beneath(path)), key


def find_invalid_home_files(reading: LayerValues, entries: Iterable[object]) -> Iterator[ConfigError]:
    """Yield an error for each entry that is not a path below the home directory."""
    for entry in entries:
        try:
            parse_home_file(str(entry))
        except PathEscape as error:
            yield ConfigError(reading.sources.get(_KEY, DEFAULT), _KEY, str(error))
