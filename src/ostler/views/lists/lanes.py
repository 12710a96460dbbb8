"""The running tasks and their activity, computed from the feed."""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ostler.model.todo import Todo
from ostler.model.usage import Usage, add_cost
from ostler.views.describe import describe_fields
from ostler.views.feed import EventJson

ENDINGS = {
    "task_completed": "completed",
    "task_failed": "failed",
    "task_cancelled": "cancelled",
    "task_deferred": "deferred",
    "task_paused": "paused",
    "task_blocked": "blocked",
    "gate_waiting": "needs_review",
    "task_released": "pending",
    "task_held": "pending",
}


# Events whose description is the activity.
_SHOWN = frozenset(
    {
        "tool_used",
        "agent_warned",
        "access_refused",
        "concurrency_reduced",
        "checkpoint_made",
        "gate_decided",
        "phase_retried",
        "work_rebased",
        "published",
    }
)


class Lane(Struct, frozen=True):
    """The activity of one running task."""

    task: str
    since: float
    phase: str = "prepare"
    iteration: int = 0
    activity: str = ""  # the last action
    began: float | None = None  # when a wait or a step of Ostler began; None: an agent is working
    waits: bool = False  # it is a wait
    until: float | None = None  # when that wait ends, if known
    log: str = ""  # output of that step, relative to the task's directory
    files: int = 0  # expected number of files of the worktree that is being created
    usage: Usage = Usage()  # of ended attempts
    live: Usage = Usage()  # of the running attempt
    cost_usd: float | None = None
    attempt: int = 0  # the running one; 0: none
    attempt_at: float = 0.0
    executor: str = ""
    model: str = ""
    todos: tuple[Todo, ...] = ()  # of the agent, as it wrote them last

    @property
    def tokens(self) -> int:
        return self.usage.total + self.live.total


class Lanes:
    """The running tasks, and the deferred tasks."""

    def __init__(self) -> None:
        self.lanes: dict[str, Lane] = {}
        self.waiting: dict[str, float] = {}  # deferred tasks, with the time at which they resume

    def apply(self, line: EventJson, at: float) -> None:
        """Apply one line of the feed."""
        task, kind = str(line["task_id"]), str(line["type"])
        if kind in ("task_claimed", "task_reopened", "task_cancelled", "decision_recorded"):
            self.waiting.pop(task, None)
        if kind == "task_deferred":
            self.waiting[task] = _time(line["resumes_at"])
        if kind == "task_claimed":
            self.lanes[task] = Lane(task, at)
        elif kind in ENDINGS:
            self.lanes.pop(task, None)
        elif task in self.lanes:
            self.lanes[task] = _apply(self.lanes[task], kind, line, at)


def _apply(lane: Lane, kind: str, line: EventJson, at: float) -> Lane:
    match kind:
        case "iteration_started":
            return _set_activity(lane, "", phase=line["phase"], iteration=line["iteration"])
        case "usage_reported":
            return replace(lane, live=lane.live + _usage(line))
        case "todos_reported":
            return replace(lane, todos=msgspec.convert(line["todos"], tuple[Todo, ...]))
        case "attempt_ended":
            cost = add_cost(lane.cost_usd, line.get("cost_usd"))
            return replace(lane, usage=lane.usage + _usage(line), live=Usage(), cost_usd=cost, attempt=0)
        case "wait_started":
            until = _time(line["until"]) if line.get("until") else None
            return _set_activity(lane, describe_fields(line), began=at, until=until, waits=True)
        case "step_progress":
            log, files = line.get("log", ""), line.get("files", 0)
            return _set_activity(lane, describe_fields(line), began=at, log=log, files=files)
        case "attempt_started":
            lane = _set_activity(lane, "") if lane.began else lane
            number, agent, model = line["number"], line.get("executor", ""), line.get("model", "")
            return replace(lane, attempt=number, attempt_at=at, executor=agent, model=model)
        case "wait_ended" | "task_started":
            return _set_activity(lane, "") if lane.began else lane
        case _ if kind in _SHOWN:
            return _set_activity(lane, describe_fields(line))
        case _:
            return lane


_NO_STEP: dict[str, object] = {"began": None, "waits": False, "until": None, "log": "", "files": 0}


def _set_activity(lane: Lane, activity: str, **more: object) -> Lane:
    """Return the lane with this activity."""
    return replace(lane, activity=activity, **{**_NO_STEP, **more})


def _usage(line: EventJson) -> Usage:
    return msgspec.convert(line.get("usage", {}), Usage)


def _time(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
