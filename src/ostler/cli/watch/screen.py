"""Draw the screen of `ostler watch`: totals, list or page, message and keys."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from ostler.cli.terminal.text import (
    STATUS_COLOURS,
    display_width,
    escape_controls,
    format_usd,
    to_one_line,
    truncate,
)
from ostler.cli.watch.board import Board, Totals
from ostler.cli.watch.handle_key import Row, Screen, selected_index
from ostler.cli.watch.table import Columns, TaskCells, fit_columns, make_cells, share_rows, split_sections
from ostler.model.policy.needs import URGENT
from ostler.views.lists.groups import Section

_STYLES = {"blue": "cyan"}
# The totals, the limits or an empty line, the message and the keys.
_FRAME_LINES = 4
_IN_ONE_LINE = {ord("\n"): "⏎", ord("\t"): " "}
_Keys = Sequence[tuple[str, str]]
_DECIDE = (("a", "approve"), ("m", "merge"), ("s", "send back"), ("v", "editor"))
# A narrow window shows the first ones: what the selected task needs.
_SECTION_KEYS: dict[Section, _Keys] = {
    "question": (("r", "reply"), ("Enter", "log"), ("d", "diff"), *_DECIDE[2:], ("c", "cancel")),
    "review": (("Enter", "open"), *_DECIDE, ("l", "log"), ("d", "diff"), ("c", "cancel")),
    "failed": (("r", "retry"), ("Enter", "log"), ("d", "diff")),
    "running": (("Enter", "log"), ("d", "diff"), ("p", "pause"), ("c", "cancel")),
    "waiting": (("Enter", "log"), ("p", "pause"), ("c", "cancel")),
    "paused": (("r", "resume"), ("Enter", "log"), ("d", "diff"), ("c", "cancel")),
    "done": (("Enter", "log"), ("d", "diff"), *_DECIDE[1:]),
    "ended": (("r", "retry"), ("Enter", "log"), ("d", "diff")),
}
_FIRST_KEYS: _Keys = (("q", "quit"), ("?", "help"))
_LAST_KEYS: _Keys = (("u", "undo"), ("/", "filter"), ("j/k", "move"))
_PAGE_KEYS = (
    ("q", "back"),
    ("a", "approve"),
    ("m", "merge"),
    ("s", "send back"),
    ("v", "editor"),
    ("u", "undo"),
    ("l", "log"),
    ("d", "diff"),
    ("j/k", "move"),
    ("Space", "next page"),
    ("g/G", "ends"),
)


def render_list(
    board: Board, rows: Sequence[Row], screen: Screen, size: tuple[int, int], now: float
) -> list[Text]:
    """Return the lines of the list, fitted to the window."""
    columns, height = size
    height_left = max(1, height - _FRAME_LINES)
    body = (
        _render_sections(board, rows, screen, (columns, height_left), now)
        if rows
        else [_render_empty(screen)]
    )
    body += [Text()] * (height_left - len(body))
    top = [render_header(board.totals, columns), Text(truncate(board.notice, columns), style="yellow")]
    selected = next((row for row in rows if row.id == screen.task), None)
    aside = _describe_selected(board, selected, now) if selected else ""
    keys = (*_FIRST_KEYS, *(_SECTION_KEYS[selected.section] if selected else ()), *_LAST_KEYS)
    lines = [*top, *body[:height_left], render_message(screen, columns, aside), render_keys(keys, columns)]
    for line in lines:
        # Even the shortest form may be too long.
        line.truncate(columns)
    return lines


def render_page(
    title: str, lines: Sequence[Text], screen: Screen, size: tuple[int, int], first: int
) -> list[Text]:
    """Return the lines of a page from line `where`."""
    columns, height = size
    visible = count_page_lines(height)
    shown = list(lines[first : first + visible])
    shown += [Text()] * (visible - len(shown))
    position = f"{min(first + visible, len(lines))}/{len(lines)}"
    head = Text(truncate(title, max(1, columns - len(position) - 2)), style="bold")
    head.append("  " + position, style="dim")
    return [head, *shown, render_message(screen, columns), render_keys(_PAGE_KEYS, columns)]


def count_page_lines(height: int) -> int:
    return max(1, height - 3)


def render_header(totals: Totals, columns: int) -> Text:
    """Return the totals; a narrow window leaves out zeros, then what does not fit."""
    counts = totals.sections
    needs = sum(counts.get(one, 0) for one in URGENT)
    running, waiting = counts.get("running", 0), counts.get("waiting", 0)
    facts = [
        (f"{needs} need{'s' if needs == 1 else ''} you", "bold yellow" if needs else "dim"),
        (f"{running} running", "cyan" if running else "dim"),
        (f"{waiting} waiting", "" if waiting else "dim"),
        (f"{totals.done_today} done today", "green" if totals.done_today else "dim"),
        (f"{format_usd(totals.usd_today) or 'cost unknown'} today", "" if totals.usd_today else "dim"),
    ]
    if sum(len(label) + 3 for label, _ in facts) - 3 > columns:
        facts = [(label.removesuffix(" today"), style) for label, style in facts if style != "dim"]
    text = Text(no_wrap=True)
    for label, style in facts:
        if text.cell_len + len(label) + (3 if text else 0) <= columns:
            text.append(" · " if text else "", style="dim")
            text.append(label, style=style)
    return text


def render_message(screen: Screen, columns: int, aside: str = "") -> Text:
    """Return the prompt, the result of the last key, the filter, or else `aside`."""
    if screen.prompt is not None:
        return Text(
            _truncate_left(
                escape_controls(screen.prompt.question + screen.prompt.text).translate(_IN_ONE_LINE) + "█",
                columns,
            )
        )
    if screen.message:
        return Text(truncate(escape_controls(screen.message), columns), style="yellow")
    if screen.filter and screen.page == "list":
        return Text(
            truncate(escape_controls(f"filter: {screen.filter}   Esc clears it"), columns), style="yellow"
        )
    return Text(truncate(aside, columns), style="dim")


def render_keys(keys: Sequence[tuple[str, str]], columns: int) -> Text:
    text = Text(no_wrap=True)
    for key, label in keys:
        if text.cell_len + len(key) + len(label) + (3 if text else 1) <= columns:
            text.append("  " if text else "")
            text.append(key, style="bold")
            text.append(f" {label}", style="dim")
    return text


def _render_sections(
    board: Board, rows: Sequence[Row], screen: Screen, size: tuple[int, int], now: float
) -> list[Text]:
    """Return the headings, each with as many of its tasks as fit."""
    height = size[1]
    sections, selected = split_sections(rows), selected_index(screen, rows)
    counts, start = [len(one.rows) for one in sections], 0
    current = next(i for i in range(len(counts)) if selected < sum(counts[: i + 1]))
    shares = share_rows(counts, height - len(counts), current)
    shown: list[tuple[Text, list[Row]]] = []
    for index, (section, share) in enumerate(zip(sections, shares, strict=True)):
        first = max(0, min(selected - start - share // 2, counts[index] - share)) if index == current else 0
        start += counts[index]
        part = list(section.rows[first : first + share])
        cut = "" if share == counts[index] else f"  {first + 1}-{first + share} of {counts[index]}"
        shown.append((Text.assemble((section.heading, section.style), (cut, "dim")), part))
    return _render_lines(board, shown, screen.task, size, now)


def _render_lines(
    board: Board, shown: list[tuple[Text, list[Row]]], task: str, size: tuple[int, int], now: float
) -> list[Text]:
    columns, height = size
    cells = {row.id: cells_for(board, row, now) for _, part in shown for row in part}
    layout = fit_columns(list(cells.values()), columns - 2)
    spaced = sum(len(part) + 2 for _, part in shown) <= height
    lines: list[Text] = []
    for heading, part in shown:
        lines += [Text(), heading] if spaced and lines else [heading]
        lines += [_render_row(cells[row.id], row, layout, row.id == task, columns) for row in part]
    return lines


def cells_for(board: Board, row: Row, now: float) -> TaskCells:
    lane = board.lane(row.id)
    return make_cells(row, board.view(row.id), lane, board.describe_activity(lane, now) if lane else "", now)


def _describe_selected(board: Board, row: Row, now: float) -> str:
    """Return the title of the selected task and its text in full."""
    title, text = to_one_line(row.title), cells_for(board, row, now).text
    return text if title in text else f"{title}: {text}" if text else title


def _render_row(task_cells: TaskCells, row: Row, layout: Columns, is_selected: bool, columns: int) -> Text:
    cells = layout.format_cells(task_cells)
    line = Text("> " if is_selected else "  ", no_wrap=True)
    line.append(cells[0], style="bold" if is_selected else "")
    colour = STATUS_COLOURS.get(task_cells.state, "cyan" if row.section == "running" else "")
    line.append("  ")
    line.append(cells[1], style=_STYLES.get(colour, colour))
    line.append("".join(f"  {cell}" for cell in cells[2:]), style="" if is_selected else "dim")
    if is_selected:
        line.append(" " * (columns - display_width(line.plain)))
        line.stylize("reverse")
    return line


def _render_empty(screen: Screen) -> Text:
    message = f"No task matches {screen.filter}." if screen.filter else "No tasks yet."
    return Text(escape_controls(message), style="dim")


def _truncate_left(text: str, columns: int) -> str:
    """Truncate on the left, so that the typed end stays visible."""
    while display_width(text) > columns:
        text = text[1:]
    return text
