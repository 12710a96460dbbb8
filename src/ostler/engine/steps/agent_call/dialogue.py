"""Collects the questions of a task's agents and the answers of `ostler resume -m`."""

from __future__ import annotations

from pathlib import Path

from ostler.engine.core.moves import checks_earlier_work
from ostler.engine.steps.services import StepServices
from ostler.errors import Code
from ostler.model.event import CallEnded, DecisionRecorded
from ostler.model.state import State
from ostler.prompt.answer import NO_REASON
from ostler.prompt.dialogue import Exchange


def read_dialogue(state: State, services: StepServices) -> tuple[Exchange, ...]:
    """Return every question that a person has answered, in order."""
    exchanges: list[Exchange] = []
    question = ""
    for record in services.journal.read(state.task):
        match record.event:
            case CallEnded() as call:
                question = _find_question(call, services.layout.task(state.task))
                if call.code is Code.AGENT_BLOCKED and checks_earlier_work(state, call.phase):
                    question = ""  # findings: the retry note has them
            case DecisionRecorded(verb="resume", text=text) if question and text.strip():
                exchanges.append(Exchange(record.seq, question, text))
                question = ""
            case _:
                pass
    return tuple(exchanges)


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
