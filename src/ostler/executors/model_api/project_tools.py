"""Read-only tools for a model API: list, read and search the files of a project, and read those of a skill.

Files with secrets are hidden.
"""

from __future__ import annotations

import asyncio
import os
import stat
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from ostler.errors import Code, OstlerError, PathEscape
from ostler.files.beneath import read_beneath
from ostler.files.paths import open_beneath, split_beneath
from ostler.llm.client import Tool, ToolResult, ToolUse
from ostler.model.call import READ_SKILL_FILE
from ostler.text import describe_os_error

MAX_RESULT_CHARACTERS = 32_000
MAX_CALLS_PER_TURN = 20
_MAX_NAMES = 1000
_MAX_NAMED = 50
_MAX_HITS = 200
_MAX_LINE = 300
_NOTICE_CHARACTERS = 100  # reserved for the notice about the next part

RelativePath = Annotated[str, Meta(description="Relative to the project; `.` is the whole project.")]


class ListFiles(Struct, frozen=True, forbid_unknown_fields=True):
    """List the files of the project, or of one directory and its subdirectories."""

    path: RelativePath = "."

    def run(self, project: ProjectFiles) -> str:
        return _listed(project.list_files(self.path), _MAX_NAMES)


class ReadFile(Struct, frozen=True, forbid_unknown_fields=True):
    """Read a text file of the project. A long file comes in parts: continue with from_line."""

    path: Annotated[str, Meta(description="Relative to the project.")]
    from_line: Annotated[int, Meta(ge=1)] = 1

    def run(self, project: ProjectFiles) -> str:
        return _page(project.read_lines(self.path), self.from_line)


class SearchText(Struct, frozen=True, forbid_unknown_fields=True):
    """Find the lines of the project's files that contain a text, ignoring case: path:line: text."""

    query: Annotated[str, Meta(min_length=1, description="Plain text, not a pattern.")]
    path: RelativePath = "."

    def run(self, project: ProjectFiles) -> str:
        return _listed(_hits(project, self.path, self.query.casefold()), _MAX_HITS)


class ReadSkillFile(Struct, frozen=True, forbid_unknown_fields=True):
    """Read a text file of the skill, or list one of its directories. Continue a long file with from_line."""

    path: Annotated[str, Meta(description="Relative to the directory of the skill; `.` lists all files.")]
    from_line: Annotated[int, Meta(ge=1)] = 1

    def run(self, skill: ProjectFiles) -> str:
        try:
            names = list(islice(skill.list_files(self.path), _MAX_NAMES + 1))
        except FileNotFoundError:
            known = _listed(skill.list_files(), _MAX_NAMED)
            message = f"{self.path!r:.200} does not exist in this skill. Its files:\n{known}"
            raise OstlerError(Code.INPUT_NOT_FOUND, message) from None
        if names != [_check_visible(self.path)]:
            return _listed(iter(names), _MAX_NAMES)
        return _page(skill.read_lines(self.path), self.from_line)


_KINDS: dict[str, type[ListFiles | ReadFile | SearchText]] = {
    "list_files": ListFiles,
    "read_file": ReadFile,
    "search_text": SearchText,
}
_SKILL_KINDS = {READ_SKILL_FILE: ReadSkillFile}
_AnyKind = type[ListFiles | ReadFile | SearchText | ReadSkillFile]


def _describe_tool(name: str, kind: type[Struct]) -> Tool:
    _, parts = msgspec.json.schema_components([kind])
    return Tool(name, kind.__doc__ or "", parts[kind.__name__])


_PROJECT_TOOLS = tuple(_describe_tool(name, kind) for name, kind in _KINDS.items())
_SKILL_TOOLS = tuple(_describe_tool(name, kind) for name, kind in _SKILL_KINDS.items())


class ToolBox(Struct, frozen=True):
    """The directories that a model may read; without one its tools are not offered."""

    project: Path | None = None
    skill: Path | None = None

    @property
    def tools(self) -> tuple[Tool, ...]:
        return (*(_PROJECT_TOOLS if self.project else ()), *(_SKILL_TOOLS if self.skill else ()))

    async def use(self, uses: Sequence[ToolUse]) -> tuple[ToolResult, ...]:
        """Run the tools of one turn in parallel; a failure is a result, too."""
        cancelled = threading.Event()
        try:
            allowed = uses[:MAX_CALLS_PER_TURN]
            runs = (asyncio.to_thread(self._run, use, cancelled) for use in allowed)
            results = await asyncio.gather(*runs)
        finally:
            # A thread cannot be cancelled from outside; it checks this event.
            cancelled.set()
        over_limit = f"only {MAX_CALLS_PER_TURN} calls are allowed per turn: call again"
        refused = (ToolResult(use.id, over_limit, is_error=True) for use in uses[MAX_CALLS_PER_TURN:])
        return (*results, *refused)

    def _run(self, use: ToolUse, cancelled: threading.Event) -> ToolResult:
        try:
            root, kind = self._find(use.name)
            text = _parse_call(use, kind).run(ProjectFiles(root, cancelled))
        except OstlerError as error:
            return ToolResult(use.id, _fit(error.message), is_error=True)
        except OSError as error:
            return ToolResult(use.id, f"the files cannot be read: {describe_os_error(error)}", is_error=True)
        return ToolResult(use.id, _fit(text) or "(nothing)")

    def _find(self, name: str) -> tuple[Path, _AnyKind]:
        """Return the directory and the kind of a tool; raise OstlerError for one that is not offered."""
        if self.project and name in _KINDS:
            return self.project, _KINDS[name]
        if self.skill and name in _SKILL_KINDS:
            return self.skill, _SKILL_KINDS[name]
        known = ", ".join(tool.name for tool in self.tools)
        raise OstlerError(Code.USAGE, f"unknown tool {name!r:.80}: expected one of {known}")


def _parse_call(use: ToolUse, kind: _AnyKind) -> ListFiles | ReadFile | SearchText | ReadSkillFile:
    try:
        return msgspec.json.decode(use.arguments.encode("utf-8", "replace"), type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise OstlerError(Code.USAGE, f"invalid arguments for {use.name}: {error}") from None


def _hits(project: ProjectFiles, path: str, query: str) -> Iterator[str]:
    for name in project.list_files(path):
        try:
            lines = project.read_lines(name)
        except OstlerError:
            # Too large, not text, or removed meanwhile.
            continue
        for number, line in enumerate(lines, 1):
            if query in line.casefold():
                yield f"{name}:{number}: {line.strip()[:_MAX_LINE]}"


def _listed(rows: Iterator[str], limit: int) -> str:
    found = list(islice(rows, limit + 1))
    more = [f"(there are more than {limit}: name a directory)"] if len(found) > limit else []
    return "\n".join((*found[:limit], *more))


def _page(lines: Sequence[str], first: int) -> str:
    """Return the lines from this one on, as many as fit."""
    size = 0
    for number, line in enumerate(lines[first - 1 :], first):
        size += len(line)
        if size > MAX_RESULT_CHARACTERS - _NOTICE_CHARACTERS and number > first:
            kept = "".join(lines[first - 1 : number - 1])
            return f"{kept}(cut: continue with from_line {number} of {len(lines)})"
    return "".join(lines[first - 1 :])


def _fit(text: str) -> str:
    clean = text.encode("utf-8", "replace").decode()
    if len(clean) <= MAX_RESULT_CHARACTERS:
        return clean
    return f"{clean[:MAX_RESULT_CHARACTERS]}\n(cut: {len(clean) - MAX_RESULT_CHARACTERS} more characters)"


_MAX_ENTRIES = 20_000
# Each level keeps a file descriptor open.
_MAX_DEPTH = 40
_MAX_FILE_BYTES = 1 << 20
_HIDDEN = frozenset({".git", ".ostler"})
# Listed and searched only when a path names them.
_SKIPPED = frozenset({"node_modules", ".venv", "__pycache__"})


class ProjectFiles(Struct, frozen=True):
    """The regular files of a project that a model may read: those below the root, without secrets."""

    root: Path
    cancelled: threading.Event

    def read_lines(self, path: str) -> list[str]:
        """Return the lines of a text file with their line endings; raise OstlerError for any other path."""
        data = read_beneath(self.root, _check_visible(path), _MAX_FILE_BYTES)
        _check_visible(self._resolve_links(path))
        if b"\0" in data:
            raise OstlerError(Code.INPUT_NOT_FOUND, f"{path} is a binary file: it cannot be read as text")
        return data.decode("utf-8-sig", "replace").splitlines(keepends=True)

    def _resolve_links(self, path: str) -> str:
        return os.path.relpath(os.path.realpath(self.root / path), os.path.realpath(self.root))

    def list_files(self, path: str = ".") -> Iterator[str]:
        """Yield the file of a path, or the files below a directory in order, relative to the root."""
        top = _check_visible(path)
        with _opened(self.root, top) as fd:
            if not stat.S_ISDIR(os.fstat(fd).st_mode):
                yield top
                return
            for here, name, at in islice(_walk(fd), _MAX_ENTRIES):
                if self.cancelled.is_set():
                    return
                if _is_regular(name, at):
                    yield str(PurePosixPath(top, here, name))


def _walk(top: int) -> Iterator[tuple[str, str, int]]:
    """Yield every visible entry: its directory, its name, the open directory; links are not followed."""
    for here, folders, names, at in os.fwalk(".", dir_fd=top):
        inner = (name for name in folders if name not in _SKIPPED and not _is_hidden(name))
        folders[:] = sorted(inner) if here.count("/") < _MAX_DEPTH else []
        for name in (*folders, *sorted(names)):
            if not _is_hidden(name):
                yield here, name, at


@contextmanager
def _opened(root: Path, path: str) -> Generator[int]:
    flags = os.O_RDONLY | os.O_CLOEXEC
    fd = os.open(root, flags | os.O_DIRECTORY) if path == "." else open_beneath(root, path, flags)
    try:
        yield fd
    finally:
        os.close(fd)


def _is_regular(name: str, directory: int) -> bool:
    try:
        return stat.S_ISREG(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode)
    except OSError:
        # Removed meanwhile.
        return False


def _check_visible(path: str) -> str:
    """Return the normalized path; raise PathEscape when it is outside the project or hidden."""
    if path.strip() in ("", ".", "./"):
        return "."
    parts = split_beneath(path)
    if any(_is_hidden(part) for part in parts):
        raise PathEscape(f"{path!r} is hidden from models")
    return "/".join(parts)


def _is_hidden(name: str) -> bool:
    """Return whether a name is that of the git or Ostler directory, or of a file with secrets."""
    name = name.casefold()
    return name in _HIDDEN or name == ".env" or name.startswith(".env.")
