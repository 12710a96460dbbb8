"""ostler cost"""

from __future__ import annotations

import time

import click
from msgspec.structs import replace

from ostler.calls.spending.prices import PRICES_CHECKED
from ostler.cli.options import json_option, open_project
from ostler.cli.terminal.cost_text import describe_budget, describe_row, describe_total
from ostler.cli.terminal.output import print_json, print_text
from ostler.cli.terminal.text import format_table, format_tokens, format_usd, to_one_line
from ostler.project.decisions.moments import parse_since
from ostler.views.cost.summary import GROUPS, CostLine, CostView, GroupBy, view_budget, view_cost
from ostler.views.cost.summary import as_json as cost_json

NUMBERS = ("attempts", "in", "out", "cached", "to cache", "cost")
OPTIONAL = ("attempts", "to cache", "cached", "in", "out")


@click.command("cost")
@click.option(
    "--by",
    metavar="GROUP",
    type=click.Choice(GROUPS),
    default="task",
    show_default=True,
    help=f"Group by {', '.join(GROUPS)}.",
)
@click.option("--since", metavar="TIME", help="Only attempts that ended since then: 2d, 18:30 or a date.")
@json_option
def command(by: GroupBy, since: str | None, as_json: bool) -> None:
    """Show tokens and cost, and whether the cost was reported or calculated."""
    start = None if since is None else parse_since(since, "--since")
    with open_project() as project, project.store.open_spending() as spending:
        view = view_cost(spending.ended(start or 0.0), by, start)
        budget = view_budget(project.settings.budget, spending.spent_today(time.time()))
    view = replace(view, budget=budget, prices_checked=PRICES_CHECKED.isoformat())
    if as_json:
        print_json(cost_json(view))
    else:
        print_view(view, since)


def print_view(view: CostView, since: str | None) -> None:
    if view.lines:
        print_text(format_view(view) + "\n")
        print_text("\n".join(describe_total(view.total)))
    else:
        print_text(f"No attempt has ended since {since}." if since else "No attempt has ended yet.")
    if view.budget is not None:
        print_text(describe_budget(view.budget))


def format_view(view: CostView) -> str:
    lines = [*view.lines, view.total] if len(view.lines) > 1 else view.lines
    columns = zip(NUMBERS, *map(format_numbers, lines), strict=True)
    header, *rows = zip(*map(align_right, columns), strict=True)
    # The notes of the total follow below the table.
    notes = [*map(describe_row, view.lines), ""]
    shown = [
        (to_one_line(line.key) or "default", *row, note)
        for line, row, note in zip(lines, rows, notes, strict=False)
    ]
    # The header is padded here, and columns are dropped by their padded names.
    optional = [name for column in OPTIONAL for name in header if name.strip() == column]
    return format_table((view.by, *header, ""), shown, optional=optional)


def format_numbers(line: CostLine) -> tuple[str, ...]:
    used = line.usage
    kinds = (used.input_tokens, used.output_tokens, used.cache_read_tokens, used.cache_write_tokens)
    cost = "unknown" if line.cost_usd is None else format_usd(line.cost_usd)
    return (str(line.attempts), *(format_tokens(kind) if kind else "" for kind in kinds), cost)


def align_right(column: tuple[str, ...]) -> list[str]:
    """Pad the cells of a column on the left; leave an empty column as it is, so that it is dropped."""
    columns = max(map(len, column))
    return [cell.rjust(columns) if any(column[1:]) else cell for cell in column]
