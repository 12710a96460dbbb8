"""Read the comments between the lines of the changes in a form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from ostler.cli.review.changes import ShownChanges, is_start
from ostler.cli.review.form import NOTE
from ostler.cli.review.marks import KIND_OF, SUGGESTION, Placed, read_mark
from ostler.errors import UsageError
from ostler.model.review import Place
from ostler.project.reviews.bundle import NewComment, normalize

_SHOWN = 60  # characters of a line in a message


class FormError(UsageError):
    """A form that cannot be read, with the line of the problem."""

    def __init__(self, line: int, message: str, hint: str = "") -> None:
        super().__init__(f"line {line} of the form: {message}", hint)
        self.line, self.reason = line, message


class _Block(Struct):
    """The lines of one comment."""

    line: int  # of the form
    mark: str
    texts: list[str]
    above: int  # index of the line of the changes; -1: none
    suggestion: list[str] | None = None


def read_comments(lines: Sequence[str], first: int, shown: ShownChanges) -> Iterator[NewComment]:
    """Yield the comments; `first` is the number of the first line in the form. Raises FormError."""
    above = _match_lines(lines, first, shown)
    for block in _list_blocks(lines, first, above):
        try:
            comment = _read_block(block, shown)
        except FormError:
            raise
        except UsageError as error:
            raise FormError(block.line, error.message, error.hint or "") from None
        if comment.text or comment.suggestion is not None:
            yield comment


def _list_blocks(lines: Sequence[str], first: int, above: Sequence[int]) -> Iterator[_Block]:
    block: _Block | None = None
    for number, (line, at) in enumerate(zip(lines, above, strict=True), first):
        mark, text = line[:1], line[1:]
        if mark == SUGGESTION:
            if block is None:
                block = _Block(number, "!", [], at)
            block.suggestion = [*(block.suggestion or ()), text.removeprefix(" ")]
            continue
        is_comment = mark in KIND_OF
        is_new = is_comment and (
            block is None or block.mark != mark or block.suggestion is not None or text.startswith("(")
        )
        if block is not None and (is_new or not is_comment):
            yield block
            block = None
        if is_comment and block is None:
            block = _Block(number, mark, [text], at)
        elif is_comment and block is not None:
            block.texts.append(text.removeprefix(" "))
    if block is not None:
        yield block


def _read_block(block: _Block, shown: ShownChanges) -> NewComment:
    found = read_mark(block.texts[0], shown.side) if block.texts else Placed("")
    place = found.place or _find_place(block, found.count, shown)
    if place.side == "old" and shown.since:
        raise UsageError("comments on removed lines need all changes", "omit --since")
    suggestion = None if block.suggestion is None else "\n".join(block.suggestion)
    if suggestion is not None and (not place.line or place.side == "old"):
        raise UsageError("a suggestion replaces lines of the new version", "write it below such a line")
    text = normalize("\n".join((found.text, *block.texts[1:])))
    return NewComment(KIND_OF[block.mark], place, text, suggestion)


def _find_place(block: _Block, count: int, shown: ShownChanges) -> Place:
    if block.above < 0:
        if count > 1:
            raise UsageError("there are no lines above it", "write it below the lines")
        return Place()
    return shown.place_above(block.above, count)


def _match_lines(lines: Sequence[str], first: int, shown: ShownChanges) -> list[int]:
    """Return for each line of the form the index of the last line of the changes up to it.

    The rest of a hunk, and whole hunks and files, may have been deleted; a line that is not one of the
    changes is refused, since the comments after it could be about other lines.
    """
    at, above, run = 0, list[int](), list[str]()
    for number, line in enumerate(lines, first):
        if not line.strip() or line[:1] in KIND_OF or line.startswith((NOTE, SUGGESTION)):
            run.append(line)
            continue
        passed = _count_blank(shown, at)
        found = _find_next(line, shown, at + passed)
        if found is None:
            raise _not_of_changes(number, line, shown, at + passed)
        above += _place_blank(run, at, passed)
        above.append(found)
        at, run = found + 1, []
    return above + _place_blank(run, at, _count_blank(shown, at))


def _find_next(line: str, shown: ShownChanges, at: int) -> int | None:
    """Return the index of this line: the expected one, or a later start of a hunk or a file."""
    wanted = line.rstrip()
    if at < len(shown.lines) and shown.lines[at].text.rstrip() == wanted:
        return at
    later = range(at, len(shown.lines)) if is_start(line) else ()
    return next((i for i in later if shown.lines[i].text.rstrip() == wanted), None)


def _count_blank(shown: ShownChanges, at: int) -> int:
    """Return how many blank lines the changes have from an index on."""
    count = 0
    while at + count < len(shown.lines) and not shown.lines[at + count].text.strip():
        count += 1
    return count


def _place_blank(run: Sequence[str], at: int, count: int) -> list[int]:
    """Return the index of the last line of the changes for blank lines and comments.

    Some blank lines are those of the changes, others were added around comments: those with the space of a
    diff are of the changes; if an editor has removed it, the last ones are.
    """
    blank = [i for i, line in enumerate(run) if not line.strip()]
    exact = [i for i in blank if run[i] == " "]
    own = exact[:count] if len(exact) >= count else blank[len(blank) - min(count, len(blank)) :]
    above, last = list[int](), at - 1
    for i in range(len(run)):
        last += i in own
        above.append(last)
    return above


def _not_of_changes(number: int, line: str, shown: ShownChanges, at: int) -> FormError:
    expected = shown.lines[at].text if at < len(shown.lines) else ""
    instead = f"; expected {expected[:_SHOWN]!r}" if expected else ""
    message = f"{line[:_SHOWN]!r} is neither a comment nor a line of the changes{instead}"
    return FormError(number, message, "begin comments with !, ? or *; the lines of the changes must stay")
