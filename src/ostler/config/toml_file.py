"""Read a settings file, with the line of every key, which tomllib does not report."""

from __future__ import annotations

import errno
import re
import stat
import tomllib
from pathlib import Path
from typing import Any

from ostler.config.layer import LayerValues, failed_layer
from ostler.config.source import KeyPath, Layer, Source
from ostler.config.validate import validate

_BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_KEY = re.compile(r"""[ \t]*("(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[A-Za-z0-9_-]+)[ \t]*""")
_VALUE = re.compile(
    r'''"""(?s:\\.|[^\\])*?"{3,5}'''
    r"""|'''(?s:.)*?'{3,5}"""
    r'''|"(?:[^"\\\n]|\\.)*"'''
    r"""|'[^'\n]*'"""
    r"""|\#[^\n]*|[\[\]{}\n]|[^"'\#\[\]{}\n]+"""
)
_MAX_DEPTH = 16  # no setting nests deeper, but a hostile file may


def key_lines(text: str) -> dict[KeyPath, int]:
    """Return the line of every table and key of a document that tomllib accepted."""
    scanner = _Scanner(text)
    while scanner.read_statement():
        pass
    return scanner.lines


def line_of(lines: dict[KeyPath, int], path: KeyPath) -> int:
    """Return the line of a key, or of its nearest parent."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 0)


class _Scanner:
    """The position in the text, the current table, and the lines found so far."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.line = 1
        self.table: KeyPath = ()
        self.rows: dict[KeyPath, int] = {}  # number of tables per list of tables
        self.lines: dict[KeyPath, int] = {}

    def read_statement(self) -> bool:
        """Read one header or assignment; return False at the end or where no key is found."""
        self._pass(_BLANK)
        if self.text.startswith("[", self.at):
            return self._header()
        if not (key := self._key()):
            return False
        self._record(self.table, key)
        self._value()
        return True

    def _header(self) -> bool:
        repeated = self.text.startswith("[[", self.at)
        self._move(self.at + (2 if repeated else 1))
        if not (key := self._key()):
            return False
        self.table = self._row(key) if repeated else self._inside(key)
        self._record((), self.table)
        self._move(self.at + (2 if repeated else 1))
        return True

    def _row(self, key: KeyPath) -> KeyPath:
        rows = (*self._inside(key[:-1]), key[-1])
        self.rows[rows] = self.rows.get(rows, 0) + 1
        return (*rows, self.rows[rows] - 1)

    def _inside(self, key: KeyPath) -> KeyPath:
        """Return the table that a header names; below a list of tables it is in the last one."""
        path: KeyPath = ()
        for part in key:
            path = (*path, part)
            if path in self.rows:
                path = (*path, self.rows[path] - 1)
        return path

    def _record(self, table: KeyPath, key: KeyPath) -> None:
        path = table + key
        for length in range(len(table) + 1, len(path) + 1):
            self.lines.setdefault(path[:length], self.line)

    def _key(self) -> KeyPath:
        parts: list[str] = []
        while found := _KEY.match(self.text, self.at):
            parts.append(_unquote(found[1]))
            self._move(found.end())
            if not self.text.startswith(".", self.at):
                break
            self._move(self.at + 1)
        return tuple(parts[:_MAX_DEPTH])

    def _value(self) -> None:
        depth = 0
        while found := _VALUE.match(self.text, self.at):
            self._move(found.end())
            depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
            if found[0] == "\n" and depth == 0:
                break

    def _pass(self, pattern: re.Pattern[str]) -> None:
        if found := pattern.match(self.text, self.at):
            self._move(found.end())

    def _move(self, to: int) -> None:
        self.line += self.text.count("\n", self.at, to)
        self.at = to


def _unquote(part: str) -> str:
    if part.startswith('"') and "\\" in part:
        return tomllib.loads(f"key = {part}")["key"]
    return part[1:-1] if part[0] in "\"'" else part


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
        reason = error.strerror or str(error)
        return failed_layer(whole, f"cannot be read: {reason[:1].lower()}{reason[1:]}")
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
