"""One settings file: read, parsed and checked, or a sentence that says why not."""

from __future__ import annotations

import errno
import re
import stat
from pathlib import Path
from typing import Any

from ostler.config.reading import Reading, failed
from ostler.config.source import Layer, Source
from ostler.config.walk import walk

_LARGEST = 256 * 1024
_PLACE = r" \(at (?:line (\d+), column (\d+)|end of document)\)$"


def read_file(kind: Any, path: Path, name: str, layer: Layer) -> Reading:
    """What the file says; a file that is not there says nothing."""
    whole = Source(layer, name)
    try:
        data = _bytes(path)
    except (FileNotFoundError, NotADirectoryError):
        return Reading()
    except OSError as error:
        reason = error.strerror or str(error)
        return failed(whole, f"cannot be read: {reason[:1].lower()}{reason[1:]}")
    try:
        return _read_text(kind, data.decode("utf-8-sig"), whole)
    except UnicodeDecodeError as error:
        return failed(_at(whole, data.count(b"\n", 0, error.start) + 1), "not UTF-8 text")


def _bytes(path: Path) -> bytes:
    """The file's bytes; raises OSError for what is no settings file."""
    about = path.stat()
    if not stat.S_ISREG(about.st_mode):
        is_folder = stat.S_ISDIR(about.st_mode)
        raise OSError(errno.EINVAL, "it is a directory" if is_folder else "it is not a regular file")
    if about.st_size > _LARGEST:
        raise OSError(errno.EFBIG, f"it is larger than {_LARGEST // 1024} KiB")
    return path.read_bytes()


def _read_text(kind: Any, text: str, whole: Source) -> Reading:
    import tomllib  # noqa: PLC0415  (most commands run where no file is)

    from ostler.config.lines import key_lines, line_of  # noqa: PLC0415

    try:
        raw = tomllib.loads(text)
    except RecursionError:
        return failed(whole, "not valid TOML: nested too deep")
    except ValueError as error:  # TOMLDecodeError, or an int of thousands of digits
        line, reason = _explain(str(error), text)
        return failed(_at(whole, line), f"not valid TOML: {reason}")
    lines = key_lines(text)
    return walk(kind, raw, lambda path: _at(whole, line_of(lines, path)))


def _explain(message: str, text: str) -> tuple[int, str]:
    """The line and the reason in tomllib's message."""
    found = re.search(_PLACE, message)
    if found is None:
        return 0, message.partition(";")[0]
    reason = message[: found.start()]
    if found[1] is None:
        return len(text.splitlines()), f"{reason} (at the end of the file)"
    return int(found[1]), f"{reason} (column {found[2]})"


def _at(whole: Source, line: int) -> Source:
    return Source(whole.layer, whole.name, line)
