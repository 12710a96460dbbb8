"""Summarizes earlier work for an agent that does not have its session."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ostler.model.attempt import Attempt
from ostler.model.change import FileChange
from ostler.prompt.excerpt import keep_both_ends

_LOST = """\
## The previous session was lost

You have worked on this before, but that session is lost and this is a new one. The work so far:"""

_ANOTHER = """\
## Another agent worked on this before you

It could not continue, so you take over. The work so far:"""

_ATTEMPTS, _FILES, _COMMITS = 8, 40, 20
_LINE_LENGTH = 200
_HEAD_LENGTH, _TAIL_LENGTH = 600, 1400


class WorkHistory(Struct, frozen=True):
    """What Ostler has recorded about the work on a task."""

    attempts: tuple[Attempt, ...] = ()
    files: tuple[FileChange, ...] | None = None  # None: unknown
    commits: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    last_answer: str = ""
    log_tail: str = ""  # log of an attempt without an answer


class _Phrases(Struct, frozen=True):
    """The texts of a summary, for the same agent or for another one."""

    opening: str
    unknown: str
    answer: str
    log_tail: str


_SAME_AGENT = _Phrases(
    opening=_LOST,
    unknown="It is unknown which files you changed: check before you write.",
    answer="Your last answer:",
    log_tail="Your log before the interruption:",
)
_OTHER_AGENT = _Phrases(
    opening=_ANOTHER,
    unknown="It is unknown which files were changed: check before you write.",
    answer="The last answer:",
    log_tail="The log before the interruption:",
)


def summarize_work(work: WorkHistory, reader: str = "") -> str:
    """Return the work as a section of a prompt for this executor, with limited size."""
    executors = {attempt.executor for attempt in work.attempts}
    phrases = _OTHER_AGENT if reader and executors and reader not in executors else _SAME_AGENT
    parts = (
        phrases.opening,
        _format_list(
            "Attempts:", [_format_attempt(attempt) for attempt in work.attempts], _ATTEMPTS, newest=True
        ),
        phrases.unknown if work.files is None else _format_changes(work.files),
        _format_list("Commits, newest first:", [_to_one_line(commit) for commit in work.commits], _COMMITS),
        f"Warnings: {', '.join(work.warnings)}." if work.warnings else "",
        _format_quote(phrases.answer, work.last_answer),
        _format_quote(phrases.log_tail, work.log_tail),
    )
    return "\n\n".join(part for part in parts if part)


def _format_attempt(attempt: Attempt) -> str:
    seconds = f" after {attempt.duration_ms / 1000:.0f} s" if attempt.duration_ms is not None else ""
    status = "interrupted" if attempt.status == "running" else attempt.status
    why = f": {_to_one_line(attempt.message)}" if attempt.message else ""
    where = f"{attempt.number} ({attempt.phase}, iteration {attempt.iteration}, {attempt.executor})"
    return f"{where} {status}{seconds}{why}"


def _format_changes(files: tuple[FileChange, ...]) -> str:
    if not files:
        return "No file was changed."
    title = f"Changed since the start of the task ({len(files)} in total):"
    return _format_list(title, [_format_file(file) for file in files], _FILES)


def _format_file(file: FileChange) -> str:
    lines = "binary" if file.insertions is None else f"+{file.insertions} -{file.deletions}"
    return f"`{_to_one_line(file.path).replace('`', '?')}` ({lines})"


def _format_quote(title: str, text: str) -> str:
    """Quote the text, so that a mark in it does not count when the agent repeats it."""
    if not text.strip():
        return ""
    lines = [
        f"> {line}".rstrip() for line in keep_both_ends(text.strip(), _HEAD_LENGTH, _TAIL_LENGTH).splitlines()
    ]
    return "\n".join((f"{title}\n", *lines))


def _format_list(title: str, items: Sequence[str], limit: int, *, newest: bool = False) -> str:
    """Return a list with a title; of a long one the start, or the end when the newest items are last."""
    lines = [f"- {item}" for item in (items[-limit:] if newest else items[:limit])]
    if len(items) > limit:
        lines = ["- earlier ones", *lines] if newest else [*lines, "- and more"]
    return "\n".join((f"{title}\n", *lines)) if lines else ""


def _to_one_line(text: str) -> str:
    """Return the text without line breaks and unprintable characters, shortened."""
    clean = "".join(letter if letter.isprintable() else "?" for letter in text)
    return clean if len(clean) <= _LINE_LENGTH else f"{clean[: _LINE_LENGTH - 3]}..."
