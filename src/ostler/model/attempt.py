"""One attempt as the store keeps it: a row when it starts, completed when it ends."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ostler.errors import Code
from ostler.model.ids import TaskId
from ostler.model.usage import Usage

AttemptStatus = Literal["running", "succeeded", "failed", "interrupted"]
Billing = Literal["api", "subscription", "proxy", "unknown"]
"""Who is billed: by the token, by a plan (dollars are then what it would have cost), or through a proxy."""
CostSource = Literal["reported", "priced", "none", "unknown"]
"""Who says what it cost: the agent, the price list; none: no model was asked; or nobody."""


class Attempt(Struct, frozen=True):
    task: TaskId
    step: str  # key of the step that it performs
    owner: str  # the run that started it
    phase: str
    iteration: int
    executor: str
    started_at: float
    number: int = 0  # 1, 2, 3, ... per task; given by the store
    model: str = ""
    choice: str = ""  # the model by the name that the settings give it
    session_id: str = ""
    resumed: bool = False
    status: AttemptStatus = "running"
    duration_ms: int | None = None
    exit_code: int | None = None
    code: Code | None = None
    message: str = ""
    usage: Usage = Usage()
    cost_usd: float | None = None
    session_cost_usd: float | None = None
    session_usage: Usage | None = None
    billing: Billing = "unknown"
    cost_source: CostSource | None = None  # None: not settled, or written before there were prices

    @property
    def source(self) -> CostSource:
        """Who says what it cost, also of an attempt that an older version wrote."""
        if self.cost_usd is None:
            return "unknown"
        return self.cost_source or "reported"

    @property
    def transcript(self) -> str:
        """The file of its raw bytes, below the task's directory."""
        return f"transcripts/{self.phase}-{self.number:03d}.jsonl"


class TaskRow(Struct, frozen=True):
    """A task as lists show it, and its folded state as bytes; written with every record."""

    id: TaskId
    seq: int
    status: str
    title: str
    priority: str
    created_at: float
    updated_at: float
    state: bytes
    resumes_at: float | None = None
    open: bool = True  # something is left to do, if only the release of its workspace
    after: tuple[TaskId, ...] = ()  # tasks that must be completed before it is begun
    not_before: float | None = None
    after_any: bool = False  # those need only have ended, however
    pipeline: str = ""  # the run of a pipeline that it is a part of
    at_once: int = 0  # of that run's tasks, at most
    cost_usd: float | None = None  # of the calls that ended
