"""Comments of sent reviews in words, with what has become of them and the agent's answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ostler.cli.review.changes import ShownChanges
from ostler.cli.review.marks import format_lines
from ostler.cli.terminal.diff_lines import Line
from ostler.cli.terminal.markdown import sanitize_lines
from ostler.cli.terminal.text import to_one_line
from ostler.model.review import Comment, CommentState, Place, name_author
from ostler.project.reviews.view import ReviewView, SentComment, SentReview

VERDICTS = {"approve": "approved it", "changes": "sent it back"}
_STATES: dict[CommentState, str] = {
    "unchanged": "not changed since",
    "changed": "changed since",
    "probably_changed": "probably changed since",
    "moved": "moved since",
    "deleted": "deleted since",
    "unknown": "",
}
_MOST_LINES = 20  # of an excerpt or a change
_COLOURS = {"-": "red", "+": "green"}


def describe_place(place: Place) -> str:
    """Return the file and the lines; `old` lines are those that were removed."""
    if not place.path:
        return "the whole work"
    return to_one_line(place.path) + format_lines(place) + (" (removed)" if place.side == "old" else "")


def describe_comment(comment: Comment, numbers: str = "") -> Iterator[Line]:
    """Yield a comment: its place, its lines, the text and the suggestion."""
    through = " (through MCP)" if comment.via else ""
    yield f"{numbers}{comment.kind} on {describe_place(comment.place)}{through}", "bold"
    yield from _quote(comment.excerpt, "  │ ", "dim")
    yield from ((f"  {line}".rstrip(), "") for line in sanitize_lines(comment.text.strip("\n")))
    if comment.suggestion is not None:
        yield ("  instead:" if comment.suggestion else "  delete these lines"), "dim"
        if comment.suggestion:
            yield from _quote(comment.suggestion.rstrip("\n").split("\n"), "  = ", "green")


def describe_sent(view: ReviewView, review: SentReview, comment: SentComment) -> Iterator[Line]:
    """Yield a comment of a sent review, with what has become of it."""
    is_back = review.commit != view.commit or view.document
    yield from describe_comment(replace(comment, excerpt=_choose_excerpt(comment)), f"{comment.number}. ")
    state = [_STATES[comment.state] if is_back else "", "resolved" if comment.resolved else ""]
    if comment.now and comment.now != comment.place:
        state[0] += f", now {describe_place(comment.now)}"
    if any(state):
        yield f"  {'; '.join(filter(None, state))}", "dim" if comment.resolved else "yellow"
    for line in comment.since[:_MOST_LINES]:
        yield f"  {to_line(line)}".rstrip(), _COLOURS.get(line[:1], "dim")
    if comment.reply is not None:
        where = f" {to_one_line(comment.reply.where)}" if comment.reply.where else ""
        first, *rest = sanitize_lines(comment.reply.text.strip())
        yield f"  agent: {comment.reply.status}{where}: {first}".rstrip(": "), "blue"
        yield from ((f"  {line}".rstrip(), "blue") for line in rest)
    elif review.verdict == "changes" and is_back:
        yield "  agent: no answer", "dim"


def place_earlier(view: ReviewView, shown: ShownChanges) -> dict[int, list[str]]:
    """Return the comments of earlier reviews by the line of the changes that they are about now; -1: none."""
    found: dict[int, list[str]] = {}
    for review in view.reviews:
        if review.text.strip():
            done = f"{name_author(review.by, review.via)} {VERDICTS[review.verdict]}"
            found.setdefault(-1, []).append(f"[review {review.number}] {done}: {review.text.strip()}")
        for at, comment in _find_lines(review, shown):
            texts = [text for text, _ in describe_sent(view, review, comment)]
            block = [
                f"[review {review.number}, {name_author(review.by, comment.via)}] {texts[0]}",
                *texts[1:],
            ]
            found.setdefault(at, []).extend(block)
    return found


def place_briefly(view: ReviewView, shown: ShownChanges) -> dict[int, list[str]]:
    """Return the same in one or two lines each, for changes that are shown below the whole comments."""
    found: dict[int, list[str]] = {}
    for review in view.reviews:
        for at, comment in _find_lines(review, shown):
            if at >= 0:
                text = to_one_line(comment.text) or "suggestion"
                block = [f"[review {review.number}, {comment.number}] {comment.kind}: {text}"]
                if comment.reply is not None:
                    block.append(f"  agent: {comment.reply.status}: {to_one_line(comment.reply.text)}")
                found.setdefault(at, []).extend(block)
    return found


def _find_lines(review: SentReview, shown: ShownChanges) -> Iterator[tuple[int, SentComment]]:
    """Yield the comments with the index of the line that they are about now; -1: it is not shown."""
    index = shown.index()
    for comment in review.comments:
        now = comment.now
        yield index.get(replace(now, line=now.end_line), -1) if now and now.path else -1, comment


def to_line(text: str) -> str:
    """Return a line of code without control characters."""
    return sanitize_lines(text)[0]


def _choose_excerpt(comment: SentComment) -> tuple[str, ...]:
    """Return the lines of the comment, unless they are shown as removed ones or are still there."""
    return () if comment.since or comment.state in ("unchanged", "moved") else comment.excerpt


def _quote(lines: Sequence[str], prefix: str, colour: str) -> Iterator[Line]:
    for line in lines[:_MOST_LINES]:
        yield f"{prefix}{to_line(line)}".rstrip(), colour
    if len(lines) > _MOST_LINES:
        yield f"{prefix}… {len(lines) - _MOST_LINES} more lines", "dim"
