"""Render the log of an attempt, entry by entry, in lines that fit the screen."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, TextIO

from msgspec import Struct

from ostler.cli.terminal.diff_lines import diff_lines
from ostler.cli.terminal.markdown import break_line, render_markdown, sanitize_lines
from ostler.cli.terminal.run.tool_words import (
    count_changes,
    describe_json,
    fold_result,
    is_json,
    is_silent,
    read_json,
)
from ostler.cli.terminal.text import (
    display_width,
    format_duration,
    format_reason,
    format_tokens,
    format_usd,
    pad,
    paint,
    terminal_width,
    to_one_line,
    truncate,
    use_colour,
)
from ostler.clock import format_local_time
from ostler.model.call import describe_retry
from ostler.model.policy.sandbox import describe_refusal
from ostler.prompt.completion import read_final_words
from ostler.views.agent_work.attempt_log import LogEntry
from ostler.views.agent_work.tool_verb import find_verb

# Columns of output that is not a terminal.
UNLIMITED = 10**9
_MIN_COLUMNS_FOR_TIMES = 100
# The time and two spaces.
_MARGIN = 10
_MAX_TEXT_COLUMNS = 120
_MIN_COLUMNS = 10
_TOOL_COLUMNS = 6
_INDENT = "    "
_COLOURS = {"succeeded": "green", "failed": "red", "interrupted": "yellow"}
_SIGNS = {"succeeded": "✓", "failed": "✗", "interrupted": "■"}


class LogStyle(Struct, frozen=True):
    """How a log is rendered."""

    columns: int = UNLIMITED
    colour: bool = False
    # Show the complete input and output of tools.
    full: bool = False


class _PendingTool(Struct, frozen=True):
    """A tool call without a result yet."""

    line: str
    verb: str = ""
    is_command: bool = False  # the last line of its output matters most
    has_edits: bool = False


def log_style_for(stream: TextIO, full: bool = False) -> LogStyle:
    """Return the style for a stream: a terminal has a width and colour, other output has neither."""
    columns = terminal_width() if stream.isatty() else UNLIMITED
    return LogStyle(columns, use_colour(stream), full)


class LogRenderer:
    """Renders the entries of one attempt, in order."""

    def __init__(self, style: LogStyle) -> None:
        self._style = style
        self._shows_times = _MIN_COLUMNS_FOR_TIMES <= style.columns < UNLIMITED
        self._columns = style.columns - (_MARGIN if self._shows_times else 0)
        self._text_columns = (
            UNLIMITED if style.columns == UNLIMITED else min(self._columns, _MAX_TEXT_COLUMNS)
        )
        self._pending_tools: dict[str, _PendingTool] = {}
        self._last_tool_id = ""
        # A denied tool often returns the reason again as its result.
        self._denial = ""
        self._model = ""
        # The kind of the last lines, to separate blocks by empty lines.
        self._block = ""
        self._margin_time = ""

    def render(self, entry: LogEntry) -> Iterator[str]:
        """Yield the lines of an entry, with an empty line before a new block."""
        block, lines = self._render_entry(entry)
        first = True
        for line in lines:
            if first and self._block and (block != self._block or block == "text"):
                yield ""
            yield (self._render_margin(entry["at"] if first else None) + line).rstrip()
            first = False
        self._block = self._block if first else block

    def _render_entry(self, entry: LogEntry) -> tuple[str, Iterable[str]]:
        match entry["type"]:
            case "attempt_began":
                return "head", [self._render_start(entry)]
            case "session_started":
                return "head", [self._render_session(entry)]
            case "text_received" if entry.get("is_line"):
                return "lines", self._render_lines(entry["text"])
            case "text_received":
                return "text", self._render_text(entry["text"])
            case "tool_used":
                return "tools", self._render_tool_use(entry)
            case "tool_returned":
                return "tools", self._render_tool_result(entry)
            case "attempt_ended":
                return "end", self._render_end(entry)
            case _:
                return self._render_notice(entry)

    def _render_notice(self, entry: LogEntry) -> tuple[str, Iterable[str]]:
        match entry["type"]:
            case "tool_denied":
                self._denial = entry["detail"].removesuffix("…")
                message = f"✗ {entry['tool']} denied: {entry['detail']}"
            case "retry_reported":
                message = f"… {describe_retry(entry['code'], entry['delay_seconds'])}"
            case "session_replaced":
                how = "exists already and continues" if entry["resumed"] else "was lost; a new session starts"
                message = f"! the session {how}"
            case "access_refused":
                refused = describe_refusal(entry["kind"], entry["target"], entry.get("setting", ""))
                message = f"✗ {refused}"
            case "warning_raised":
                message = f"! {entry['message']}"
            case "thinking_received" if self._style.full:
                return "thinking", self._render_thinking(entry["text"])
            case _:
                # Usage, and entries of newer versions.
                return "", ()
        return "tools", self._render_message(message, "yellow")

    def _render_start(self, entry: LogEntry) -> str:
        self._model = entry["model"]
        round_ = f", iteration {entry['iteration']}" if entry["iteration"] > 1 else ""
        name = f"{entry['phase']}, attempt {entry['number']}{round_}"
        when = format_local_time(entry["at"], time.time())
        parts = [to_one_line(part) for part in (name, entry["executor"], entry["model"], when) if part]
        line = truncate("── " + " · ".join(parts), self._columns)
        free = self._text_columns - display_width(line) - 1 if self._text_columns < UNLIMITED else 0
        return self._paint(line + (" " + "─" * free if free > 0 else ""), "bold")

    def _render_session(self, entry: LogEntry) -> str:
        model = entry["model"] if entry["model"] != self._model else ""
        parts = (entry["session_id"], model, entry["version"])
        line = "session " + " · ".join(to_one_line(part) for part in parts if part)
        return self._paint(truncate(line, self._columns), "dim")

    def _render_text(self, text: str) -> Iterator[str]:
        """Yield the text as paragraphs; marks and JSON for Ostler are left out, unless all is shown."""
        if not self._style.full:
            text = read_final_words(text)
            text = describe_json(found) if (found := read_json(text)) is not None else text
        return render_markdown(text, self._text_columns, self._style.colour) if text.strip() else iter(())

    def _render_thinking(self, text: str) -> Iterator[str]:
        for line in render_markdown(text, self._text_columns, colour=False):
            yield self._paint(line, "dim")

    def _render_lines(self, text: str) -> Iterator[str]:
        """Yield the plain output of a program; its spaces are kept."""
        for line in sanitize_lines(text):
            yield from break_line(line, self._text_columns)

    def _render_message(self, message: str, colour: str) -> list[str]:
        """Wrap a message that starts with a sign; further lines align with its text."""
        sign, rest = message[:2], to_one_line(message[2:])
        first, *more = render_markdown(f"- {rest}", self._text_columns, colour=False)
        return [self._paint(line, colour) for line in (sign + first[2:], *more)]

    def _render_tool_use(self, entry: LogEntry) -> Iterator[str]:
        tool, detail = to_one_line(entry["tool"]), to_one_line(entry["detail"])
        edits = entry.get("edits", ())
        command = _find_command(entry["input"])
        if not self._style.full:
            tool = find_verb(tool)
            shown = "" if is_json(detail) else detail
            detail = "  ".join(filter(None, (shown, count_changes(edits))))
        self._pending_tools[entry["id"]] = _PendingTool(
            f"{tool} {detail}".strip(), tool, bool(command), bool(edits)
        )
        self._last_tool_id = entry["id"]
        name = pad(tool, _TOOL_COLUMNS)
        rest = truncate(detail, max(0, self._columns - display_width(name) - 3))
        yield f"{self._paint('→', 'blue')} {self._paint(name, 'bold')} {rest}".rstrip()
        if not self._style.full:
            return
        if command.strip() not in ("", entry["detail"]):
            yield from self._render_lines_of((line, "dim") for line in sanitize_lines(command))
        for number, edit in enumerate(edits):
            between = [("  …", "dim")] if number else []
            yield from self._render_lines_of([*between, *diff_lines(edit)])

    def _render_tool_result(self, entry: LogEntry) -> Iterator[str]:
        use = self._pending_tools.pop(entry["id"], _PendingTool(""))
        failed, text = entry["failed"], entry["text"].strip("\n")
        lines = self._select_result(use, text, failed)
        if use.line and entry["id"] != self._last_tool_id and (lines or self._style.full):
            self._last_tool_id = entry["id"]
            yield self._paint(truncate(f"← {use.line}", self._columns), "dim")
        yield from self._render_lines_of((line, "red" if failed else "dim") for line in lines)

    def _select_result(self, use: _PendingTool, text: str, failed: bool) -> list[str]:
        """Return the lines of a result that are shown: all of them, or at most one."""
        if self._style.full:
            return sanitize_lines(text or "failed") if text or failed else []
        is_repeated = failed and self._denial and text.startswith(self._denial)
        if is_repeated or (not failed and (use.has_edits or is_silent(use.verb))):
            return []
        folded = fold_result(text, from_end=use.is_command)
        if failed:
            return [f"✗ {folded or 'failed'}"]
        return [folded] if folded else []

    def _render_lines_of(self, lines: Iterable[tuple[str, str]]) -> Iterator[str]:
        """Yield the lines below a tool: whole ones if everything is shown."""
        room = max(_MIN_COLUMNS, self._columns - len(_INDENT))
        for line, colour in lines:
            pieces = break_line(line, room) if self._style.full else [truncate(line, room)]
            yield from (self._paint(f"{_INDENT}{piece}".rstrip(), colour) for piece in pieces)

    def _render_end(self, entry: LogEntry) -> list[str]:
        status = entry["status"]
        reason = format_reason(entry["code"] if status == "failed" else None, entry["message"])
        message = f"{_SIGNS.get(status, '■')} {status}" + (f": {reason}" if reason else "")
        return self._render_message(f"{message} ({_format_figures(entry)})", _COLOURS.get(status, ""))

    def _render_margin(self, at: float | None) -> str:
        if not self._shows_times:
            return ""
        clock = datetime.fromtimestamp(at).strftime("%H:%M:%S") if at is not None else ""
        shown, self._margin_time = ("" if clock == self._margin_time else clock), clock or self._margin_time
        return self._paint(pad(shown, _MARGIN), "dim") if shown else " " * _MARGIN

    def _paint(self, text: str, colour: str) -> str:
        return paint(text, colour, self._style.colour)


def _find_command(tool_input: dict[str, Any]) -> str:
    found = tool_input.get("command") or tool_input.get("cmd") or ""
    return found if isinstance(found, str) else ""


def _format_figures(entry: LogEntry) -> str:
    seconds, usage = entry["seconds"], entry["usage"]
    took = f"{seconds:.1f} s" if seconds < 60 else format_duration(seconds) + _format_seconds(seconds)
    used = usage["input_tokens"] + usage["output_tokens"]
    parts = (took, f"{format_tokens(used)} tokens" if used else "", format_usd(entry["cost_usd"]))
    return ", ".join(part for part in parts if part)


def _format_seconds(seconds: float) -> str:
    """Return the seconds after full minutes; empty from one hour on."""
    return f" {int(seconds % 60)} s" if seconds < 3600 else ""
