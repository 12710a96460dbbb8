"""ostler import"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ostler.cli.given import read_text
from ostler.cli.out import emit, hint, json_option, open_project, say
from ostler.cli.text import one_line, table
from ostler.errors import UsageError
from ostler.model.notice import Notice, SourceNotTold
from ostler.project.imports import Imported, import_tasks
from ostler.project.project import Project
from ostler.project.write_back import tell_again
from ostler.sources.boxes import read_checklist
from ostler.sources.found import Found
from ostler.sources.issues import list_issues, plain_repository, remote_repository
from ostler.sources.markdown import find_files, read_files
from ostler.sources.origin import BoxOrigin, IssueOrigin


@click.command("import")
@click.argument("paths", nargs=-1, metavar="[PATH|-]...")
@click.option("--recursive", is_flag=True, help="Take what is below a directory's directories, too.")
@click.option(
    "--checklist", metavar="FILE", help="Each open box of the file; ticked when its task is completed."
)
@click.option(
    "--github", "label", metavar="LABEL", help="Each open issue with that label; told when it is completed."
)
@click.option("--issue", type=int, metavar="N", help="Of these only the one with this number.")
@click.option(
    "--repo", "repository", metavar="OWNER/NAME", help="Of this repository; else that of the remote."
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
    """Write down tasks that stand elsewhere: files, directories, stdin (-), a checklist, issues.

    A file is Markdown, with front matter if it likes; of a directory all *.md are taken.

    All are added, or none when one has a mistake. What was imported before is not added again.
    """
    if not paths and checklist is None and label is None:
        raise UsageError("say what to import", "ostler import PATH...   --checklist FILE   --github LABEL")
    if (repository or issue is not None) and label is None:
        raise UsageError("--repo and --issue go with --github LABEL")
    with open_project(create=True) as project:
        root = project.layout.root
        found, mistakes = read_files(find_files(paths, recursive=recursive), root, read_text)
        found += read_checklist(Path(checklist), root) if checklist is not None else []
        found += _issues(project, label, repository, issue) if label is not None else []
        imported = import_tasks(project, found, mistakes)
        told = tell_again(project, BoxOrigin) if checklist is not None else []
        told += tell_again(project, IssueOrigin) if label is not None else []
    if as_json:
        _emit(imported, told)
    else:
        _print(found, imported, told)


def _issues(project: Project, label: str, repository: str | None, number: int | None) -> list[Found]:
    if not label.strip():
        raise UsageError("--github needs a label", "ostler import --github ready")
    name = plain_repository(repository or remote_repository(project.layout.root, project.settings.git.target))
    wanted = str(IssueOrigin(name, number)) if number is not None else ""
    return [one for one in list_issues(name, label) if wanted in ("", one.task.source)]


def _emit(imported: Sequence[Imported], told: Sequence[Notice]) -> None:
    tasks = [{"id": one.task.id, "source": one.task.source, "added": one.is_new} for one in imported]
    failed = [
        {"source": one.source, "message": one.message} for one in told if isinstance(one, SourceNotTold)
    ]
    emit({"schema": "ostler.import/1", "tasks": tasks, "not_told": failed})


def _print(found: Sequence[Found], imported: Sequence[Imported], told: Sequence[Notice]) -> None:
    for note in (note for one in found for note in one.notes):
        hint(note)
    new = [one for one in imported if one.is_new]
    if new:
        rows = [(one.task.id, one_line(one.task.source), one_line(one.task.title)) for one in new]
        say(table(("added", "from", "title"), rows, (), ("from",)))
    for notice in told:
        if isinstance(notice, SourceNotTold):
            hint(f"{notice.source} could not be told: {notice.message}")
    before = len(imported) - len(new)
    hint(_summary(len(new), before))


def _summary(new: int, before: int) -> str:
    here = f"{before} {'is' if before == 1 else 'are'} here already"
    if not new:
        return f"Nothing new: {here}." if before else "Nothing to import: all of it is done."
    return "\n".join(filter(None, ("", f"{here}." if before else "", "Next: ostler run --all")))
