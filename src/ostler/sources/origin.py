"""Where a task comes from, as one line: file:notes/a.md, checklist:TODO.md#text, github:acme/app#12."""

from __future__ import annotations

import re

from msgspec import Struct

_BOX = re.compile(r"checklist:(?P<file>[^#?]+)(?:\?(?P<number>\d+))?#(?P<text>.+)", re.DOTALL)
_ISSUE = re.compile(r"github:(?P<repository>[^#\s]+)#(?P<number>\d+)")
_ESCAPES = (("%", "%25"), ("#", "%23"), ("?", "%3F"))


class BoxOrigin(Struct, frozen=True):
    """A checkbox of a checklist."""

    file: str  # relative to the project, else absolute
    text: str
    number: int = 1  # index among the boxes with this text, including ticked ones

    def __str__(self) -> str:
        again = f"?{self.number}" if self.number > 1 else ""
        return f"checklist:{_escaped(self.file)}{again}#{self.text}"


class IssueOrigin(Struct, frozen=True):
    """An issue on GitHub."""

    repository: str  # [HOST/]OWNER/NAME
    number: int

    def __str__(self) -> str:
        return f"github:{self.repository}#{self.number}"


Origin = BoxOrigin | IssueOrigin


def read_origin(source: str) -> Origin | None:
    """Return the place to update when the task is completed; None when there is none."""
    if box := _BOX.fullmatch(source):
        return BoxOrigin(_plain(box["file"]), box["text"], int(box["number"] or 1))
    if issue := _ISSUE.fullmatch(source):
        return IssueOrigin(issue["repository"], int(issue["number"]))
    return None


def _escaped(file: str) -> str:
    for plain, escape in _ESCAPES:
        file = file.replace(plain, escape)
    return file


def _plain(file: str) -> str:
    for plain, escape in reversed(_ESCAPES):
        file = file.replace(escape, plain)
    return file
