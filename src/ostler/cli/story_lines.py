"""The story of an attempt as a person reads it: entry by entry, in lines that fit the screen."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, TextIO

from msgspec import Struct

from ostler.cli.edit_lines import edit_lines
from ostler.cli.prose import broken, prose_lines, safe_lines
from ostler.cli.text import (
    fit,
    money,
    one_line,
    pad,
    paint,
    reason,
    span,
    terminal_width,
    tokens,
    wants_colour,
    width,
)
from ostler.clock import local_time
from ostler.views.story import Entry

NO_END = 10**9  # columns of what is no screen
_ROOM_FOR_TIMES = 100
_MARGIN = 10  # the time, and two spaces
_EASY_TO_READ = 120
_NARROWEST = 10
_TOOL_COLUMNS = 6
_FEW_LINES = 4  # of what a tool returned
_SOME_LINES = 12  # of a change
_COLOURS = {"succeeded": "green", "failed": "red", "interrupted": "yellow"}
_SIGNS = {"succeeded": "✓", "failed": "✗", "interrupted": "■"}


class Paper(Struct, frozen=True):
    """What the lines are drawn on."""

    columns: int = NO_END
    colour: bool = False
    full: bool = False  # nothing is left out


class _Use(Struct, frozen=True):
    """A tool whose result is still to come."""

    line: str
    runs: bool = False  # a command: what it says last matters most
    edits: bool = False  # what it returns says no more than the change does


def paper_of(stream: TextIO, full: bool = False) -> Paper:
    """A terminal as wide as it is; anything else has no end and no colour."""
    columns = terminal_width() if stream.isatty() else NO_END
    return Paper(columns, wants_colour(stream), full)


class StoryLines:
    """Draws the entries of one attempt, in order."""

    def __init__(self, paper: Paper) -> None:
        self._paper = paper
        self._times = _ROOM_FOR_TIMES <= paper.columns < NO_END
        self._columns = paper.columns - (_MARGIN if self._times else 0)
        self._readable = NO_END if paper.columns == NO_END else min(self._columns, _EASY_TO_READ)
        self._uses: dict[str, _Use] = {}
        self._last_use = ""
        self._denied = ""  # why a tool was, which it often returns again
        self._model = ""
        self._block = ""  # what the last lines belong to
        self._clock = ""  # the time that stands in the margin last

    def draw(self, entry: Entry) -> Iterator[str]:
        """The lines of an entry, with an empty one before them where something else begins."""
        block, lines = self._drawn(entry)
        first = True
        for line in lines:
            if first and self._block and (block != self._block or block == "text"):
                yield ""
            yield self._margin(entry["at"] if first else None) + line
            first = False
        self._block = self._block if first else block

    def _drawn(self, entry: Entry) -> tuple[str, Iterable[str]]:
        match entry["type"]:
            case "attempt_began":
                return "head", [self._head(entry)]
            case "session_started":
                return "head", [self._session(entry)]
            case "text_said":
                return "text", self._prose(entry["text"])
            case "tool_used":
                return "tools", self._use(entry)
            case "tool_returned":
                return "tools", self._return(entry)
            case "attempt_ended":
                return "end", self._end(entry)
            case _:
                return self._aside(entry)

    def _aside(self, entry: Entry) -> tuple[str, Iterable[str]]:
        match entry["type"]:
            case "tool_denied":
                self._denied = entry["detail"].removesuffix("…")
                said = f"✗ {entry['tool']} denied: {entry['detail']}"
            case "retry_seen":
                said = f"… waits {entry['delay_seconds']:.0f} s for its provider ({entry['code']})"
            case "session_replaced":
                how = "existed already and goes on" if entry["resumed"] else "was lost; a new one begins"
                said = f"! the session {how}"
            case "warned":
                said = f"! {entry['message']}"
            case _:
                return "", ()  # usage, and what a newer version tells
        return "tools", self._sentence(said, "yellow")

    def _head(self, entry: Entry) -> str:
        self._model = entry["model"]
        round_ = f", iteration {entry['iteration']}" if entry["iteration"] > 1 else ""
        name = f"{entry['phase']}, attempt {entry['number']}{round_}"
        when = local_time(entry["at"], time.time())
        parts = [one_line(part) for part in (name, entry["executor"], entry["model"], when) if part]
        line = fit("── " + " · ".join(parts), self._columns)
        room = self._readable - width(line) - 1 if self._readable < NO_END else 0
        return self._paint(line + (" " + "─" * room if room > 0 else ""), "bold")

    def _session(self, entry: Entry) -> str:
        model = entry["model"] if entry["model"] != self._model else ""
        parts = (entry["session_id"], model, entry["version"])
        said = "session " + " · ".join(one_line(part) for part in parts if part)
        return self._paint(fit(said, self._columns), "dim")

    def _prose(self, text: str) -> Iterator[str]:
        return prose_lines(text, self._readable, self._paper.colour)

    def _sentence(self, said: str, colour: str) -> list[str]:
        """A line that begins with a sign, and goes on below what follows it."""
        sign, rest = said[:2], one_line(said[2:])
        first, *more = prose_lines(f"- {rest}", self._readable, colour=False)
        return [self._paint(line, colour) for line in (sign + first[2:], *more)]

    def _use(self, entry: Entry) -> Iterator[str]:
        tool, detail = one_line(entry["tool"]), one_line(entry["detail"])
        edits = entry.get("edits", ())
        command = _command(entry["input"])
        self._uses[entry["id"]] = _Use(f"{tool} {detail}".strip(), bool(command), bool(edits))
        self._last_use = entry["id"]
        name = pad(tool, _TOOL_COLUMNS)
        rest = fit(detail, max(0, self._columns - width(name) - 3))
        yield f"{self._paint('→', 'blue')} {self._paint(name, 'bold')} {rest}".rstrip()
        if self._paper.full and command.strip() not in ("", entry["detail"]):
            yield from self._few([(line, "dim") for line in safe_lines(command)], 0, last=False)
        for number, edit in enumerate(edits):
            between = [("  …", "dim")] if number else []
            yield from self._few([*between, *edit_lines(edit)], _SOME_LINES, last=False)

    def _return(self, entry: Entry) -> Iterator[str]:
        use = self._uses.pop(entry["id"], _Use(""))
        if use.line and entry["id"] != self._last_use:
            self._last_use = entry["id"]
            yield self._paint(fit(f"← {use.line}", self._columns), "dim")
        failed, text = entry["failed"], entry["text"].strip("\n")
        repeated = failed and self._denied and text.startswith(self._denied)
        if not self._paper.full and (repeated or (use.edits and not failed)):
            return
        colour = "red" if failed else "dim"
        lines = [(line, colour) for line in safe_lines(text or "failed")] if text or failed else []
        yield from self._few(lines, _FEW_LINES, last=use.runs)

    def _few(self, lines: list[tuple[str, str]], most: int, *, last: bool) -> Iterator[str]:
        """So many lines of all, the first or the last ones, and how many that leaves out."""
        hidden = 0 if self._paper.full or len(lines) <= most + 1 else len(lines) - most
        shown = lines if not hidden else lines[-most:] if last else lines[:most]
        room = max(_NARROWEST, self._columns - 4)
        note = [self._paint(f"    … {hidden} {'lines before' if last else 'more lines'}", "dim")]
        yield from note if hidden and last else ()
        for line, colour in shown:
            pieces = broken(line, room) if self._paper.full else [fit(line, room)]
            yield from (self._paint(f"    {piece}".rstrip(), colour) for piece in pieces)
        yield from note if hidden and not last else ()

    def _end(self, entry: Entry) -> list[str]:
        status = entry["status"]
        why = reason(entry["code"] if status == "failed" else None, entry["message"])
        said = f"{_SIGNS.get(status, '■')} {status}" + (f": {why}" if why else "")
        return self._sentence(f"{said} ({_figures(entry)})", _COLOURS.get(status, ""))

    def _margin(self, at: float | None) -> str:
        if not self._times:
            return ""
        told = datetime.fromtimestamp(at).strftime("%H:%M:%S") if at is not None else ""
        shown, self._clock = ("" if told == self._clock else told), told or self._clock
        return self._paint(pad(shown, _MARGIN), "dim") if shown else " " * _MARGIN

    def _paint(self, text: str, colour: str) -> str:
        return paint(text, colour, self._paper.colour)


def _command(given: dict[str, Any]) -> str:
    found = given.get("command") or given.get("cmd") or ""
    return found if isinstance(found, str) else ""


def _figures(entry: Entry) -> str:
    seconds, usage = entry["seconds"], entry["usage"]
    took = f"{seconds:.1f} s" if seconds < 60 else span(seconds) + _rest(seconds)
    used = usage["input_tokens"] + usage["output_tokens"]
    parts = (took, f"{tokens(used)} tokens" if used else "", money(entry["cost_usd"]))
    return ", ".join(part for part in parts if part)


def _rest(seconds: float) -> str:
    """Of some minutes, the seconds too."""
    return f" {int(seconds % 60)} s" if seconds < 3600 else ""
