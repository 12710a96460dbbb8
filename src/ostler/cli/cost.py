"""ostler cost"""

from __future__ import annotations

import time
from datetime import datetime

import click
from msgspec.structs import replace

from ostler.cli.cost_words import budget_words, marks, sentences
from ostler.cli.out import emit, json_option, open_project, say
from ostler.cli.text import money, one_line, table, tokens
from ostler.errors import UsageError
from ostler.store.spending import Spending
from ostler.views.cost import GROUPS, By, CostLine, CostView, view_budget, view_cost
from ostler.views.cost import as_json as cost_json
from ostler.worker.price_list import CHECKED

NUMBERS = ("attempts", "in", "out", "cached", "to cache", "cost")
SPARE = ("attempts", "to cache", "cached", "in", "out")


@click.command("cost")
@click.option(
    "--by",
    metavar="GROUP",
    type=click.Choice(GROUPS),
    default="task",
    show_default=True,
    help=f"How it is summed up: {', '.join(GROUPS)}.",
)
@click.option("--since", metavar="DATE", help="Only what ended on this day or later, as in 2026-11-15.")
@json_option
def command(by: By, since: str | None, as_json: bool) -> None:
    """What was spent: tokens by kind, dollars, and who says so."""
    start = day_of(since)
    with open_project() as project, Spending(project.layout.database) as spending:
        view = view_cost(spending.ended(start or 0.0), by, start)
        budget = view_budget(project.settings.budget, spending.spent_today(time.time()))
    view = replace(view, budget=budget, prices_checked=CHECKED.isoformat())
    if as_json:
        emit(cost_json(view))
    else:
        print_view(view, since)


def day_of(date: str | None) -> float | None:
    """The beginning of a day of this place, as a person writes it."""
    if date is None:
        return None
    try:
        return datetime.strptime(date, "%Y-%m-%d").timestamp()
    except (ValueError, OverflowError, OSError):
        raise UsageError(f"--since {date}: not a day", "write it as 2026-11-15") from None


def print_view(view: CostView, since: str | None) -> None:
    if view.lines:
        say(cost_table(view) + "\n")
        say("\n".join(sentences(view.total)))
    else:
        say(f"Nothing was spent since {since}." if since else "Nothing was spent yet: no attempt has ended.")
    if view.budget is not None:
        say(budget_words(view.budget))


def cost_table(view: CostView) -> str:
    lines = [*view.lines, view.total] if len(view.lines) > 1 else view.lines
    columns = zip(NUMBERS, *map(numbers, lines), strict=True)
    header, *rows = zip(*map(right, columns), strict=True)
    notes = [*map(marks, view.lines), ""]  # those of the total follow in sentences
    shown = [
        (one_line(line.key) or "default", *row, note)
        for line, row, note in zip(lines, rows, notes, strict=False)
    ]
    spare = [name for wanted in SPARE for name in header if name.strip() == wanted]
    return table((view.by, *header, ""), shown, spare=spare)


def numbers(line: CostLine) -> tuple[str, ...]:
    used = line.usage
    kinds = (used.input_tokens, used.output_tokens, used.cache_read_tokens, used.cache_write_tokens)
    cost = "unknown" if line.cost_usd is None else money(line.cost_usd)
    return (str(line.attempts), *(tokens(kind) if kind else "" for kind in kinds), cost)


def right(column: tuple[str, ...]) -> list[str]:
    """Numbers are read from their ends; a column without any stays empty, and is left out."""
    room = max(map(len, column))
    return [cell.rjust(room) if any(column[1:]) else cell for cell in column]
