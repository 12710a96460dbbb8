"""Rows of the store: an attempt, and a task with its folded state."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ostler.errors import Code
from ostler.model.call import Billing
from ostler.model.ids import TaskId
from ostler.model.limits.window_change import WindowChange
from ostler.model.policy.sandbox import SandboxRecord
from ostler.model.usage import Usage

AttemptStatus = Literal["running", "succeeded", "failed", "interrupted"]
CostSource = Literal["reported", "priced", "none", "unknown"]
"""Where the cost comes from: the agent, the price list; none: no model was called."""


class Attempt(Struct, frozen=True):
    """One attempt: the row is written when it starts and completed when it ends."""

    task: TaskId
    step: str  # key of its step
    owner: str  # id of the run that started it
    phase: str
    iteration: int
    executor: str
    started_at: float
    number: int = 0  # 1, 2, 3, ... per task; assigned by the store
    model: str = ""
    model_name: str = ""  # name of the model in the settings
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
    cost_source: CostSource | None = None  # None: still running, or written before prices existed
    account: str = ""  # whose windows it uses: the account of the settings, or the login of its executor
    windows: tuple[WindowChange, ...] = ()  # of the provider, as it reported them during the attempt
    sandbox: SandboxRecord | None = None  # None: not started yet, or written before sandboxes existed
    permissions: str = ""  # that the agent got
    template: str = ""  # of its prompt: a file, a key of the settings or of the task, or built-in

    @property
    def known_cost_source(self) -> CostSource:
        """The source of the cost, also for attempts that older versions wrote."""
        if self.cost_usd is None:
            return "unknown"
        return self.cost_source or "reported"

    @property
    def transcript(self) -> str:
        """Path of the raw output, relative to the task's directory."""
        return f"transcripts/{self.phase}-{self.number:03d}.jsonl"


class TaskRow(Struct, frozen=True):
    """The listed columns of a task and its folded state; written with every record."""

    id: TaskId
    seq: int
    status: str
    title: str
    priority: str
    created_at: float
    updated_at: float
    state: bytes
    resumes_at: float | None = None
    open: bool = True  # a step is left, even if only the release of the workspace
    after: tuple[TaskId, ...] = ()  # tasks that must be completed first
    not_before: float | None = None
    after_any: bool = False  # those need only have ended, with any status
    pipeline: str = ""  # id of the pipeline run that it belongs to
    max_parallel: int = 0  # how many tasks of that run may run at once
    cost_usd: float | None = None  # of all calls that ended
    archived_at: float | None = None  # lists leave it out since then
    need: str = ""  # what it needs from a person; empty: nothing
    queued_at: float | None = None  # its place in the queue; none: the time of its creation
    removed: bool = False  # the store deletes the row

    @property
    def place(self) -> tuple[str, float, TaskId]:
        """The place in the queue: by priority, then by age unless a person moved it."""
        return self.priority, self.created_at if self.queued_at is None else self.queued_at, self.id
