"""What a model that is asked directly may do in a project: list, read and search files, and change none."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from ostler.errors import Code, OstlerError
from ostler.executors.project_files import Project
from ostler.llm.client import Tool, ToolResult, ToolUse

MOST_CHARACTERS = 32_000  # of one result
MOST_AT_ONCE = 20  # calls of one turn that are answered
_MOST_NAMES = 1000
_MOST_HITS = 200
_LONGEST_LINE = 300
_ROOM = 100  # for the sentence that says how to go on

Place = Annotated[str, Meta(description="Relative to the project; `.` is all of it.")]


class ListFiles(Struct, frozen=True, forbid_unknown_fields=True):
    """List the files of the project, or of one directory of it and everything below."""

    path: Place = "."

    def use(self, project: Project) -> str:
        return _listed(project.files(self.path), _MOST_NAMES)


class ReadFile(Struct, frozen=True, forbid_unknown_fields=True):
    """Read a text file of the project. A long one comes in parts: go on with from_line."""

    path: Annotated[str, Meta(description="Relative to the project.")]
    from_line: Annotated[int, Meta(ge=1)] = 1

    def use(self, project: Project) -> str:
        return _page(project.lines(self.path), self.from_line)


class SearchText(Struct, frozen=True, forbid_unknown_fields=True):
    """Find the lines of the project's files that hold a text, in upper or lower case: path:line: text."""

    query: Annotated[str, Meta(min_length=1, description="The text itself; it is no pattern.")]
    path: Place = "."

    def use(self, project: Project) -> str:
        return _listed(_hits(project, self.path, self.query.casefold()), _MOST_HITS)


_KINDS: dict[str, type[ListFiles | ReadFile | SearchText]] = {
    "list_files": ListFiles,
    "read_file": ReadFile,
    "search_text": SearchText,
}


def _offer(name: str, kind: type[Struct]) -> Tool:
    _, parts = msgspec.json.schema_components([kind])
    return Tool(name, kind.__doc__ or "", parts[kind.__name__])


TOOLS = tuple(_offer(name, kind) for name, kind in _KINDS.items())


async def use_tools(root: Path, uses: Sequence[ToolUse]) -> tuple[ToolResult, ...]:
    """Everything that was asked for in one turn, at the same time; a failure is a result like any other."""
    project = Project(root, threading.Event())
    try:
        in_time = uses[:MOST_AT_ONCE]
        results = await asyncio.gather(*(asyncio.to_thread(_use, project, use) for use in in_time))
    finally:
        project.unwanted.set()  # a thread cannot be cancelled, but it looks at this
    late = f"only {MOST_AT_ONCE} calls are answered at once: ask again"
    return (*results, *(ToolResult(use.id, late, is_error=True) for use in uses[MOST_AT_ONCE:]))


def _use(project: Project, use: ToolUse) -> ToolResult:
    try:
        said = _wish(use).use(project)
    except OstlerError as error:
        return ToolResult(use.id, _fit(error.message), is_error=True)
    except OSError as error:
        return ToolResult(use.id, f"the files cannot be read: {error.strerror}", is_error=True)
    return ToolResult(use.id, _fit(said) or "(nothing)")


def _wish(use: ToolUse) -> ListFiles | ReadFile | SearchText:
    kind = _KINDS.get(use.name)
    if kind is None:
        raise OstlerError(Code.USAGE, f"there is no tool {use.name!r:.80}, but {', '.join(_KINDS)}")
    try:
        return msgspec.json.decode(use.arguments.encode("utf-8", "replace"), type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise OstlerError(Code.USAGE, f"these are no arguments for {use.name}: {error}") from None


def _hits(project: Project, path: str, query: str) -> Iterator[str]:
    for name in project.files(path):
        try:
            lines = project.lines(name)
        except OstlerError:
            continue  # too large, no text, or gone meanwhile
        for number, line in enumerate(lines, 1):
            if query in line.casefold():
                yield f"{name}:{number}: {line.strip()[:_LONGEST_LINE]}"


def _listed(rows: Iterator[str], most: int) -> str:
    found = list(islice(rows, most + 1))
    more = [f"(there are more than {most}: name a directory)"] if len(found) > most else []
    return "\n".join((*found[:most], *more))


def _page(lines: Sequence[str], first: int) -> str:
    """From this line on, as many as fit."""
    size = 0
    for number, line in enumerate(lines[first - 1 :], first):
        size += len(line)
        if size > MOST_CHARACTERS - _ROOM and number > first:
            kept = "".join(lines[first - 1 : number - 1])
            return f"{kept}(cut: go on with from_line {number} of {len(lines)})"
    return "".join(lines[first - 1 :])


def _fit(text: str) -> str:
    clean = text.encode("utf-8", "replace").decode()
    if len(clean) <= MOST_CHARACTERS:
        return clean
    return f"{clean[:MOST_CHARACTERS]}\n(cut: {len(clean) - MOST_CHARACTERS} more characters)"
