"""Reads the files of a skill safely: regular files of limited size, no links."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ostler.errors import Code, OstlerError, PathEscape
from ostler.files.paths import open_beneath
from ostler.text import describe_os_error


def read_text(folder: Path, name: str, limit: int, where: str) -> str:
    """Return a file as text, without byte order mark and with \\n line ends; raises OstlerError."""
    data = read_bytes(folder, name, limit, where)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _create_error(f"{where}:{line}: not UTF-8 text", "save it as UTF-8") from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise _create_error(f"{where}:{line}: not a text file (NUL character)", "save it as UTF-8")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_bytes(folder: Path, name: str, limit: int, where: str) -> bytes:
    """Return a file as bytes; raises OstlerError."""
    try:
        fd = open_beneath(folder, name, os.O_RDONLY)
    except PathEscape:
        kind = "a symbolic link" if (folder / name).is_symlink() else "a device, a socket or a pipe"
        hint = "replace it with a regular file"
        raise OstlerError(Code.PATH_ESCAPE, f"{where} is {kind}; only regular files are read", hint) from None
    except OSError as error:
        raise _create_error(f"{where} cannot be read: {describe_os_error(error)}") from None
    try:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise _create_error(f"{where} is a directory, not a file")
        data = _read_all(fd, limit + 1)
    except OSError as error:
        raise _create_error(f"{where} cannot be read: {describe_os_error(error)}") from None
    finally:
        os.close(fd)
    if len(data) > limit:
        raise _create_error(
            f"{where} is larger than {limit} bytes", "shorten it, or raise the limit in [skills]"
        )
    return data


def _read_all(fd: int, most: int) -> bytes:
    data = b""
    while len(data) < most and (piece := os.read(fd, most - len(data))):
        data += piece
    return data


def _create_error(message: str, hint: str = "") -> OstlerError:
    return OstlerError(Code.CONFIG_INVALID, message, hint)
