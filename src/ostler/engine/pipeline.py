"""A pipeline: steps that become tasks, and what a failure means for the others of its run. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from msgspec import Struct

from ostler.model.attempt import TaskRow
from ostler.model.ids import TaskId, tail_of, task_id
from ostler.model.rows import state_of
from ostler.model.schedule import Schedule
from ostler.model.status import TaskStatus
from ostler.model.task import Input, Output, Part, Priority, Task

_CASCADE = 3  # failures in a row that stop a run which goes on after one
_FAILED = (TaskStatus.FAILED, TaskStatus.QUARANTINED)


class PipelineStep(Struct, frozen=True):
    """One document of a pipeline."""

    id: str
    skill: str
    goal: str
    requirements: str = ""
    inputs: tuple[Input, ...] = ()  # files of the project, besides what earlier steps wrote
    after: tuple[str, ...] = ()  # steps whose documents it is made from
    output: Output | None = None
    review: str = ""  # who looks at it: a person, or a skill
    max_revisions: int | None = None
    priority: Priority = "P2"
    executor: str = ""
    model: str = ""
    tier: str = ""


class Pipeline(Struct, frozen=True):
    name: str
    steps: tuple[PipelineStep, ...]
    at_once: int = 3
    stops: bool = True  # one step that fails stops the others
    schedule: Schedule | None = None  # when a worker begins it


class Node(Protocol):
    """A step, or the task that became of it."""

    @property
    def id(self) -> str: ...
    @property
    def after(self) -> tuple[str, ...]: ...


_T = TypeVar("_T", bound=Node)
OutputOf = Callable[[PipelineStep, TaskId], str]
"""Where a step's document goes."""


def tasks_of(pipeline: Pipeline, run: str, output_of: OutputOf) -> tuple[Task, ...]:
    """The tasks of one run, each behind those that it comes after; the same for the same run."""
    ids = {step.id: _task_id(run, step.id) for step in pipeline.steps}
    paths = {step.id: output_of(step, ids[step.id]) for step in pipeline.steps}
    ordered = [step for level in levels(pipeline.steps) for step in level]
    return tuple(_task(pipeline, step, run, ids, paths) for step in ordered)


def levels(steps: Sequence[_T]) -> list[list[_T]]:
    """The steps in rows: each row needs only what stands above it, as far as that is among them."""
    left, placed, rows = list(steps), set[str](), list[list[_T]]()
    known = {step.id for step in steps}
    while left:
        rows.append([step for step in left if placed.issuperset(known.intersection(step.after))] or left)
        placed.update(step.id for step in rows[-1])
        left = [step for step in left if step.id not in placed]
    return rows


def stop_reason(rows: Iterable[TaskRow]) -> str:
    """Why the rest of a run does not go on; empty: it does."""
    ended = sorted(
        (row for row in rows if row.status in (*_FAILED, TaskStatus.COMPLETED)),
        key=lambda row: (row.updated_at, row.id),
    )
    failed = [row for row in ended if row.status in _FAILED]
    if not failed:
        return ""
    part = state_of(failed[0]).pipeline
    if part is not None and part.stops:
        return f"its pipeline stopped: {failed[0].id} failed"
    if len(ended) >= _CASCADE and all(row.status in _FAILED for row in ended[-_CASCADE:]):
        return f"its pipeline stopped: {_CASCADE} tasks failed one after the other, {ended[-1].id} the last"
    return ""


def _task(
    pipeline: Pipeline, step: PipelineStep, run: str, ids: Mapping[str, TaskId], paths: Mapping[str, str]
) -> Task:
    upstream = tuple(Input(paths[name], f"Output of {name}", not pipeline.stops) for name in step.after)
    said = step.output or Output()
    return Task(
        title=step.goal,
        body=step.requirements,
        id=ids[step.id],
        priority=step.priority,
        executor=step.executor,
        model=step.model,
        after=tuple(ids[name] for name in step.after),
        skill=step.skill,
        inputs=(*upstream, *step.inputs),
        output=Output(paths[step.id], said.format),
        sender=f"pipeline {pipeline.name}",
        review=step.review,
        max_revisions=step.max_revisions,
        pipeline=Part(run, step.id, pipeline.at_once, pipeline.stops),
        after_any=not pipeline.stops,
        tier=step.tier,
    )


def _task_id(run: str, step: str) -> TaskId:
    digest = hashlib.sha256(f"{run}/{step}".encode()).digest()
    return task_id(step, tail_of(digest))
