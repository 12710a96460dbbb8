"""Why a phase is done again: the whole story for a file, and its end for the prompt."""

from __future__ import annotations

from msgspec import Struct

from ostler.clock import rfc3339
from ostler.prompt.completion import without_marks
from ostler.prompt.excerpt import fenced, last_part

_LONGEST_REASON = 1000  # characters, as are the others
_LONGEST_OUTPUT = 8000


class Retry(Struct, frozen=True):
    """A later phase failed, and the work went back."""

    phase: str  # the one that failed
    to: str  # the one that is done again
    attempt: int  # 1 at the first return from this phase
    reason: str
    output: str = ""  # what the failed phase, or its gate, printed
    path: str = ""  # where the whole of it can be read


def retry_file_name(phase: str, attempt: int) -> str:
    return f"retry-context-{phase}-{attempt}.md"


def retry_context(phase: str, to: str, attempt: int, when: float, reason: str, output: str) -> str:
    """The text of the file that is kept: everything, nothing shortened."""
    lines = (
        f"# The phase {phase} failed",
        "\n".join(
            (
                f"- From phase: {phase}",
                f"- Back to phase: {to}",
                f"- Attempt: {attempt}",
                f"- Time: {rfc3339(when)}",
            )
        ),
        f"## Reason\n\n{reason.strip() or 'None was given.'}",
        f"## Output\n\n{fenced(output.strip()) if output.strip() else 'There was none.'}",
    )
    return "\n\n".join(lines) + "\n"


def retry_note(retry: Retry) -> str:
    """What the phase that is done again is told."""
    reason = last_part(without_marks(retry.reason).strip(), _LONGEST_REASON) or "no reason was given"
    parts = (
        f"The work went on to the phase {retry.phase}, which failed (attempt {retry.attempt}), "
        f"and is back in {retry.to}. The reason: {reason}",
        _output(retry),
        f"The whole of it is in {retry.path}." if retry.path else "",
        "Find the cause and remove it; what was right stays as it is.",
    )
    return "\n\n".join(part for part in parts if part)


def retry_feedback(retry: Retry) -> str:
    """The end of what the failed phase printed."""
    return last_part(without_marks(retry.output).strip(), _LONGEST_OUTPUT)


def _output(retry: Retry) -> str:
    feedback = retry_feedback(retry)
    return f"The end of its output:\n\n{fenced(feedback)}" if feedback else ""
