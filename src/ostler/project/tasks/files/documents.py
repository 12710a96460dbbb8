"""Plans document tasks: output path, writer and reviewer."""

from __future__ import annotations

import hashlib
from pathlib import Path

from msgspec.structs import replace

from ostler.config.settings import Settings
from ostler.engine.steps.gates.choice import choose_document_gate
from ostler.errors import UsageError
from ostler.model.ids import make_id_tail, make_task_id
from ostler.model.plan import DOCUMENT_PHASE, STANDARD, Gate, Phase, Plan
from ostler.model.state import State
from ostler.model.task import Input, Output, Task
from ostler.skills.content import load_skill_content, make_output_path
from ostler.skills.outputs import check_output

_MAX_REVISIONS = 3
_MAX_ITERATIONS = 5  # of one draft; any text completes a document
_PERSON, _AGENT = "human", "ai"


def plan_document(task: Task, gate: Gate, root: Path, settings: Settings) -> Plan:
    """Return a plan with one phase; after the last revision a person decides."""
    _require_writer(task)
    _check_reviewer(task.review, root, settings)
    phase = Phase(DOCUMENT_PHASE, _MAX_ITERATIONS, STANDARD, gate=choose_document_gate(task.review, gate))
    return Plan(
        (phase,),
        max_phase_retries=_MAX_REVISIONS if task.max_revisions is None else task.max_revisions,
        is_document=True,
    )


def resolve_output(task: Task, root: Path, settings: Settings) -> Task:
    """Return the task with the path of its document; raises for a path at which none may be written."""
    output = task.output or Output()
    if not output.path:
        skill = load_skill_content(task.skill, root, settings.skills)
        output = replace(output, path=make_output_path(skill, task.id, settings.documents))
    check_output(root, output.path, settings.documents)
    return replace(task, output=output)


def create_follow_up(task: Task, state: State) -> Task:
    """Return the task of the next skill; its id is deterministic, so that it is added once."""
    skill, *later = task.next
    digest = hashlib.sha256(f"{task.id}/{state.round}/{skill}".encode()).digest()
    return Task(
        title=task.title,
        body=task.body,
        id=make_task_id(f"{skill} {task.title}", make_id_tail(digest)),
        priority=task.priority,
        skill=skill,
        inputs=(Input(state.output or "", f"Document of {task.skill or task.role}"),),
        sender=task.id,
        next=tuple(later),
        tags=task.tags,
        pipeline=task.pipeline,
        executor=task.executor,
        model=task.model,
        tier=task.tier,
        timeout_seconds=task.timeout_seconds,
        max_retries=task.max_retries,
        label=task.label,
    )


def _check_reviewer(review: str, root: Path, settings: Settings) -> None:
    if review not in ("", _PERSON, _AGENT):
        load_skill_content(review, root, settings.skills)


def _require_writer(task: Task) -> None:
    """A document without a skill needs an output path."""
    if not task.skill and not (task.output and task.output.path):
        raise UsageError("a document needs a skill or an output path", "use --skill or --output")
