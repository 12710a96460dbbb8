"""Tasks from Markdown files: each one a task, all mistakes of all of them told at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from ostler.errors import OstlerError, UsageError
from ostler.model.status import TERMINAL
from ostler.prompt.task_file import TaskFile, read_task_file
from ostler.sources.found import Found, digest_of, named, titled

STDIN = "-"
_SUFFIX = ".md"

ReadText = Callable[[str], str]
"""The text of a file, or of stdin for "-"; UsageError when it cannot be used."""


def find_files(paths: Sequence[str], *, recursive: bool) -> list[str]:
    """The files that these paths name, directories by their *.md; each once, in order."""
    found: list[str] = []
    for path in paths:
        found += [path] if path == STDIN or not Path(path).is_dir() else _inside(Path(path), recursive)
    return list(dict.fromkeys(found))


def read_files(files: Sequence[str], root: Path, read: ReadText) -> tuple[list[Found], list[str]]:
    """The task of each file, and all that is wrong in the others, with file and line."""
    found, mistakes = list[Found](), list[str]()
    for file in files:
        try:
            found.append(_read(file, root, read))
        except OstlerError as error:
            mistakes += [_located(line, _where(file)) for line in error.message.splitlines()]
    return found, mistakes


def _read(file: str, root: Path, read: ReadText) -> Found:
    text = read(file)
    said = read_task_file(text, _where(file))
    source = f"stdin:{digest_of(text).hex()[:16]}" if file == STDIN else f"file:{named(Path(file), root)}"
    notes = (*said.notes, *_remarks(said, _where(file)))
    return Found(
        titled(replace(said.task, source=source)), _where(file), notes, skipped=said.status in TERMINAL
    )


def _remarks(said: TaskFile, where: str) -> Iterator[str]:
    if said.status in TERMINAL:
        yield f"{where} is {said.status}: left out"
    if said.schedule:
        yield f"{said.schedule.where}: schedule is for ostler worker; this adds it once, now"


def _where(file: str) -> str:
    return "stdin" if file == STDIN else file


def _located(mistake: str, where: str) -> str:
    return mistake if where in mistake else f"{where}: {mistake}"


def _inside(folder: Path, recursive: bool) -> list[str]:
    files = sorted(str(path) for path in _walk(folder, recursive))
    if not files:
        deeper = "" if recursive else "; --recursive looks below it, too"
        raise UsageError(f"there is no {_SUFFIX} file in {folder}", f"name the files{deeper}")
    return files


def _walk(folder: Path, recursive: bool) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name.startswith("."):
            continue
        if path.suffix == _SUFFIX and path.is_file():
            yield path
        elif recursive and path.is_dir() and not path.is_symlink():
            yield from _walk(path, recursive)
