"""On which line each key of a TOML document stands; tomllib does not say."""

from __future__ import annotations

import re
import tomllib

from ostler.config.source import Path

_BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_KEY = re.compile(r"""[ \t]*("(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[A-Za-z0-9_-]+)[ \t]*""")
_VALUE = re.compile(
    r'''"""(?s:\\.|[^\\])*?"{3,5}'''
    r"""|'''(?s:.)*?'{3,5}"""
    r'''|"(?:[^"\\\n]|\\.)*"'''
    r"""|'[^'\n]*'"""
    r"""|\#[^\n]*|[\[\]{}\n]|[^"'\#\[\]{}\n]+"""
)
_DEEPEST = 16  # no setting nests deeper; a hostile key may


def key_lines(text: str) -> dict[Path, int]:
    """The line of every table and key of a document that tomllib has accepted."""
    scanner = _Scanner(text)
    while scanner.statement():
        pass
    return scanner.lines


def line_of(lines: dict[Path, int], path: Path) -> int:
    """The line of a key, or of the nearest thing around it that has one."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 0)


class _Scanner:
    """A position in the text, the table that it is in, and what was found so far."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.line = 1
        self.table: Path = ()
        self.rows: dict[Path, int] = {}  # how many tables each list of tables has
        self.lines: dict[Path, int] = {}

    def statement(self) -> bool:
        """Pass one header or assignment; False at the end, or where no key is found."""
        self._pass(_BLANK)
        if self.text.startswith("[", self.at):
            return self._header()
        if not (key := self._key()):
            return False
        self._note(self.table, key)
        self._value()
        return True

    def _header(self) -> bool:
        repeated = self.text.startswith("[[", self.at)
        self._move(self.at + (2 if repeated else 1))
        if not (key := self._key()):
            return False
        self.table = self._row(key) if repeated else self._inside(key)
        self._note((), self.table)
        self._move(self.at + (2 if repeated else 1))
        return True

    def _row(self, key: Path) -> Path:
        rows = (*self._inside(key[:-1]), key[-1])
        self.rows[rows] = self.rows.get(rows, 0) + 1
        return (*rows, self.rows[rows] - 1)

    def _inside(self, key: Path) -> Path:
        """The table that a header names: under a list of tables it is in the last one."""
        path: Path = ()
        for part in key:
            path = (*path, part)
            if path in self.rows:
                path = (*path, self.rows[path] - 1)
        return path

    def _note(self, table: Path, key: Path) -> None:
        path = table + key
        for length in range(len(table) + 1, len(path) + 1):
            self.lines.setdefault(path[:length], self.line)

    def _key(self) -> Path:
        parts: list[str] = []
        while found := _KEY.match(self.text, self.at):
            parts.append(_unquote(found[1]))
            self._move(found.end())
            if not self.text.startswith(".", self.at):
                break
            self._move(self.at + 1)
        return tuple(parts[:_DEEPEST])

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
