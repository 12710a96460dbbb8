"""The arguments of each tool, with the descriptions that a model reads."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from ostler.config.settings import NotNegative, PositiveSeconds
from ostler.model.status import TaskStatus
from ostler.model.task import PriorityName, Weight
from ostler.prompt.report import ReportedStatus

MAX_TASKS = 500

Id = Annotated[str, Meta(min_length=1, description="The task's id, or a unique prefix of it.")]
_Usd = Annotated[float, Meta(gt=0)]


class SubmitArguments(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    title: Annotated[str, Meta(min_length=1, max_length=200, description="What to do, in one line.")]
    body: Annotated[
        str,
        Meta(description="All that the agent needs, as Markdown; it does not see this conversation."),
    ] = ""
    weight: Annotated[
        Weight, Meta(description="The size, from trivial (one phase) to greenfield (all phases).")
    ] = "small"
    priority: Annotated[
        PriorityName,
        Meta(description="P0 runs first; high, medium, low and background are names of P0, P2, P3 and P4."),
    ] = "P2"
    executor: Annotated[str, Meta(description="The agent; empty: as configured in the project.")] = ""
    model: Annotated[str, Meta(description="The model; empty: as configured in the project.")] = ""
    skill: Annotated[str, Meta(description="Write a document with this skill instead of changing code.")] = ""
    after: Annotated[
        tuple[str, ...],
        Meta(description="Ids of tasks that must be completed first; the work starts from theirs."),
    ] = ()
    order_only: Annotated[
        bool, Meta(description="Wait for the tasks in `after`, but start from the target branch.")
    ] = False
    budget_usd: Annotated[_Usd | None, Meta(description="The maximum cost in US dollars.")] = None
    timeout_seconds: Annotated[
        PositiveSeconds | None,
        Meta(description="The timeout of one attempt; none: as configured in the project."),
    ] = None
    max_retries: Annotated[
        NotNegative | None, Meta(description="Retries on one model; none: as configured in the project.")
    ] = None
    label: Annotated[
        str, Meta(description="Only workers with this label run the task; empty: any worker.")
    ] = ""


class ListArguments(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    status: Annotated[
        tuple[TaskStatus, ...],
        Meta(
            description="Only these statuses; empty: all. needs_review, blocked and paused wait for a person."
        ),
    ] = ()
    filter: Annotated[str, Meta(description="Only tasks whose id or title contains this text.")] = ""
    limit: Annotated[
        int, Meta(ge=1, le=MAX_TASKS, description="The maximum number of tasks, last changed first.")
    ] = 50
    compact: Annotated[
        bool, Meta(description="One short row per task; false: all fields except attempts.")
    ] = True


class TaskArguments(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    id: Id


class NoArguments(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The tool takes no arguments."""


class ReportArguments(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    status: Annotated[
        ReportedStatus,
        Meta(
            description="complete: this phase is done. blocked: you cannot continue without help. "
            "paused: stop here for now. needs_review: a person should review the work first."
        ),
    ]
    reason: Annotated[str, Meta(description="Why; when blocked, what you need.")] = ""
