"""The review of a task on a terminal: its comments, the answers of the agent, and the changes in colour."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from ostler.cli.review.changes import FILE_HEADS, ChangeLine, ShownChanges
from ostler.cli.review.earlier import VERDICTS, describe_comment, describe_sent
from ostler.cli.review.facts import describe_gates, describe_task, describe_texts
from ostler.cli.terminal.code_colours import colour_code
from ostler.cli.terminal.diff_lines import Line
from ostler.cli.terminal.markdown import break_line, render_markdown, sanitize_lines, wrap_line
from ostler.cli.terminal.text import format_age, format_count, paint, to_one_line
from ostler.model.review import name_author
from ostler.project.reviews.view import ReviewView, SentReview

_SIGN_COLOURS = {"+": "green", "-": "red"}
_NUMBER_COLUMNS = 5
MARGIN_COLUMNS = _NUMBER_COLUMNS + 2  # the number of a line and its sign
_NAMES = ("--- ", "+++ ")  # lines that repeat the name of the file
_TEXT_COLUMNS = 120
_MOST_COLOURED = 4_000  # lines: colours of more take seconds


def render_review(view: ReviewView, summary: str, columns: int, colour: bool) -> Iterator[str]:
    """Yield the task, the gates, the summary, and every comment with the agent's answer."""
    width = min(columns, _TEXT_COLUMNS)
    title, *facts = describe_task(view, summary)
    yield from _wrap([(title, "bold"), *((one, "") for one in facts), *describe_gates(view)], width, colour)
    for name, texts in describe_texts(view):
        yield from ("", paint(f"{name}:", "bold", colour))
        yield from (f"  {line}".rstrip() for line in render_markdown("\n".join(texts), width - 2, colour))
    for review in view.reviews:
        yield ""
        yield from _wrap(_list_sent(view, review), width, colour)
    if view.drafts:
        yield from ("", paint(f"Not sent: {format_count(len(view.drafts), 'comment')}", "bold", colour))
        yield from _wrap((line for one in view.drafts for line in describe_comment(one)), width, colour)


def _list_sent(view: ReviewView, review: SentReview) -> Iterator[Line]:
    done = f"{name_author(review.by, review.via)} {VERDICTS[review.verdict]}"
    yield f"Review {review.number}: {done}, {format_age(review.at)}", "bold"
    if review.text.strip():
        yield from ((f"  {line}".rstrip(), "") for line in sanitize_lines(review.text.strip()))
    for comment in review.comments:
        yield "", ""
        yield from describe_sent(view, review, comment)


def render_changes(
    shown: ShownChanges, notes: Mapping[int, Sequence[str]], columns: int, colour: bool
) -> Iterator[str]:
    """Yield the changes with line numbers, and the notes below the lines that they are about."""
    for note in shown.notes:
        yield paint(note, "yellow", colour)
    yield from _render_notes(notes.get(-1, ()), columns, colour)
    is_coloured = colour and len(shown.lines) <= _MOST_COLOURED
    coloured = _colour_lines(shown.lines) if is_coloured else [line.text for line in shown.lines]
    for index, (line, text) in enumerate(zip(shown.lines, coloured, strict=True)):
        if line.text.startswith(FILE_HEADS) and not line.number:
            yield from ([""] if index else [])
            yield paint(f"── {to_one_line(line.path)}", "bold", colour)
        elif line.number or not line.text.startswith(_NAMES):
            yield _render_line(line, text, colour)
        yield from _render_notes(notes.get(index, ()), columns, colour)


def _colour_lines(lines: Sequence[ChangeLine]) -> Iterator[str]:
    """Yield the lines with the colours of their language; the two sides of a hunk are two texts."""
    for has_number, group in groupby(lines, key=lambda line: line.number > 0):
        part = [*group]
        if not has_number:
            yield from (line.text for line in part)
            continue
        new = iter(colour_code(part[0].path, [line.text[1:] for line in part if line.text[:1] != "-"]))
        old = iter(colour_code(part[0].path, [line.text[1:] for line in part if line.text[:1] != "+"]))
        for line in part:
            sign = line.text[:1]
            before = next(old) if sign != "+" else ""
            yield sign + (before if sign == "-" else next(new))


def _render_line(line: ChangeLine, text: str, colour: bool) -> str:
    if not line.number:
        return paint(line.text, "bold" if line.is_start else "dim", colour)
    sign = line.text[:1]
    number = paint(f"{line.number:>{_NUMBER_COLUMNS}} ", "dim", colour)
    return number + paint(sign, _SIGN_COLOURS.get(sign, ""), colour) + text[1:]


def _render_notes(texts: Iterable[str], columns: int, colour: bool) -> Iterator[str]:
    margin = " " * _NUMBER_COLUMNS + " ┃ "
    for text in texts:
        for line in sanitize_lines(text):
            yield from (
                paint(margin + part, "yellow", colour) for part in break_line(line, columns - len(margin))
            )


def _wrap(lines: Iterable[Line], columns: int, colour: bool) -> Iterator[str]:
    """Yield the lines, broken at the width and continued with the same indent."""
    for text, style in lines:
        indent = " " * (len(text) - len(text.lstrip(" ")))
        pieces = wrap_line(text[len(indent) :], columns - len(indent))
        yield from (paint(indent + piece, style, colour) if piece else "" for piece in pieces)
