"""The changes of a task as lines that a person can comment on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from ostler.cli.terminal.text import escape_controls
from ostler.errors import UsageError
from ostler.model.ids import TaskId
from ostler.model.review import Place, Side
from ostler.project.project import Project
from ostler.project.reviews.changes import read_changes_patch, view_changes
from ostler.project.reviews.documents import view_document
from ostler.views.diff.changes import ChangedFile, Changes, DocumentView

FILE_HEADS = ("diff --git ", "document ")
_HUNK_HEAD = "@@ "
_NO_END = "\\"
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_SIGNS = (" ", "+", "-")


class ChangeLine(Struct, frozen=True):
    """A line of the changes, with its sign."""

    text: str
    path: str  # of the file, as comments name it
    old: int = 0  # its number in the base; 0: the line is not in it
    new: int = 0

    @property
    def is_start(self) -> bool:
        """Whether a file or a hunk begins here."""
        return not self.number and is_start(self.text)

    @property
    def number(self) -> int:
        return self.new or self.old


class ShownChanges(Struct, frozen=True):
    """What a person reads and comments on."""

    lines: tuple[ChangeLine, ...] = ()
    notes: tuple[str, ...] = ()
    side: Side = "new"  # of lines that are not removed
    since: int = 0  # review whose work is the left side
    summary: str = ""  # the number of files and lines

    def place_above(self, index: int, count: int = 1) -> Place:
        """Return the place of `count` lines that end with this one. Raises UsageError.

        For a line that begins a file or a hunk it is the whole file.
        """
        if self.lines[index].text.startswith(_NO_END):
            index -= 1
        last = self.lines[index]
        if not last.number:
            return Place(last.path, self.side)
        side: Side = self.side if last.new else "old"
        if side == "old" and self.since:
            raise UsageError("comments on removed lines need all changes", "omit --since")
        numbers = [_number(line, side) for line in self.lines[: index + 1] if line.path == last.path]
        chosen = [number for number in numbers if number][-count:]
        if len(chosen) < count or chosen[-1] - chosen[0] != count - 1:
            raise UsageError(f"there are no {count} lines in a row above it", "name them: !(PATH:FIRST-LAST)")
        return Place(last.path, side, chosen[0], chosen[-1])

    def index(self) -> dict[Place, int]:
        """Return where the comments on each single line, and on each file, belong."""
        found: dict[Place, int] = {}
        for index, line in enumerate(self.lines):
            side: Side = "old" if line.old and not line.new else self.side
            found.setdefault(Place(line.path, side, line.number, line.number), index)
        return found


def is_start(text: str) -> bool:
    return text.startswith((*FILE_HEADS, _HUNK_HEAD))


def _number(line: ChangeLine, side: Side) -> int:
    return line.old if side == "old" and not line.new else line.new if side != "old" else 0


def read_changes(project: Project, task: TaskId, since: int = 0, *, generated: bool = True) -> ShownChanges:
    """Return the changes, or the document of a task that writes one; without any, a note has the reason."""
    try:
        if project.state(task).plan.is_document and not since:
            return _show_document(view_document(project, task))
        changes = view_changes(project, task, since)
        # An agent that works meanwhile changes neither.
        patch = read_changes_patch(project, task, since, "", changes.head)
    except UsageError as error:
        if since:
            raise
        return ShownChanges(notes=(error.message,))
    side: Side = "document" if project.state(task).plan.is_document else "new"
    sections = _split_patch(patch.patch, changes.files)
    lines = tuple(line for file, text in sections for line in _list_lines(file, text, generated=generated))
    notes = [*_list_notes(changes, patch.truncated)]
    if not generated and (hidden := [file.path for file in changes.files if file.generated]):
        notes.append(f"Not shown, since they are generated: {', '.join(hidden)}")
    return ShownChanges(lines, tuple(notes), side, since, _summarize(changes))


def _show_document(document: DocumentView) -> ShownChanges:
    path, texts = document.path, document.text.split("\n")
    texts = texts[:-1] if not texts[-1] else texts
    head = ChangeLine(escape_controls(f"document {path}"), path)
    body = [ChangeLine(_clean(f" {text}"), path, 0, number) for number, text in enumerate(texts, 1)]
    notes = ["it is not a text"] if document.kind == "binary" else []
    notes += ["only the beginning is shown"] if document.truncated else []
    return ShownChanges((head, *body), tuple(notes), "document", summary=f"{path}, {len(body)} lines")


def _summarize(changes: Changes) -> str:
    count = len(changes.files)
    files = f"{count} file{'' if count == 1 else 's'}"
    return f"{files}, +{changes.additions} -{changes.deletions}"


def _list_notes(changes: Changes, truncated: bool) -> Iterator[str]:
    if changes.note:
        yield changes.note
    elif not changes.files:
        yield "No file is changed."
    if changes.uncommitted:
        yield "Some of these changes are not committed."
    if truncated or changes.truncated:
        yield f"The changes are too large to be shown whole: ostler diff {changes.id}"


def _split_patch(patch: str, files: Sequence[ChangedFile]) -> Iterator[tuple[ChangedFile, list[str]]]:
    """Yield each file with its part of the patch; a change of the type has two parts."""
    parts = [part.split("\n") for part in re.split(r"^(?=diff --git )", patch, flags=re.MULTILINE) if part]
    owners = [file for file in files for _ in range(2 if file.status == "type_changed" else 1)]
    for file, part in zip(owners, parts, strict=False):
        yield file, part[:-1] if not part[-1] else part


def _list_lines(file: ChangedFile, part: Iterable[str], *, generated: bool) -> Iterator[ChangeLine]:
    old = new = 0
    is_body = False
    for text in part:
        if found := _HUNK.match(text):
            if file.generated and not generated:
                return
            old, new, is_body = int(found[1]), int(found[2]), True
            yield ChangeLine(_clean(text), file.path)
        elif is_body and text[:1] in _SIGNS:
            sign = text[:1]
            yield ChangeLine(_clean(text), file.path, old * (sign != "+"), new * (sign != "-"))
            old, new = old + (sign != "+"), new + (sign != "-")
        elif not text.startswith("index "):
            yield ChangeLine(_clean(text), file.path)


def _clean(text: str) -> str:
    return escape_controls(text.removesuffix("\r"))
