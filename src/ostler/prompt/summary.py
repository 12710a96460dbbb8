"""The work so far, told to an agent that remembers nothing of it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ostler.model.attempt import Attempt
from ostler.model.change import FileChange
from ostler.prompt.excerpt import both_ends

_LOST = """\
## The session before was lost

You have worked on this already, but the session in which you did is gone: this is a new one, and it remembers
nothing. What is known of the work so far:"""

_ANOTHER = """\
## Another agent worked on this before you

It could not go on, so you take over. What is known of the work so far:"""

_ATTEMPTS, _FILES, _COMMITS = 8, 40, 20
_LINE_LENGTH = 200
_HEAD_LENGTH, _TAIL_LENGTH = 600, 1400


class Work(Struct, frozen=True):
    """What Ostler itself knows of a task's work; empty where there is nothing."""

    attempts: tuple[Attempt, ...] = ()
    files: tuple[FileChange, ...] | None = None  # None: not known
    commits: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    last_answer: str = ""
    last_page: str = ""  # what was said and done after it, by an attempt that came to no answer


class _Words(Struct, frozen=True):
    """How the work is spoken of: as the reader's own, or as another's."""

    opening: str
    unknown: str
    answer: str
    page: str


_OWN = _Words(
    opening=_LOST,
    unknown="Which files you changed is not known: look at what is there before you write.",
    answer="Your last answer:",
    page="What you said and did before you were stopped:",
)
_ANOTHERS = _Words(
    opening=_ANOTHER,
    unknown="Which files were changed is not known: look at what is there before you write.",
    answer="The last answer:",
    page="What was said and done until then:",
)


def summarise(work: Work, reader: str = "") -> str:
    """The work as a section of a prompt for this executor, short whatever its size."""
    did = {attempt.executor for attempt in work.attempts}
    words = _ANOTHERS if reader and did and reader not in did else _OWN
    parts = (
        words.opening,
        _listed("Attempts:", [_attempt(attempt) for attempt in work.attempts], _ATTEMPTS, newest=True),
        words.unknown if work.files is None else _changes(work.files),
        _listed("Commits, the newest first:", [_one_line(commit) for commit in work.commits], _COMMITS),
        f"Warnings: {', '.join(work.warnings)}." if work.warnings else "",
        _quoted(words.answer, work.last_answer),
        _quoted(words.page, work.last_page),
    )
    return "\n\n".join(part for part in parts if part)


def _attempt(attempt: Attempt) -> str:
    seconds = f" after {attempt.duration_ms / 1000:.0f} s" if attempt.duration_ms is not None else ""
    status = "interrupted" if attempt.status == "running" else attempt.status
    why = f": {_one_line(attempt.message)}" if attempt.message else ""
    where = f"{attempt.number} ({attempt.phase}, iteration {attempt.iteration}, {attempt.executor})"
    return f"{where} {status}{seconds}{why}"


def _changes(files: tuple[FileChange, ...]) -> str:
    if not files:
        return "No file was changed."
    title = f"Changed since the task began, all still there ({len(files)} in all):"
    return _listed(title, [_file(file) for file in files], _FILES)


def _file(file: FileChange) -> str:
    lines = "binary" if file.insertions is None else f"+{file.insertions} -{file.deletions}"
    return f"`{_one_line(file.path).replace('`', '?')}` ({lines})"


def _quoted(title: str, text: str) -> str:
    """As a quotation, so that no mark in it counts when the agent repeats it."""
    if not text.strip():
        return ""
    lines = [
        f"> {line}".rstrip() for line in both_ends(text.strip(), _HEAD_LENGTH, _TAIL_LENGTH).splitlines()
    ]
    return "\n".join((f"{title}\n", *lines))


def _listed(title: str, items: Sequence[str], limit: int, *, newest: bool = False) -> str:
    """A list with a title; of a long one its beginning, or its end where the newest stand last."""
    lines = [f"- {item}" for item in (items[-limit:] if newest else items[:limit])]
    if len(items) > limit:
        lines = ["- earlier ones", *lines] if newest else [*lines, "- and more"]
    return "\n".join((f"{title}\n", *lines)) if lines else ""


def _one_line(text: str) -> str:
    """Without what breaks a line or cannot be written, and not too long."""
    clean = "".join(letter if letter.isprintable() else "?" for letter in text)
    return clean if len(clean) <= _LINE_LENGTH else f"{clean[: _LINE_LENGTH - 3]}..."
