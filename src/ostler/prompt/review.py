"""A review of a person as one text for the agent: numbered comments, and the request to answer them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from ostler.model.review import Comment, CommentKind, Place, Review, Side
from ostler.prompt.completion import strip_marks
from ostler.prompt.excerpt import fence
from ostler.prompt.replies import REPLY_EXAMPLE
from ostler.text import strip_control_characters, to_printable

Answer = Literal["message", "document", "none"]
"""Where the agent answers the comments: at the end of its last message, after the document, or not at all."""

_LONGEST = 100_000  # characters in a prompt; the file has everything
_KINDS: dict[CommentKind, str] = {"change": "Change", "question": "Question", "remark": "Remark"}
_SIDES: dict[Side, str] = {"new": "commit {commit}", "old": "the base {base}", "document": "the document"}

_REQUEST = """\
Go through all comments. Make each change, or decline it with a reason. Answer each question; a question alone
is no request for a change. A remark needs an answer only if you disagree.

{place} with one JSON object that answers each comment by its number:

{example}

The status is "changed" if you changed the work for it, "answered" for an answer without a change, and
"declined" if you do not make the change. `where` is the file and the line, or empty."""

_PLACES: dict[Answer, str] = {
    "message": "End your last message (its summary, if an object is requested as your answer)",
    "document": "After the end of the document, which does not contain it, end your answer",
}


def make_review_file_name(number: int) -> str:
    """Return the name of the file with the whole text, in the directory of the task."""
    return f"review-{number}.md"


def format_review(review: Review, answer: Answer = "message") -> str:
    """Return the whole review."""
    judged = f"commit {review.commit:.10}" if review.commit else "the result"
    parts = (
        f"{review.author} reviewed {judged} (review {review.number}) and sends the work back."
        " Line numbers are those of that version.",
        _quote(review.text),
        *(_format_comment(number, one, review) for number, one in enumerate(review.comments, 1)),
        format_request(review, answer),
    )
    return "\n\n".join(part for part in parts if part)


def format_request(review: Review, answer: Answer) -> str:
    """Return the request to answer the comments; empty if there is nothing to answer."""
    if answer == "none" or not review.comments:
        return ""
    return _REQUEST.format(place=_PLACES[answer], example=fence(REPLY_EXAMPLE))


def shorten_review(review: Review, answer: Answer, path: str) -> str:
    """Return the review for a prompt; one that is too long names the file with the whole text."""
    text = format_review(review, answer)
    if len(text) <= _LONGEST:
        return text
    request = format_request(review, answer)
    where = f"The review is longer: read all of it in {path}." if path else "The rest is left out."
    kept = text[:_LONGEST].rpartition("\n### ")[0] or text[:_LONGEST]
    return "\n\n".join(part for part in (kept.rstrip(), where, request) if part)


def _format_comment(number: int, comment: Comment, review: Review) -> str:
    parts = (
        f"### {number}. {_KINDS[comment.kind]}: {_describe_place(comment.place)}",
        "\n\n".join(_format_lines(comment, review)),
        _quote(comment.text),
        _format_suggestion(comment),
    )
    return "\n\n".join(part for part in parts if part)


def _quote(text: str) -> str:
    """Return the text of a person as a quote: no heading and no open code block in it reaches beyond it."""
    lines = (strip_control_characters(line) for line in strip_marks(text).strip().splitlines())
    return "\n".join(f"> {line}".rstrip() for line in lines)


def _describe_place(place: Place) -> str:
    """Return the file and the lines in words."""
    if not place.path:
        return "the whole work"
    path = to_printable(place.path)
    if not place.line:
        return path
    if place.end_line <= place.line:
        return f"{path}, line {place.line}"
    return f"{path}, lines {place.line} to {place.end_line}"


def _format_lines(comment: Comment, review: Review) -> Iterator[str]:
    """Yield the lines of the comment with those around them; `>` marks its own."""
    if not comment.excerpt:
        return
    commit = comment.commit or review.commit or ""
    version = _SIDES[comment.place.side].format(commit=commit[:10], base=(review.base or "")[:10])
    yield f"From {version}; `>` marks the lines of the comment:"
    first = max(1, comment.place.line - len(comment.before))
    marked = [(" ", one) for one in comment.before] + [(">", one) for one in comment.excerpt]
    marked += [(" ", one) for one in comment.after]
    numbered = [(mark, number, line) for number, (mark, line) in enumerate(marked, first)]
    yield fence("\n".join(f"{mark} {number:>4}  {line}".rstrip() for mark, number, line in numbered))


def _format_suggestion(comment: Comment) -> str:
    if comment.suggestion is None:
        return ""
    if not comment.suggestion:
        return "Suggestion: delete these lines."
    return f"Suggestion, in place of these lines:\n\n{fence(comment.suggestion.rstrip(chr(10)))}"
