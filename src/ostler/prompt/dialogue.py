"""Questions of an agent and the answers of a person, for the prompts of later calls."""

from __future__ import annotations

from msgspec import Struct

from ostler.prompt.completion import strip_marks
from ostler.prompt.excerpt import keep_both_ends

_HEAD_LENGTH, _TAIL_LENGTH = 2000, 2000  # characters of a question
_MOST = 20  # exchanges in a prompt


class Exchange(Struct, frozen=True):
    """A question of the agent and its answer."""

    seq: int  # of the record with the answer
    question: str
    answer: str


def format_dialogue(exchanges: tuple[Exchange, ...]) -> str:
    """Return each question with its answer, in order; of many, the last ones."""
    return "\n\n".join(_format_exchange(one) for one in exchanges[-_MOST:])


def _format_exchange(one: Exchange) -> str:
    """Quote the question, so that a mark in it does not count when the agent repeats it."""
    question = keep_both_ends(strip_marks(one.question).strip(), _HEAD_LENGTH, _TAIL_LENGTH)
    quoted = "\n".join(f"> {line}".rstrip() for line in question.splitlines())
    return f"You asked:\n\n{quoted}\n\nThe answer of a person:\n\n{one.answer.strip()}"
