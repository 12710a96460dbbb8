"""Tasks from Markdown files, one task per file; all errors are reported at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from ostler.errors import OstlerError, UsageError
from ostler.model.status import TERMINAL
from ostler.sources.found import FoundTask, digest_of, source_path, with_short_title
from ostler.sources.task_file import TaskFile, read_task_file

STDIN = "-"
_SUFFIX = ".md"

ReadText = Callable[[str], str]
"""Return the text of a file, or of stdin for "-"; raise UsageError when it is unusable."""


def find_files(paths: Sequence[str], *, recursive: bool) -> list[str]:
    """Return the named files, and the *.md files of named directories, without duplicates."""
    found: list[str] = []
    for path in paths:
        found += [path] if path == STDIN or not Path(path).is_dir() else _list_folder(Path(path), recursive)
    return list(dict.fromkeys(found))


def read_files(files: Sequence[str], root: Path, read: ReadText) -> tuple[list[FoundTask], list[str]]:
    """Return the tasks, and the errors of all other files with file and line."""
    found, mistakes = list[FoundTask](), list[str]()
    for file in files:
        try:
            found.append(_read(file, root, read))
        except OstlerError as error:
            mistakes += [_with_location(line, _display_name(file)) for line in error.message.splitlines()]
    return found, mistakes


def _read(file: str, root: Path, read: ReadText) -> FoundTask:
    text = read(file)
    parsed = read_task_file(text, _display_name(file))
    source = (
        f"stdin:{digest_of(text).hex()[:16]}" if file == STDIN else f"file:{source_path(Path(file), root)}"
    )
    notes = (*parsed.notes, *_make_notes(parsed, _display_name(file)))
    return FoundTask(
        with_short_title(replace(parsed.task, source=source)),
        _display_name(file),
        notes,
        skipped=parsed.status in TERMINAL,
    )


def _make_notes(parsed: TaskFile, where: str) -> Iterator[str]:
    if parsed.task.id and parsed.task.external_id:
        yield f"{where}: id {parsed.task.external_id} is {parsed.task.id} here"
    if parsed.status in TERMINAL:
        yield f"{where} is {parsed.status}: skipped"
    if parsed.schedule:
        yield f"{parsed.schedule.location}: only ostler worker uses the schedule; the task is added once, now"


def _display_name(file: str) -> str:
    return "stdin" if file == STDIN else file


def _with_location(mistake: str, where: str) -> str:
    return mistake if where in mistake else f"{where}: {mistake}"


def _list_folder(folder: Path, recursive: bool) -> list[str]:
    files = sorted(str(path) for path in _walk(folder, recursive))
    if not files:
        deeper = "" if recursive else ", or use --recursive for subdirectories"
        raise UsageError(f"no {_SUFFIX} file in {folder}", f"name files{deeper}")
    return files


def _walk(folder: Path, recursive: bool) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name.startswith("."):
            continue
        if path.suffix == _SUFFIX and path.is_file():
            yield path
        elif recursive and path.is_dir() and not path.is_symlink():
            yield from _walk(path, recursive)
