"""Collects what a task's agents asked and what a person wrote to them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from ostler.engine.core.moves import checks_earlier_work
from ostler.engine.steps.agent_call.review import read_person_text
from ostler.engine.steps.services import StepServices, TaskContext
from ostler.errors import Code
from ostler.model.event import REVIEW_REQUEST, CallEnded, DecisionRecorded, Record, TaskReopened
from ostler.prompt.answer import NO_REASON
from ostler.prompt.dialogue import Exchange


class Dialogue(Struct, frozen=True):
    """What agents and people wrote to each other."""

    exchanges: tuple[Exchange, ...] = ()  # every question that a person has answered, in order
    feedback: tuple[tuple[int, str], ...] = ()  # on the current phase, without a question; seq and text


def read_dialogue(context: TaskContext, services: StepServices, records: Iterable[Record]) -> Dialogue:
    """Return the questions with their answers, and the other texts of people about the current phase."""
    exchanges: list[Exchange] = []
    feedback: list[tuple[int, str]] = []
    question, state = "", context.state
    task_dir = services.layout.task(state.task)
    for record in records:
        match record.event:
            case CallEnded() as call:
                question = _find_question(call, task_dir)
                if call.code is Code.AGENT_BLOCKED and checks_earlier_work(state, call.phase):
                    question = ""  # findings: the retry note has them
                if call.phase != state.current.id:
                    feedback.clear()
            case DecisionRecorded(verb="resume" | "message") as resumed:
                text = read_person_text(resumed, context, services)
                if question and text.strip():
                    exchanges.append(Exchange(record.seq, question, text))
                    question = ""
                else:
                    feedback.append((record.seq, text))
            case TaskReopened(by=by) if by == REVIEW_REQUEST:
                feedback.clear()  # the retry note has the review
            case DecisionRecorded(verb="rewind", text=text) | TaskReopened(text=text):
                feedback = [(record.seq, text)]
            case _:
                pass
    return Dialogue(tuple(exchanges), tuple(one for one in feedback if one[1].strip()))


def _find_question(call: CallEnded, task_dir: Path) -> str:
    """Return what the agent asked: the reason that it gave, or its answer; empty if it did not ask."""
    by_agent = call.verdict == "blocked" or (call.verdict == "paused" and call.code is None)
    if not by_agent:
        return ""
    return call.message if call.message not in ("", NO_REASON) else _read(task_dir, call.answer)


def _read(task_dir: Path, path: str) -> str:
    try:
        return (task_dir / path).read_text("utf-8", "replace") if path else NO_REASON
    except FileNotFoundError:
        return NO_REASON
