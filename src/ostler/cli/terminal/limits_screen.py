"""The screen of `ostler limits`: one block per account with a bar for each window."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ostler.cli.terminal.run.bar import draw_bar
from ostler.cli.terminal.text import (
    display_width,
    format_age,
    format_span,
    pad,
    paint,
    to_one_line,
    wrap_hanging,
)
from ostler.clock import format_local_time, read_time
from ostler.model.limits.titles import format_share
from ostler.views.limits import (
    AccountView,
    ClosedView,
    Level,
    LimitsView,
    WindowView,
    name_closed,
)

NOTHING_KNOWN = (
    "No limits are known yet. Values appear after the first answer of an agent that reports its windows,"
    " such as claude or codex with a subscription."
)
LEVEL_COLOURS: dict[Level, str] = {"ok": "green", "near": "yellow", "stopped": "yellow", "rejected": "red"}
_MAX_BAR, _MIN_BAR = 24, 10
_SHARE_COLUMNS = 5


class Style(Struct, frozen=True):
    """What the terminal can show."""

    columns: int
    has_colour: bool = False
    is_ascii: bool = False


class _Line(Struct, frozen=True):
    window: WindowView
    title: str
    reset: str
    source: str


def format_limits(view: LimitsView, now: float, style: Style) -> str:
    """Return all accounts, with aligned bars; on a narrow terminal the details are below each bar."""
    if not view.accounts:
        return wrap_hanging(NOTHING_KNOWN, 0, style.columns)
    lines = [_make_line(window, now) for account in view.accounts for window in account.windows]
    layout = _Layout(lines, view.stop_at, style)
    blocks = [_format_account(account, layout, now) for account in view.accounts]
    if view.stop_at is not None and lines:
        blocks.append(_format_legend(view.stop_at, style))
    return "\n\n".join(blocks)


class _Layout:
    """The columns that all accounts share."""

    def __init__(self, lines: Sequence[_Line], stop_at: float | None, style: Style) -> None:
        self.style = style
        self._stop_at = stop_at
        self._name_columns = name_columns = max((display_width(line.title) for line in lines), default=0)
        self._reset_columns = max((display_width(line.reset) for line in lines), default=0)
        source_columns = max((display_width(line.source) for line in lines), default=0)
        # Two columns before the name and the bar, its two ends, and one before the share.
        free = style.columns - name_columns - _SHARE_COLUMNS - 7
        beside = free - self._reset_columns - source_columns - 4
        self._has_details_beside = beside >= _MIN_BAR
        self._bar_columns = max(3, min(_MAX_BAR, beside if self._has_details_beside else free))

    def format_window(self, line: _Line) -> str:
        window = line.window
        if window.used is None:
            bar = pad("", self._bar_columns + 2)
        else:
            bar = draw_bar(window.used, self._bar_columns, self._stop_at, is_ascii=self.style.is_ascii)
        share = (format_share(window.used) or "-").rjust(_SHARE_COLUMNS)
        drawn = paint(f"{bar} {share}", LEVEL_COLOURS[window.level], self.style.has_colour)
        head = f"  {pad(line.title, self._name_columns)}  {drawn}"
        if self._has_details_beside:
            return f"{head}  {pad(line.reset, self._reset_columns)}  {self._dim(line.source)}".rstrip()
        if 8 + display_width(line.reset) + display_width(line.source) <= self.style.columns:
            return f"{head}\n    {line.reset}  {self._dim(line.source)}"
        details = (line.reset, self._dim(line.source))
        return "\n".join([head, *(wrap_hanging(f"    {one}", 6, self.style.columns) for one in details)])

    def _dim(self, text: str) -> str:
        return paint(text, "dim", self.style.has_colour)


def _make_line(window: WindowView, now: float) -> _Line:
    age = format_age(read_time(window.reported_at), now)
    return _Line(
        window, to_one_line(window.title), _describe_reset(window, now), f"{window.source_title}, {age}"
    )


def _describe_reset(window: WindowView, now: float) -> str:
    state = "stopped" if window.level == "stopped" else window.status
    if state == "allowed" and window.used is not None:
        state = ""  # the bar shows it
    reset = f"resets {format_when(window.resets_at, now)}" if window.resets_at else "reset not reported"
    return ", ".join(part for part in (state, reset) if part)


def format_when(time: str, now: float) -> str:
    """Return a time as local time and as the time until it: 00:47, in 2 h 10 min."""
    at = read_time(time)
    return f"{format_local_time(at, now)}, in {format_span(at - now)}" if at > now else "now"


def _format_account(account: AccountView, layout: _Layout, now: float) -> str:
    style = layout.style
    lines = [paint(to_one_line(account.label), "bold", style.has_colour)]
    if account.models:
        used_by = wrap_hanging(f"  used by {to_one_line(', '.join(account.models))}", 4, style.columns)
        lines.append(paint(used_by, "dim", style.has_colour))
    lines += [layout.format_window(_make_line(window, now)) for window in account.windows]
    for closed in account.closed:
        text = wrap_hanging(f"  {describe_closed(closed, now)}", 4, style.columns)
        lines.append(paint(text, "yellow" if closed.is_due else "red", style.has_colour))
    if not account.windows and not account.closed:
        lines.append("  nothing reported yet")
    return "\n".join(lines)


def describe_closed(closed: ClosedView, now: float) -> str:
    """Return why and until when no call is made."""
    name = name_closed(closed)
    until = read_time(closed.until)
    if closed.is_probed:
        state = "a call probes it now"
    elif closed.is_due:
        state = f"the next call probes it, since {format_local_time(until, now)}"
    else:
        state = f"probe at {format_when(closed.until, now)}"
    reason = ": ".join(part for part in (str(closed.code), closed.message) if part)
    return to_one_line(f"closed: {name}; {state}; {reason}")


def _format_legend(stop_at: float, style: Style) -> str:
    mark = "|" if style.is_ascii else "│"
    text = f"{mark} {format_share(stop_at)}: from here no further task starts (limits.stop_at, keep_for_me)"
    return paint(wrap_hanging(text, 2, style.columns), "dim", style.has_colour)
