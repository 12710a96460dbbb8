"""A document's task, made ready: where its text goes, who writes it, and who looks at it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from msgspec.structs import replace

from ostler.config.settings import Settings
from ostler.errors import UsageError
from ostler.files.paths import resolve_beneath
from ostler.model.ids import tail_of, task_id
from ostler.model.plan import STANDARD, Gate, Phase, Plan
from ostler.model.state import State
from ostler.model.task import Input, Output, Task
from ostler.prompt.skill import load_skill_content, output_path
from ostler.prompt.template import WRITE

_REVISIONS = 3
_ROUNDS = 5  # of one draft; a document is complete with any text
_PERSON, _AGENT = "human", "ai"


def plan_document(task: Task, gate: Gate, root: Path, settings: Settings) -> Plan:
    """One phase, sent back to the same writer at most three times; then a person decides."""
    _require_writer(task)
    _check_reviewer(task.review, root, settings)
    phase = Phase(WRITE, _ROUNDS, STANDARD, gate=_gate(task.review, gate))
    return Plan(
        (phase,),
        max_phase_retries=_REVISIONS if task.max_revisions is None else task.max_revisions,
        document=True,
    )


def with_output(task: Task, root: Path, settings: Settings) -> Task:
    """The task with the path that its document will have; one that leaves the project is refused."""
    said = task.output or Output()
    if said.path:
        resolve_beneath(root, said.path)
        return task
    skill = load_skill_content(task.skill, root, settings.skills)
    return replace(task, output=replace(said, path=output_path(skill, task.id, settings.documents)))


def following(task: Task, state: State) -> Task:
    """The task that goes on with a finished document; its id is always the same, so that it is added once."""
    skill, *later = task.next
    digest = hashlib.sha256(f"{task.id}/{state.round}/{skill}".encode()).digest()
    return Task(
        title=task.title,
        body=task.body,
        id=task_id(f"{skill} {task.title}", tail_of(digest)),
        priority=task.priority,
        skill=skill,
        inputs=(Input(state.output or "", f"What {task.skill or task.role} wrote"),),
        sender=task.id,
        next=tuple(later),
        tags=task.tags,
        pipeline=task.pipeline,
        tier=task.tier,
    )


def _gate(review: str, usual: Gate) -> Gate:
    match review:
        case "":
            return replace(usual, then_person=usual.type == _AGENT)
        case "human":
            return Gate(_PERSON, usual.criteria)
        case "ai":
            return Gate(_AGENT, usual.criteria, then_person=True)
        case skill:
            return Gate(_AGENT, usual.criteria, skill=skill, then_person=True)


def _check_reviewer(review: str, root: Path, settings: Settings) -> None:
    if review not in ("", _PERSON, _AGENT):
        load_skill_content(review, root, settings.skills)


def _require_writer(task: Task) -> None:
    """A document without a skill has to say where it goes."""
    if not task.skill and not (task.output and task.output.path):
        raise UsageError("a document needs a skill or a path", "name one with --skill or --output")
