"""A run of a pipeline, as printed by `pipeline status --json` (ostler.pipeline/1)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ostler.errors import Code
from ostler.model.status import TaskStatus
from ostler.model.usage import add_cost
from ostler.views.task import TaskView

_S = TaskStatus
# The status of a run is the first of these that one of its tasks has.
_WORST = (
    _S.IN_PROGRESS,
    _S.FAILED,
    _S.QUARANTINED,
    _S.CANCELLED,
    _S.NEEDS_REVIEW,
    _S.BLOCKED,
    _S.PAUSED,
    _S.DEFERRED,
    _S.REVISION,
    _S.PENDING,
)


class StepView(Struct, frozen=True):
    id: str
    task: str
    status: TaskStatus
    code: Code | None
    message: str
    after: tuple[str, ...]
    revisions: int
    output_path: str | None
    cost_usd: float | None


class PipelineView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.pipeline/1"
    run: str
    status: TaskStatus
    created_at: str
    cost_usd: float | None
    steps: tuple[StepView, ...]


def view_run(run: str, tasks: Sequence[TaskView]) -> PipelineView:
    """Return a run with its tasks as steps, in order."""
    steps = {view.id: view.step or view.id for view in tasks}
    statuses = {view.status for view in tasks}
    cost: float | None = None
    for view in tasks:
        cost = add_cost(cost, view.cost_usd)
    return PipelineView(
        run=run,
        status=next((status for status in _WORST if status in statuses), _S.COMPLETED),
        created_at=min(view.created_at for view in tasks),
        cost_usd=cost,
        steps=tuple(_step(view, steps) for view in tasks),
    )


def _step(view: TaskView, steps: dict[str, str]) -> StepView:
    return StepView(
        id=steps[view.id],
        task=view.id,
        status=view.status,
        code=view.code,
        message=view.message,
        after=tuple(steps.get(task, task) for task in view.after),
        revisions=sum(phase.retries for phase in view.phases),
        output_path=view.output_path,
        cost_usd=view.cost_usd,
    )
