"""The reason why a phase is repeated: in full for a file, shortened for the prompt."""

from __future__ import annotations

from msgspec import Struct

from ostler.clock import format_rfc3339
from ostler.prompt.completion import strip_marks
from ostler.prompt.excerpt import fence, keep_end

_LONGEST_REASON = 1000  # characters, like the next ones
_LONGEST_REVIEW = 8000  # a reviewer writes for the agent, a program does not
_LONGEST_OUTPUT = 8000


class Retry(Struct, frozen=True):
    """A later phase failed, and the work went back."""

    phase: str  # the phase that failed
    to: str  # the phase that is repeated
    attempt: int  # 1 for the first return from this phase
    reason: str
    output: str = ""  # output of the failed phase or its gate
    path: str = ""  # of the file with the full text
    reviewer: str = ""  # who rejected the work, such as "A person"; empty: the phase or its command failed
    review: str = ""  # the comments of a person's review, in full


def make_retry_file_name(phase: str, attempt: int) -> str:
    return f"retry-context-{phase}-{attempt}.md"


def format_retry_file(phase: str, to: str, attempt: int, when: float, reason: str, output: str) -> str:
    """Return the full text for the file."""
    lines = (
        f"# The phase {phase} failed",
        "\n".join(
            (
                f"- From phase: {phase}",
                f"- Back to phase: {to}",
                f"- Attempt: {attempt}",
                f"- Time: {format_rfc3339(when)}",
            )
        ),
        f"## Reason\n\n{reason.strip() or 'None was given.'}",
        f"## Output\n\n{fence(output.strip()) if output.strip() else 'There was none.'}",
    )
    return "\n\n".join(lines) + "\n"


def format_retry_note(retry: Retry, phase: str) -> str:
    """Return the note for the phase that repeats the work, or for a phase after it."""
    if retry.review:
        return _format_review_note(retry, phase)
    longest = _LONGEST_REVIEW if retry.reviewer else _LONGEST_REASON
    reason = keep_end(strip_marks(retry.reason).strip(), longest) or "no reason was given"
    # A phase that checks the repeated work is not asked to correct it.
    repeats = phase == retry.to
    since = f"the work is back in {retry.to}" if repeats else f"{retry.to} has repeated its work since"
    request = (
        "Find the cause and fix it; do not change what is correct."
        if repeats
        else f"Check whether {retry.to} has corrected it."
    )
    parts = (
        f"{_format_event(retry)}, and {since}. The reason: {reason}",
        _format_output(retry),
        f"The full text is in {retry.path}." if retry.path else "",
        request,
    )
    return "\n\n".join(part for part in parts if part)


def _format_review_note(retry: Retry, phase: str) -> str:
    """Return the comments of a person, and for a phase after the repeated one what it has to check."""
    if phase == retry.to:
        return f"{retry.review}\n\nDo not change what is correct."
    check = f"{retry.to} has worked on this review since. Check whether its comments are dealt with."
    return f"{retry.review}\n\n{check}"


def _format_event(retry: Retry) -> str:
    if retry.reviewer:
        return f"{retry.reviewer} rejected the result of {retry.phase} (round {retry.attempt})"
    return f"The phase {retry.phase} failed (attempt {retry.attempt})"


def shorten_retry_output(retry: Retry) -> str:
    """Return the end of the failed phase's output."""
    return keep_end(strip_marks(retry.output).strip(), _LONGEST_OUTPUT)


def _format_output(retry: Retry) -> str:
    feedback = shorten_retry_output(retry)
    if feedback and retry.reviewer:
        return f"What must change:\n\n{feedback}"
    return f"The end of its output:\n\n{fence(feedback)}" if feedback else ""
