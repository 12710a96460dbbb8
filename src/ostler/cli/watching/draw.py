"""The list of `ostler watch` as lines of text: who needs you, what runs, what waits, what came out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby

from msgspec import Struct
from msgspec.structs import astuple

from ostler.cli.doing import left
from ostler.cli.status import waiting
from ostler.cli.text import fit, money, one_line, pad, reason, span, tokens, width
from ostler.cli.watching.press import Row
from ostler.clock import local_time
from ostler.views.groups import Group
from ostler.views.lanes import Lane
from ostler.views.task import TaskView

_HEADINGS: dict[Group, tuple[str, str]] = {
    "needs_you": ("Needs you", "bold yellow"),
    "running": ("Running", "bold cyan"),
    "waiting": ("Waiting", "bold"),
    "done": ("Ended", "bold"),
    "ended": ("Ended", "bold"),
}
_SPARE = (2, 4, 3)  # tokens, then the time, then the cost
_LEAST_WHAT = 20
_TOO_LITTLE = 12
_LEAST_SHOWN = 3  # rows of each section, when there is no room for all


class Glance(Struct, frozen=True):
    """A task in the columns of the list."""

    id: str
    where: str
    tokens: str
    cost: str
    time: str
    what: str


class Section(Struct, frozen=True):
    heading: str
    style: str
    rows: Sequence[Row]


def sections_of(rows: Sequence[Row]) -> list[Section]:
    """The rows in their order, cut where a new heading begins."""
    return [
        Section(heading, style, list(part))
        for (heading, style), part in groupby(rows, lambda row: _HEADINGS[row.group])
    ]


def shares(counts: Sequence[int], room: int, favourite: int) -> list[int]:
    """How many rows of each section are shown: some of each, and more of those that come first.

    The section that the chosen task is in has its turn before all others.
    """
    given = [min(count, _LEAST_SHOWN) for count in counts]
    while sum(given) > room and max(given) > 1:
        given[given.index(max(given))] -= 1
    left = max(0, room - sum(given))
    for index in sorted(range(len(counts)), key=lambda one: one != favourite):
        more = min(left, counts[index] - given[index])
        given[index] += more
        left -= more
    return given


def glance(row: Row, view: TaskView, lane: Lane | None, doing: str, now: float) -> Glance:
    """What there is to see of a task; `doing` says what one does that runs."""
    live = lane if row.group == "running" else None
    used = view.usage.total + (live.live.total if live else 0)
    at = live.since if live else datetime.fromisoformat(view.updated_at).timestamp()
    return Glance(
        id=row.id,
        where=f"{live.phase} {live.iteration or ''}".rstrip() if live else view.status,
        tokens=tokens(used) if used else "",
        cost=money(view.cost_usd),
        time=span(now - at),
        what=doing if live else one_line(_what(row, view, now)),
    )


def _what(row: Row, view: TaskView, now: float) -> str:
    told = reason(view.code, view.message)
    match row.group:
        case "waiting":
            return _until(view, now) or told or waiting(view) or view.title
        case "done":
            return view.pr_url or view.output_path or view.title
        case _:
            return told or view.title


def _until(view: TaskView, now: float) -> str:
    if not view.resumes_at:
        return ""
    at = datetime.fromisoformat(view.resumes_at).timestamp()
    told = reason(view.code, view.message)
    return f"on again at {local_time(at, now)}, {left(at, now)}: {told}"


class Columns(Struct, frozen=True):
    """How wide each one is; 0: it is left out."""

    widths: tuple[int, ...]

    def line(self, one: Glance) -> list[str]:
        cells = astuple(one)
        return [pad(fit(cell, room), room) for cell, room in zip(cells, self.widths, strict=True) if room]


def columns_for(glances: Sequence[Glance], room: int) -> Columns:
    """As wide as what stands in them, the last one with the rest; where that is too little, without some."""
    cells = [astuple(one) for one in glances]
    widths = [max(map(width, column)) for column in zip(*cells, strict=True)]
    widths[0] = min(widths[0], max(14, room * 3 // 10))
    for spare in _SPARE:
        if _rest(widths, room) < min(widths[-1], _LEAST_WHAT):
            widths[spare] = 0
    rest = _rest(widths, room)
    if rest < _TOO_LITTLE:  # the id says more in its room
        return Columns((max(1, room - widths[1] - 2), widths[1], 0, 0, 0, 0))
    return Columns((*widths[:-1], min(widths[-1], rest)))


def _rest(widths: Sequence[int], room: int) -> int:
    return room - sum(one + 2 for one in widths[:-1] if one)
