"""Pipelines: the tasks of a run, and whether a failure stops it. Pure functions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from msgspec import Struct

from ostler.model.attempt import TaskRow
from ostler.model.ids import TaskId, make_id_tail, make_task_id
from ostler.model.rows import decode_state
from ostler.model.status import TaskStatus
from ostler.model.task import Input, Output, PipelineMember, Priority, Schedule, Task

_CASCADE = 3  # failures in a row that stop a run with on_failure = continue
_FAILED = (TaskStatus.FAILED, TaskStatus.QUARANTINED)


class PipelineStep(Struct, frozen=True):
    """One step of a pipeline: a document to write."""

    id: str
    skill: str
    goal: str
    requirements: str = ""
    inputs: tuple[Input, ...] = ()  # files of the project, besides the documents of earlier steps
    after: tuple[str, ...] = ()  # steps whose documents it is based on
    output: Output | None = None
    review: str = ""  # "human" or a skill
    max_revisions: int | None = None
    priority: Priority = "P2"
    executor: str = ""
    model: str = ""
    tier: str = ""
    timeout_seconds: float | None = None  # of one attempt
    max_retries: int | None = None  # on one model
    label: str = ""  # of the workers that may run it


class Pipeline(Struct, frozen=True):
    name: str
    steps: tuple[PipelineStep, ...]
    max_parallel: int = 3
    stop_on_failure: bool = True  # a failed step stops the others
    schedule: Schedule | None = None  # when a worker starts it


class Node(Protocol):
    """A step of a pipeline, or its task."""

    @property
    def id(self) -> str: ...
    @property
    def after(self) -> tuple[str, ...]: ...


_T = TypeVar("_T", bound=Node)
OutputOf = Callable[[PipelineStep, TaskId], str]
"""Returns the output path of a step."""


def build_tasks(pipeline: Pipeline, run: str, output_of: OutputOf) -> tuple[Task, ...]:
    """Return the tasks of a run in order of their dependencies; the same for the same run."""
    ids = {step.id: _task_id(run, step.id) for step in pipeline.steps}
    paths = {step.id: output_of(step, ids[step.id]) for step in pipeline.steps}
    ordered = [step for level in group_by_level(pipeline.steps) for step in level]
    return tuple(_task(pipeline, step, run, ids, paths) for step in ordered)


def group_by_level(steps: Sequence[_T]) -> list[list[_T]]:
    """Group steps into levels that depend only on earlier levels; unknown dependencies are ignored."""
    left, placed, rows = list(steps), set[str](), list[list[_T]]()
    ids = {step.id for step in steps}
    while left:
        rows.append([step for step in left if placed.issuperset(ids.intersection(step.after))] or left)
        placed.update(step.id for step in rows[-1])
        left = [step for step in left if step.id not in placed]
    return rows


def find_stop_reason(rows: Iterable[TaskRow]) -> str:
    """Return the reason to stop the remaining tasks of a run; empty if it continues."""
    ended = sorted(
        (row for row in rows if row.status in (*_FAILED, TaskStatus.COMPLETED)),
        key=lambda row: (row.updated_at, row.id),
    )
    failed = [row for row in ended if row.status in _FAILED]
    if not failed:
        return ""
    part = decode_state(failed[0]).pipeline
    if part is not None and part.stop_on_failure:
        return f"its pipeline stopped: {failed[0].id} failed"
    if len(ended) >= _CASCADE and all(row.status in _FAILED for row in ended[-_CASCADE:]):
        return f"its pipeline stopped: {_CASCADE} tasks failed one after the other, {ended[-1].id} the last"
    return ""


def _task(
    pipeline: Pipeline, step: PipelineStep, run: str, ids: Mapping[str, TaskId], paths: Mapping[str, str]
) -> Task:
    upstream = tuple(
        Input(paths[name], f"Output of {name}", not pipeline.stop_on_failure) for name in step.after
    )
    output = step.output or Output()
    return Task(
        title=_title(step),
        body=step.requirements,
        id=ids[step.id],
        priority=step.priority,
        executor=step.executor,
        model=step.model,
        after=tuple(ids[name] for name in step.after),
        skill=step.skill,
        inputs=(*upstream, *step.inputs),
        output=Output(paths[step.id], output.format),
        sender=f"pipeline {pipeline.name}",
        review=step.review,
        max_revisions=step.max_revisions,
        pipeline=PipelineMember(run, step.id, pipeline.max_parallel, pipeline.stop_on_failure),
        after_any=not pipeline.stop_on_failure,
        tier=step.tier,
        timeout_seconds=step.timeout_seconds,
        max_retries=step.max_retries,
        label=step.label,
    )


def _title(step: PipelineStep) -> str:
    """Return the goal with the name of the step: the steps of a pipeline often have the same goal."""
    return step.goal if step.goal.lower().startswith(step.id.lower()) else f"{step.id}: {step.goal}"


def _task_id(run: str, step: str) -> TaskId:
    digest = hashlib.sha256(f"{run}/{step}".encode()).digest()
    return make_task_id(step, make_id_tail(digest))
