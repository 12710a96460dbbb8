"""Find the checkboxes of a Markdown checklist in its bytes, so that ticking one changes nothing else."""

from __future__ import annotations

import re
import textwrap
from collections import Counter

from msgspec import Struct

_ITEM = re.compile(
    rb"(?P<indent>[ \t]*)(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[(?P<box>[ xX])\][ \t]+)?(?P<text>\S.*)"
)
_FENCE = re.compile(rb"[ \t]*(?:[-*+][ \t]+|\d{1,9}[.)][ \t]+)?(?P<fence>`{3,}|~{3,})")
_BOM = b"\xef\xbb\xbf"
_CODE_COLUMNS = 4  # text indented this far, outside a list item, is code


class Box(Struct, frozen=True):
    """One `- [ ] text`, with the text below it."""

    text: str
    number: int  # index among the boxes with this text, including ticked ones
    is_open: bool
    at: int  # offset of the character between the brackets
    line: int
    body: str = ""
    within: str = ""  # text of the enclosing box


def find_boxes(data: bytes) -> list[Box]:
    """Return all boxes in order, including ticked ones; code and comments have none."""
    reader = _ChecklistParser()
    at = 0
    for line, raw in enumerate(data.splitlines(keepends=True), 1):
        mark = len(_BOM) if line == 1 and raw.startswith(_BOM) else 0
        reader.parse_line(raw[mark:].rstrip(b"\r\n"), at + mark, line)
        at += len(raw)
    return reader.boxes()


def tick_box_in(data: bytes, text: str, number: int) -> bytes | None:
    """Return the text with the box ticked; None when it is already ticked or missing."""
    for box in find_boxes(data):
        if (box.text, box.number) == (text, number) and box.is_open:
            return data[: box.at] + b"x" + data[box.at + 1 :]
    return None


class _Item:
    """A list item; its indented lines are collected if it has a box."""

    def __init__(self, columns: int, box: Box | None) -> None:
        self.columns = columns
        self.box = box
        self.lines: list[str] = []


class _ChecklistParser:
    def __init__(self) -> None:
        self._items: list[_Item] = []  # all items with a box, in order
        self._open_items: list[_Item] = []  # the items that the next line may belong to, outermost first
        self._seen: Counter[str] = Counter()
        self._fence = b""
        self._in_comment = False

    def boxes(self) -> list[Box]:
        return [_with_body(item) for item in self._items]

    def parse_line(self, line: bytes, at: int, number: int) -> None:
        found = None if self._is_code_or_comment(line) else _ITEM.fullmatch(line)
        columns = _columns(line)
        if line.strip():
            self._close_items(columns)
        if found is None or (columns >= _CODE_COLUMNS and not self._open_items):
            self._collect(line)
        elif found["box"] is None:
            self._collect(line)
            self._open_items.append(_Item(columns, None))
        else:
            box = self._box(found, at, number)
            item = _Item(columns, box)
            self._items.append(item)
            self._open_items.append(item)

    def _box(self, found: re.Match[bytes], at: int, line: int) -> Box:
        text = " ".join(found["text"].decode("utf-8", "replace").split())
        self._seen[text] += 1
        outer = next((item.box for item in reversed(self._open_items) if item.box), None)
        is_open, within = found["box"] == b" ", outer.text if outer else ""
        return Box(text, self._seen[text], is_open, at + found.start("box"), line, within=within)

    def _close_items(self, columns: int) -> None:
        """Close the items that this indentation ends; inside a fence none ends."""
        while not self._fence and self._open_items and self._open_items[-1].columns >= columns:
            self._open_items.pop()

    def _collect(self, line: bytes) -> None:
        item = next((item for item in reversed(self._open_items) if item.box), None)
        if item is not None:
            item.lines.append(line.decode("utf-8", "replace").expandtabs(_CODE_COLUMNS))

    def _is_code_or_comment(self, line: bytes) -> bool:
        """Return whether the line is fenced code or a comment."""
        if self._fence:
            closing = line.strip()
            if closing.startswith(self._fence) and not closing.strip(self._fence[:1]):
                self._fence = b""
            return True
        if self._in_comment or line.lstrip().startswith(b"<!--"):
            self._in_comment = b"-->" not in line
            return True
        if found := _FENCE.match(line):
            self._close_items(_columns(line))
            self._fence = found["fence"]
        return found is not None


def _with_body(item: _Item) -> Box:
    assert item.box
    box, body = item.box, textwrap.dedent("\n".join(item.lines)).strip("\n").rstrip()
    return Box(box.text, box.number, box.is_open, box.at, box.line, body, box.within)


def _columns(line: bytes) -> int:
    indent = line[: len(line) - len(line.lstrip(b" \t"))]
    return len(indent.expandtabs(_CODE_COLUMNS))
