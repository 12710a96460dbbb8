"""ostler import"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click

from ostler.cli.options import json_option, open_project
from ostler.cli.task_input import read_text
from ostler.cli.terminal.output import print_hint, print_json, print_text
from ostler.cli.terminal.text import format_table, to_one_line
from ostler.errors import UsageError
from ostler.model.notice import Notice, SourceUpdateFailed
from ostler.project.project import Project
from ostler.project.registry.known_projects import remember_project
from ostler.project.tasks.files.imports import Imported, import_tasks
from ostler.project.tasks.files.write_back import retry_source_updates
from ostler.sources.checklist_file import read_checklist
from ostler.sources.found import FoundTask
from ostler.sources.issues import list_issues, normalize_repository, remote_repository
from ostler.sources.markdown import find_files, read_files
from ostler.sources.origin import BoxOrigin, IssueOrigin


@click.command("import")
@click.argument("paths", nargs=-1, metavar="[PATH|-]...")
@click.option("--recursive", is_flag=True, help="Include subdirectories.")
@click.option(
    "--checklist",
    metavar="FILE",
    help="Import each open box of a file; a box is ticked when its task completes.",
)
@click.option(
    "--github",
    "label",
    metavar="LABEL",
    help="Import each open issue with this label; Ostler comments when its task completes.",
)
@click.option(
    "--issue", type=click.IntRange(min=1), metavar="N", help="With --github: import only this issue."
)
@click.option(
    "--repo",
    "repository",
    metavar="OWNER/NAME",
    help="With --github: the repository.  [default: that of the git remote]",
)
@json_option
def command(
    paths: tuple[str, ...],
    recursive: bool,
    checklist: str | None,
    label: str | None,
    issue: int | None,
    repository: str | None,
    as_json: bool,
) -> None:
    """Import tasks from files, directories, stdin (-), a checklist or GitHub issues.

    A file is Markdown with optional front matter; a directory means its *.md files.

    An error in one task stops the import before anything is added. Importing twice adds nothing.
    """
    if not paths and checklist is None and label is None:
        raise UsageError(
            "nothing to import: pass a path, --checklist or --github",
            "ostler import PATH...   or   ostler import --checklist FILE   or   ostler import --github LABEL",
        )
    if (repository or issue is not None) and label is None:
        raise UsageError("--repo and --issue need --github LABEL")
    with open_project(create=True) as project:
        root = project.layout.root
        found, mistakes = read_files(find_files(paths, recursive=recursive), root, read_text)
        found += read_checklist(Path(checklist), root) if checklist is not None else []
        found += _list_issues(project, label, repository, issue) if label is not None else []
        imported = import_tasks(project, found, mistakes)
        remember_project(project.layout.root, os.environ)
        updates = retry_source_updates(project, BoxOrigin) if checklist is not None else []
        updates += retry_source_updates(project, IssueOrigin) if label is not None else []
    if as_json:
        _print_json(imported, updates)
    else:
        _print_result(found, imported, updates)


def _list_issues(project: Project, label: str, repository: str | None, number: int | None) -> list[FoundTask]:
    if not label.strip():
        raise UsageError("--github needs a label, such as: ostler import --github ready")
    root, target = project.layout.root, project.settings.git.target
    name = normalize_repository(repository or remote_repository(root, target))
    source = str(IssueOrigin(name, number)) if number is not None else ""
    return [one for one in list_issues(name, label) if source in ("", one.task.source)]


def _print_json(imported: Sequence[Imported], updates: Sequence[Notice]) -> None:
    tasks = [{"id": one.task.id, "source": one.task.source, "added": one.is_new} for one in imported]
    failed = [
        {"source": one.source, "message": one.message}
        for one in updates
        if isinstance(one, SourceUpdateFailed)
    ]
    print_json({"schema": "ostler.import/1", "tasks": tasks, "not_updated": failed})


def _print_result(
    found: Sequence[FoundTask], imported: Sequence[Imported], updates: Sequence[Notice]
) -> None:
    for note in (note for one in found for note in one.notes):
        print_hint(note)
    new = [one for one in imported if one.is_new]
    if new:
        rows = [(one.task.id, to_one_line(one.task.source), to_one_line(one.task.title)) for one in new]
        print_text(format_table(("added", "from", "title"), rows, (), ("from",)))
    for notice in updates:
        if isinstance(notice, SourceUpdateFailed):
            print_hint(f"could not update {notice.source}: {notice.message}")
    before = len(imported) - len(new)
    print_hint(_format_summary(len(new), before))


def _format_summary(new: int, before: int) -> str:
    existing = f"{before} {'task' if before == 1 else 'tasks'} already imported"
    if not new:
        return f"Nothing new: {existing}." if before else "Nothing to import: no open items found."
    return "\n".join(filter(None, ("", f"{existing}." if before else "", "Next: ostler run --all")))
