"""The whole screen of `ostler watch`: the totals, the list or a page, and the last two lines."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from ostler.cli.text import STATUS_COLOURS, fit, money, one_line, printable, width
from ostler.cli.watching.board import Board, Totals
from ostler.cli.watching.draw import Columns, Glance, columns_for, glance, sections_of, shares
from ostler.cli.watching.press import Row, Screen, chosen

_STYLES = {"blue": "cyan"}
_AROUND = 4  # the totals, an empty line, the message and the keys
_KEYS = (
    ("q", "quit"),
    ("?", "help"),
    ("Enter", "log"),
    ("d", "diff"),
    ("a", "approve"),
    ("x", "reject"),
    ("p", "pause"),
    ("c", "cancel"),
    ("r", "retry"),
    ("/", "filter"),
    ("j/k", "move"),
)
_PAGE_KEYS = (
    ("q", "back"),
    ("j/k", "move"),
    ("Space", "on"),
    ("g/G", "ends"),
    ("l", "log"),
    ("d", "diff"),
    ("a", "approve"),
    ("x", "reject"),
    ("p", "pause"),
    ("c", "cancel"),
)


def list_screen(
    board: Board, rows: Sequence[Row], screen: Screen, size: tuple[int, int], now: float
) -> list[Text]:
    """As many lines as the window has, of at most its width."""
    columns, height = size
    room = max(1, height - _AROUND)
    body = _sections(board, rows, screen, (columns, room), now) if rows else [_nothing(screen)]
    body += [Text()] * (room - len(body))
    top = [header(board.totals, columns), Text()]
    aside = _aside(board, rows[chosen(screen, rows)], now) if rows else ""
    lines = [*top, *body[:room], bottom(screen, columns, aside), keys(_KEYS, columns)]
    for line in lines:
        line.truncate(columns)  # where even the shortest form is too long
    return lines


def page_screen(
    title: str, lines: Sequence[Text], screen: Screen, size: tuple[int, int], where: int
) -> list[Text]:
    """A page from one of its lines on."""
    columns, height = size
    room = page_room(height)
    shown = list(lines[where : where + room])
    shown += [Text()] * (room - len(shown))
    seen = f"{min(where + room, len(lines))}/{len(lines)}"
    head = Text(fit(title, max(1, columns - len(seen) - 2)), style="bold")
    head.append("  " + seen, style="dim")
    return [head, *shown, bottom(screen, columns), keys(_PAGE_KEYS, columns)]


def page_room(height: int) -> int:
    return max(1, height - 3)


def header(totals: Totals, columns: int) -> Text:
    """All totals; in a narrow window without those that are nothing, and as many as there is room for."""
    counts = totals.groups
    needs, running, waiting = (counts.get(one, 0) for one in ("needs_you", "running", "waiting"))
    facts = [
        (f"{needs} need{'s' if needs == 1 else ''} you", "bold yellow" if needs else "dim"),
        (f"{running} running", "cyan" if running else "dim"),
        (f"{waiting} waiting", "" if waiting else "dim"),
        (f"{totals.done_today} done today", "green" if totals.done_today else "dim"),
        (f"{money(totals.usd_today) or '$ unknown'} today", "" if totals.usd_today else "dim"),
    ]
    if sum(len(words) + 3 for words, _ in facts) - 3 > columns:
        facts = [(words.removesuffix(" today"), style) for words, style in facts if style != "dim"]
    text = Text(no_wrap=True)
    for words, style in facts:
        if text.cell_len + len(words) + (3 if text else 0) <= columns:
            text.append(" · " if text else "", style="dim")
            text.append(words, style=style)
    return text


def bottom(screen: Screen, columns: int, aside: str = "") -> Text:
    """The question that is being answered, what came of the last key, or what else there is to say."""
    if screen.asking is not None:
        return Text(_end_of(printable(screen.asking.question + screen.asking.text) + "█", columns))
    if screen.said:
        return Text(fit(printable(screen.said), columns), style="yellow")
    if screen.filter and screen.page == "list":
        return Text(fit(printable(f"only: {screen.filter}   Esc shows all"), columns), style="yellow")
    return Text(fit(aside, columns), style="dim")


def keys(offered: Sequence[tuple[str, str]], columns: int) -> Text:
    text = Text(no_wrap=True)
    for key, about in offered:
        if text.cell_len + len(key) + len(about) + (3 if text else 1) <= columns:
            text.append("  " if text else "")
            text.append(key, style="bold")
            text.append(f" {about}", style="dim")
    return text


def _sections(
    board: Board, rows: Sequence[Row], screen: Screen, size: tuple[int, int], now: float
) -> list[Text]:
    """A heading, and below it as many of its tasks as there is room for."""
    height = size[1]
    sections, place = sections_of(rows), chosen(screen, rows)
    counts, begins = [len(one.rows) for one in sections], 0
    here = next(i for i in range(len(counts)) if place < sum(counts[: i + 1]))
    given = shares(counts, height - len(counts), here)
    shown: list[tuple[Text, list[Row]]] = []
    for index, (section, share) in enumerate(zip(sections, given, strict=True)):
        first = max(0, min(place - begins - share // 2, counts[index] - share)) if index == here else 0
        begins += counts[index]
        part = list(section.rows[first : first + share])
        cut = "" if share == counts[index] else f"  {first + 1}-{first + share} of {counts[index]}"
        shown.append((Text.assemble((section.heading, section.style), (cut, "dim")), part))
    return _lines(board, shown, rows[place].id, size, now)


def _lines(
    board: Board, shown: list[tuple[Text, list[Row]]], task: str, size: tuple[int, int], now: float
) -> list[Text]:
    columns, height = size
    glances = {row.id: glance_of(board, row, now) for _, part in shown for row in part}
    layout = columns_for(list(glances.values()), columns - 2)
    airy = sum(len(part) + 2 for _, part in shown) <= height
    lines: list[Text] = []
    for heading, part in shown:
        lines += [Text(), heading] if airy and lines else [heading]
        lines += [_line(glances[row.id], row, layout, row.id == task, columns) for row in part]
    return lines


def glance_of(board: Board, row: Row, now: float) -> Glance:
    lane = board.lane(row.id)
    return glance(row, board.view(row.id), lane, board.doing(lane, now) if lane else "", now)


def _aside(board: Board, row: Row, now: float) -> str:
    """The title of the chosen task, and in full what its line may have no room for."""
    title, what = one_line(row.title), glance_of(board, row, now).what
    return title if what in ("", title) else f"{title}: {what}"


def _line(one: Glance, row: Row, layout: Columns, is_chosen: bool, columns: int) -> Text:
    cells = layout.line(one)
    line = Text("> " if is_chosen else "  ", no_wrap=True)
    line.append(cells[0], style="bold" if is_chosen else "")
    colour = STATUS_COLOURS.get(one.where, "cyan" if row.group == "running" else "")
    line.append("  ")
    line.append(cells[1], style=_STYLES.get(colour, colour))
    line.append("".join(f"  {cell}" for cell in cells[2:]), style="" if is_chosen else "dim")
    if is_chosen:
        line.append(" " * (columns - width(line.plain)))
        line.stylize("reverse")
    return line


def _nothing(screen: Screen) -> Text:
    words = f"No task matches {screen.filter}." if screen.filter else "No tasks yet."
    return Text(printable(words), style="dim")


def _end_of(text: str, columns: int) -> str:
    """What was typed last stays in sight."""
    while width(text) > columns:
        text = text[1:]
    return text
