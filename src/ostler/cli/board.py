"""What a run looks like at this moment, folded from the feed."""

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
    usage: Usage = Usage()  # of the attempts that ended
    live: Usage = Usage()  # of the one under way
    cost_usd: float | None = None

    @property
    def tokens(self) -> int:
        return self.usage.total + self.live.total


class Board:
    """The lanes of a run."""

    def __init__(self) -> None:
        self.lanes: dict[str, Lane] = {}
        self.waiting: dict[str, float] = {}  # tasks that a limit holds, and until when

    def take(self, line: Line, at: float) -> None:
        """Fold one line of the feed in."""
        task, kind = str(line["task_id"]), str(line["type"])
        if kind in ("task_claimed", "task_reopened", "task_cancelled", "decision_recorded"):
            self.waiting.pop(task, None)
        if kind == "task_deferred":
            self.waiting[task] = datetime.fromisoformat(line["resumes_at"]).timestamp()
        if kind == "task_claimed":
            self.lanes[task] = Lane(task, at)
        elif kind in ENDINGS:
            self.lanes.pop(task, None)
        elif task in self.lanes:
            self.lanes[task] = _moved(self.lanes[task], kind, line)


def _moved(lane: Lane, kind: str, line: Line) -> Lane:
    match kind:
        case "iteration_started":
            return replace(lane, phase=line["phase"], iteration=line["iteration"], doing="")
        case "tool_used":
            denied = "denied: " if line.get("denied") else ""
            return replace(lane, doing=f"{denied}{line['tool']} {line.get('detail', '')}".strip())
        case "usage_reported":
            return replace(lane, live=lane.live + _usage(line))
        case "attempt_ended":
            cost = add_cost(lane.cost_usd, line.get("cost_usd"))
            return replace(lane, usage=lane.usage + _usage(line), live=Usage(), cost_usd=cost)
        case "wait_started":
            return replace(lane, doing=f"waits: {line.get('reason', '')}")
        case "agent_warned" | "work_adjusted":
            return replace(lane, doing=line["message"])
        case "wait_ended":
            return replace(lane, doing="")
        case "checkpoint_made":
            return replace(lane, doing="committed")
        case "gate_decided":
            return replace(lane, doing=f"gate: {line['verdict']} {line.get('reason', '')}".rstrip())
        case "phase_retried":
            return replace(lane, doing=f"back to {line['to']}")
        case "work_rebased":
            return replace(lane, doing=f"rebased onto {line['base']:.10}")
        case "published":
            return replace(lane, doing=f"published: {line.get('pr_url') or line['how']}")
        case _:
            return lane


def _usage(line: Line) -> Usage:
    return msgspec.convert(line.get("usage", {}), Usage)
