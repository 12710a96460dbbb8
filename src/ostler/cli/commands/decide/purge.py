"""ostler purge"""

from __future__ import annotations

import os
import sys
from datetime import datetime

import click
from msgspec import to_builtins
from msgspec.structs import replace

from ostler.cli.options import json_option, open_project
from ostler.cli.terminal.output import print_hint, print_json, print_text
from ostler.cli.terminal.text import STATUS_COLOURS, format_age, format_table, to_one_line
from ostler.errors import UsageError
from ostler.project.actions import ACTIONS
from ostler.project.apply_action import apply_action
from ostler.project.decisions.moments import parse_age
from ostler.project.disposal.dispose import finish_disposals
from ostler.project.disposal.plan import PurgedTask, PurgePlan, plan_purge
from ostler.text import format_size

DEFAULT_AGE = "30d"
_MAX_BRANCHES = 3  # listed names


@click.command("purge", help=f"{ACTIONS['purge'].details} It cannot be undone.")
@click.argument("tasks", nargs=-1, metavar="[ID]...")
@click.option(
    "--older-than",
    metavar="AGE",
    help=f"Only tasks that ended longer ago, such as 30d or 12h.  [default: {DEFAULT_AGE} without ids]",
)
@click.option("--branches", is_flag=True, help="Also delete branches that are not merged.")
@click.option("--dry-run", is_flag=True, help="Only list what would be deleted.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask; needed without a terminal.")
@json_option
def command(
    tasks: tuple[str, ...], older_than: str | None, branches: bool, dry_run: bool, yes: bool, as_json: bool
) -> int:
    """Delete the files of ended tasks."""
    limit = older_than if older_than is not None else (None if tasks else DEFAULT_AGE)
    age = parse_age(limit, "--older-than") if limit is not None else None
    with open_project() as project:
        named = [project.resolve(text) for text in tasks]
        _require_confirmation(yes or dry_run, as_json)
        finished = [] if dry_run else finish_disposals(project)
        left = [task for task in named if task not in finished]
        plan = PurgePlan()
        if left or not named:
            plan = plan_purge(project, left, age, branches=branches, dry_run=dry_run)
        plan = replace(plan, finished=tuple(finished))
        if not as_json:
            _print_plan(plan, limit)
        if plan.tasks and not dry_run and not yes and not click.confirm("Delete them?", err=True):
            print_hint("Nothing is deleted.")
            return 1
        for one in plan.tasks if not dry_run else ():
            apply_action(project, os.environ, one.id, "purge", branches=branches)
    if as_json:
        print_json(to_builtins(plan))
    elif plan.tasks and not dry_run:
        print_hint(f"Purged {_count(len(plan.tasks), 'task')}; {format_size(plan.bytes)} freed.")
    return 0


def _require_confirmation(confirmed: bool, as_json: bool) -> None:
    if not confirmed and (as_json or not (sys.stdin.isatty() and sys.stderr.isatty())):
        raise UsageError(
            "purge deletes files and asks first, which needs a terminal",
            "ostler purge --dry-run   lists them,   ostler purge --yes   does not ask",
        )


def _print_plan(plan: PurgePlan, limit: str | None) -> None:
    for task in plan.finished:
        print_hint(f"{task}: the deletion that was interrupted is complete.")
    for one in plan.kept:
        print_hint(f"Kept {one.id}: {one.reason}.")
    if not plan.tasks:
        if not plan.finished:
            print_text(
                f"Nothing to purge: no task ended more than {limit} ago." if limit else "Nothing to purge."
            )
        return
    colours = [STATUS_COLOURS.get(one.status, "") for one in plan.tasks]
    header = ("task", "status", "ended", "size", "deletes")
    print_text(format_table(header, [_format_row(one) for one in plan.tasks], colours, ("ended",)))
    print_text("\n" + _summarize(plan))
    if kept := [one.kept_branch for one in plan.tasks if one.kept_branch]:
        names = ", ".join(kept[:_MAX_BRANCHES]) + (", ..." if len(kept) > _MAX_BRANCHES else "")
        print_text(f"Not merged, or checked out, and kept: {names}.  --branches deletes unmerged ones.")


def _format_row(one: PurgedTask) -> tuple[str, ...]:
    parts = [
        "files" if one.directories else "",
        "" if one.worktree is None else "worktree with uncommitted work" if one.uncommitted else "worktree",
        _count(len(one.refs), "ref") if one.refs else "",
        f"branch {one.branch}" if one.branch else "",
        f"{format_size(one.uploaded_bytes)} in the blob store" if one.uploaded_bytes else "",
    ]
    age = format_age(datetime.fromisoformat(one.ended_at).timestamp())
    return one.id, one.status, age, format_size(one.bytes), to_one_line(", ".join(filter(None, parts)))


def _summarize(plan: PurgePlan) -> str:
    worktrees = [one for one in plan.tasks if one.worktree]
    unsaved = sum(one.uncommitted for one in worktrees)
    note = f" ({unsaved} with uncommitted work, which is lost)" if unsaved else ""
    branches = sum(one.branch is not None for one in plan.tasks)
    refs = sum(len(one.refs) for one in plan.tasks)
    parts = [
        f"{format_size(plan.bytes)} of files",
        _count(len(worktrees), "worktree") + note if worktrees else "",
        _count(refs, "ref") if refs else "",
        _count(branches, "branch", "branches") if branches else "",
    ]
    return f"{_count(len(plan.tasks), 'task')}: {', '.join(filter(None, parts))}. Records and costs are kept."


def _count(number: int, noun: str, plural: str = "") -> str:
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
