"""Read a settings file, with the line of every value."""

from __future__ import annotations

import errno
import re
import stat
import tomllib
from pathlib import Path
from typing import Any

from ostler.config.checks.validate import validate
from ostler.config.layer import LayerValues, failed_layer
from ostler.config.source import Layer, Source
from ostler.config.toml.scan import key_lines, line_of
from ostler.text import describe_os_error

_MAX_BYTES = 256 * 1024
_PLACE = r" \(at (?:line (\d+), column (\d+)|end of document)\)$"


def read_file(kind: Any, path: Path, name: str, layer: Layer) -> LayerValues:
    """Read the file; a missing file is an empty layer."""
    whole = Source(layer, name)
    try:
        data = _read_bytes(path)
    except (FileNotFoundError, NotADirectoryError):
        return LayerValues()
    except OSError as error:
        return failed_layer(whole, f"cannot be read: {describe_os_error(error)}")
    return read_text(kind, data, whole)


def read_text(kind: Any, data: bytes, whole: Source) -> LayerValues:
    """Validate the content of a file."""
    try:
        return _read_text(kind, data.decode("utf-8-sig"), whole)
    except UnicodeDecodeError as error:
        return failed_layer(_at(whole, data.count(b"\n", 0, error.start) + 1), "not UTF-8 text")


def _read_bytes(path: Path) -> bytes:
    """Return the file's bytes; raise OSError for anything but a small regular file."""
    about = path.stat()
    if not stat.S_ISREG(about.st_mode):
        is_folder = stat.S_ISDIR(about.st_mode)
        raise OSError(errno.EINVAL, "it is a directory" if is_folder else "it is not a regular file")
    if about.st_size > _MAX_BYTES:
        raise OSError(errno.EFBIG, f"it is larger than {_MAX_BYTES // 1024} KiB")
    return path.read_bytes()


def _read_text(kind: Any, text: str, whole: Source) -> LayerValues:
    try:
        raw = tomllib.loads(text)
    except RecursionError:
        return failed_layer(whole, "not valid TOML: nested too deep")
    except ValueError as error:  # TOMLDecodeError, or an integer with thousands of digits
        line, reason = _explain(str(error), text)
        return failed_layer(_at(whole, line), f"not valid TOML: {reason}")
    lines = key_lines(text)
    return validate(kind, raw, lambda path: _at(whole, line_of(lines, path)))


def _explain(message: str, text: str) -> tuple[int, str]:
    """Split tomllib's message into line and reason."""
    found = re.search(_PLACE, message)
    if found is None:
        return 0, message.partition(";")[0]
    reason = message[: found.start()]
    if found[1] is None:
        return len(text.splitlines()), f"{reason} (at the end of the file)"
    return int(found[1]), f"{reason} (column {found[2]})"


def _at(whole: Source, line: int) -> Source:
    return Source(whole.layer, whole.name, line)
