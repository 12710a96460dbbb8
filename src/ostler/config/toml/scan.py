"""Find the statements of a TOML document, with their positions, which tomllib does not report."""

from __future__ import annotations

import re
import tomllib

from msgspec import Struct

from ostler.config.source import KeyPath
from ostler.lazy import lazy_pattern

_BLANK = lazy_pattern(r"(?:[ \t\r\n]+|#[^\n]*)*")
_KEY = lazy_pattern(r"""[ \t]*("(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[A-Za-z0-9_-]+)[ \t]*""")
_VALUE = lazy_pattern(
    r'''"""(?s:\\.|[^\\])*?"{3,5}'''
    r"""|'''(?s:.)*?'{3,5}"""
    r'''|"(?:[^"\\\n]|\\.)*"'''
    r"""|'[^'\n]*'"""
    r"""|\#[^\n]*|[\[\]{}\n]|[^"'\#\[\]{}\n]+"""
)
_ASSIGN = lazy_pattern(r"=[ \t]*")
_REST = lazy_pattern(r"[^\n]*\n?")
_MAX_DEPTH = 16  # no setting nests deeper, but a hostile file may

Span = tuple[int, int]


class Statement(Struct, frozen=True):
    """A header or an assignment."""

    path: KeyPath  # of the table or of the value
    table: KeyPath  # of the header above it, or its own
    start: int  # position of the key or of the bracket
    end: int  # after its last line
    value: Span | None = None  # None: a header


def key_lines(text: str) -> dict[KeyPath, int]:
    """Return the line of every table and key of a document that tomllib accepted."""
    return _scan(text).lines


def list_statements(text: str) -> list[Statement]:
    """Return the headers and assignments of a document that tomllib accepted, in their order."""
    return _scan(text).statements


def _scan(text: str) -> _Scanner:
    scanner = _Scanner(text)
    while scanner.read_statement():
        pass
    return scanner


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
        self.statements: list[Statement] = []

    def read_statement(self) -> bool:
        """Read one header or assignment; return False at the end or where no key is found."""
        self._pass(_BLANK)
        start = self.at
        if self.text.startswith("[", self.at):
            return self._header()
        if not (key := self._key()):
            return False
        self._record(self.table, key)
        value = self._value()
        self.statements.append(Statement(self.table + key, self.table, start, self.at, value))
        return True

    def _header(self) -> bool:
        start, repeated = self.at, self.text.startswith("[[", self.at)
        self._move(self.at + (2 if repeated else 1))
        if not (key := self._key()):
            return False
        self.table = self._row(key) if repeated else self._inside(key)
        self._record((), self.table)
        self._move(self.at + (2 if repeated else 1))
        self._pass(_REST)
        self.statements.append(Statement(self.table, self.table, start, self.at))
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

    def _value(self) -> Span:
        """Pass the rest of the line or lines; return the span of the value, without spaces and comment."""
        self._pass(_ASSIGN)
        start = end = self.at
        depth = 0
        while found := _VALUE.match(self.text, self.at):
            self._move(found.end())
            depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
            if found[0] == "\n" and depth == 0:
                break
            if text := "" if found[0].startswith("#") else found[0].rstrip():
                end = found.start() + len(text)
        return start, end

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
