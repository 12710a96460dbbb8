"""What runs at this moment, folded from the feed."""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ostler.model.usage import Usage, add_cost
from ostler.views.feed import Line

ENDINGS = {
    "task_completed": "completed",
    "task_failed": "failed",
    "task_cancelled": "cancelled",
    "task_deferred": "deferred",
    "task_paused": "paused",
    "task_blocked": "blocked",
    "gate_waiting": "needs_review",
    "task_released": "pending",
}


class Lane(Struct, frozen=True):
    """One running task."""

    task: str
    since: float
    phase: str = "prepare"
    iteration: int = 0
    doing: str = ""  # the last tool, in a few words
    began: float | None = None  # when a wait or a chore of ours began; None: an agent works
    until: float | None = None  # when that wait ends, where it is known
    log: str = ""  # what that chore prints, below the task's directory
    files: int = 0  # about as many as there will be, while a worktree is made
    usage: Usage = Usage()  # of the attempts that ended
    live: Usage = Usage()  # of the one under way
    cost_usd: float | None = None

    @property
    def tokens(self) -> int:
        return self.usage.total + self.live.total


class Lanes:
    """The tasks that run, and those that a limit holds."""

    def __init__(self) -> None:
        self.lanes: dict[str, Lane] = {}
        self.waiting: dict[str, float] = {}  # tasks that a limit holds, and until when

    def take(self, line: Line, at: float) -> None:
        """Fold one line of the feed in."""
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
            self.lanes[task] = _moved(self.lanes[task], kind, line, at)


def _moved(lane: Lane, kind: str, line: Line, at: float) -> Lane:
    match kind:
        case "iteration_started":
            return _does(lane, "", phase=line["phase"], iteration=line["iteration"])
        case "tool_used":
            denied = "denied: " if line.get("denied") else ""
            return _does(lane, f"{denied}{line['tool']} {line.get('detail', '')}".strip())
        case "usage_reported":
            return replace(lane, live=lane.live + _usage(line))
        case "attempt_ended":
            cost = add_cost(lane.cost_usd, line.get("cost_usd"))
            return replace(lane, usage=lane.usage + _usage(line), live=Usage(), cost_usd=cost)
        case "wait_started":
            until = _time(line["until"]) if line.get("until") else None
            return _does(lane, f"waits: {line.get('reason', '')}", began=at, until=until)
        case "still_busy":
            return _does(lane, line["message"], began=at, log=line.get("log", ""), files=line.get("files", 0))
        case "agent_warned" | "work_adjusted":
            return _does(lane, line["message"])
        case "wait_ended" | "attempt_started" | "task_started":
            return _does(lane, "") if lane.began else lane
        case "checkpoint_made":
            return _does(lane, "committed")
        case "gate_decided":
            return _does(lane, f"gate: {line['verdict']} {line.get('reason', '')}".rstrip())
        case "phase_retried":
            return _does(lane, f"back to {line['to']}")
        case "work_rebased":
            return _does(lane, f"rebased onto {line['base']:.10}")
        case "published":
            return _does(lane, f"published: {line.get('pr_url') or line['how']}")
        case _:
            return lane


def _does(lane: Lane, doing: str, **more: object) -> Lane:
    """The lane with this as what is done in it now."""
    return replace(lane, doing=doing, **{"began": None, "until": None, "log": "", "files": 0, **more})


def _usage(line: Line) -> Usage:
    return msgspec.convert(line.get("usage", {}), Usage)


def _time(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
