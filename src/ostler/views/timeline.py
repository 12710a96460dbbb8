"""The timeline of one task as nested spans (ostler.timeline/1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ostler.model.event import FeedEvent, FeedLine, decode_event
from ostler.views.agent_work.tool_ends import ToolEnd
from ostler.views.describe import describe_event

Kind = Literal["phase", "iteration", "attempt", "tool", "gate", "wait"]
_WITHIN: dict[Kind, tuple[Kind, ...]] = {
    "tool": (),
    "attempt": ("tool",),
    "wait": (),
    "gate": ("tool", "attempt", "wait"),
    "iteration": ("tool", "attempt", "wait"),
    "phase": ("tool", "attempt", "wait", "gate", "iteration"),
}
_PARENTS: dict[Kind, tuple[Kind, ...]] = {
    "phase": (),
    "iteration": ("phase",),
    "attempt": ("gate", "iteration", "phase"),
    "tool": ("attempt", "iteration", "phase"),
    "gate": ("phase",),
    "wait": ("iteration", "phase"),
}
_WAITS = {
    "task_released": "stopped",
    "task_deferred": "deferred",
    "task_held": "waiting for you",
    "task_paused": "paused",
    "task_blocked": "blocked",
}
_ENDS = {"task_completed": "completed", "task_failed": "failed", "task_cancelled": "cancelled"}
_ANSWERS = {"approve": "pass", "reject": "fail", "skip": "skipped", "cancel": "cancelled"}
# Events that a span does not show.
_MARKED = frozenset(
    {
        "task_created",
        "task_claimed",
        "task_started",
        "checkpoint_made",
        "phase_retried",
        "published",
        "work_rebased",
        "step_failed",
        "task_released",
        "task_deferred",
        "task_held",
        "task_paused",
        "task_blocked",
        "task_completed",
        "task_failed",
        "task_cancelled",
        "task_reopened",
        "task_edited",
        "task_rebuilt",
        "task_archived",
        "task_unarchived",
        "task_purged",
        "decision_recorded",
        "session_replaced",
        "agent_warned",
        "access_refused",
        "agent_reported",
        "agent_idle",
        "budget_warned",
        "concurrency_reduced",
        "model_cooldown",
        "model_recovered",
        "provider_unavailable",
        "retries_used_up",
        "review_reminded",
    }
)
_FROM_OUTSIDE = ("task_claimed", "decision_recorded", "agent_reported", "agent_idle", "budget_warned")


class Span(Struct, frozen=True):
    id: str
    kind: Kind
    name: str
    start: float  # seconds since the epoch
    end: float | None = None  # null: still open
    status: str = "running"
    detail: str = ""
    number: int | None = None  # of an attempt or an iteration
    parent: str | None = None


class Mark(Struct, frozen=True):
    """An event at one moment."""

    at: float  # seconds since the epoch
    kind: str  # the type of the event
    text: str


class Timeline(Struct, frozen=True):
    task: str
    start: float
    end: float | None  # null: the task has not ended
    now: float
    spans: tuple[Span, ...]
    marks: tuple[Mark, ...]
    schema: str = "ostler.timeline/1"


def view_timeline(
    lines: Iterable[FeedLine], now: float, ends: Mapping[int, Sequence[ToolEnd | None]] | None = None
) -> Timeline:
    """Return the timeline of a task from its feed, oldest line first.

    `ends` are the ends of its tools (views.tool_ends); without them a tool lasts until the next event of its
    attempt.
    """
    drawing = _TimelineBuilder()
    for line in lines:
        drawing.add(line)
    return drawing.finish(now, ends or {})


class _TimelineBuilder:
    """The spans so far, and the open span of each kind."""

    def __init__(self) -> None:
        self._task = ""
        self._start: float | None = None
        self._end: float | None = None
        self._last = 0.0  # time of the last event
        self._spans: dict[str, Span] = {}
        self._open: dict[Kind, str] = {}
        self._marks: list[Mark] = []

    def add(self, line: FeedLine) -> None:
        event, at = decode_event(line), line.at
        if self._start is None:
            self._task, self._start = line.task, at
        if event.type not in _FROM_OUTSIDE:
            self._close("tool", at, "done")
        self._apply_work(event, at, line.position)
        if mark := _make_mark(event, at):
            self._marks.append(mark)
        self._last = at

    def finish(self, now: float, ends: Mapping[int, Sequence[ToolEnd | None]]) -> Timeline:
        for number, tool_ends in ends.items():
            self._end_tools(f"attempt-{number}", tool_ends)
        start = now if self._start is None else self._start
        return Timeline(self._task, start, self._end, now, tuple(self._spans.values()), tuple(self._marks))

    def _end_tools(self, attempt: str, ends: Sequence[ToolEnd | None]) -> None:
        tools = [span for span in self._spans.values() if span.kind == "tool" and span.parent == attempt]
        for tool, end in zip(tools, ends, strict=False):
            if end is not None:
                status = "failed" if end.failed else "done"
                self._spans[tool.id] = replace(tool, end=max(end.at, tool.start), status=status)

    def _apply_work(self, event: FeedEvent, at: float, position: int) -> None:
        match event.type:
            case "phase_started":
                self._close("phase", at, "over")
                self._begin("phase", event.phase, at, position)
            case "iteration_started":
                self._enter(event.phase, at, position)
                self._close("iteration", at, "over")
                self._begin("iteration", event.phase, at, position, number=event.iteration)
            case "attempt_started":
                self._enter(event.phase, at, position)
                detail = " ".join((event.executor, event.model)).strip()
                self._begin("attempt", event.phase, at, event.number, detail=detail, number=event.number)
            case "attempt_ended":
                self._end_attempt(event, at)
            case "tool_used" if not event.denied:
                self._begin("tool", event.tool, at, position, detail=event.detail)
            case "call_ended":
                self._close("iteration", at, event.verdict, event.error_text)
            case "wait_started":
                self._begin("wait", "wait", at, position, status="waiting", detail=event.reason)
            case "wait_ended":
                self._close("wait", at, "over")
            case _:
                self._apply_gate(event, at, position)

    def _apply_gate(self, event: FeedEvent, at: float, position: int) -> None:
        match event.type:
            case "gate_waiting":
                self._enter(event.phase, at, position)
                self._begin("gate", "human", at, position, status="waiting", detail=event.reason)
            case "gate_decided" if event.verdict != "not_checked":
                self._decide(event, at, position)
            case "decision_recorded" if event.verb in _ANSWERS:
                self._close("gate", at, _ANSWERS[event.verb], event.text)
            case "decision_recorded" if event.verb == "resume":
                self._close("wait", at, "over")
            case "phase_completed":
                self._close("phase", at, "completed")
            case "phase_retried" | "phase_failed":
                self._close("phase", at, "failed", event.error_text)
            case _:
                self._apply_task(event, at, position)

    def _apply_task(self, event: FeedEvent, at: float, position: int) -> None:
        if event.type == "task_claimed":
            self._claim(at)
        elif event.type == "task_reopened":
            self._end = None
            self._close("wait", at, "over")
        elif status := _WAITS.get(event.type):
            self._close("phase", at, status)
            if status != "stopped":
                self._begin("wait", status, at, position, status="waiting", detail=event.error_text)
        elif end := _ENDS.get(event.type):
            self._end = at
            self._close("phase", at, end)

    def _claim(self, at: float) -> None:
        """Apply the claim of a run; spans that a dead run left open end at the last event."""
        if "phase" in self._open and "gate" not in self._open:
            self._close("phase", self._last, "interrupted")
        self._close("wait", at, "over")

    def _enter(self, phase: str, at: float, position: int) -> None:
        """Open the phase unless one is open."""
        if "phase" not in self._open:
            self._begin("phase", phase, at, position)

    def _end_attempt(self, event: FeedEvent, at: float) -> None:
        """End an attempt; that of a dead run is recorded later and already closed."""
        name = f"attempt-{event.number}"
        if self._open.get("attempt") == name:
            detail = "; ".join(part for part in (self._spans[name].detail, event.error_text) if part)
            self._close("attempt", at, event.status, detail)
        elif name in self._spans:
            self._spans[name] = replace(self._spans[name], status=event.status)

    def _decide(self, event: FeedEvent, at: float, position: int) -> None:
        """Record a gate's decision; its command or review began when the previous step ended."""
        self._enter(event.phase, self._last, position)
        if "gate" not in self._open:
            self._begin("gate", event.gate or "auto", self._last, position)
        self._close("gate", at, event.verdict, event.reason)

    def _begin(
        self,
        kind: Kind,
        name: str,
        at: float,
        number_of_id: int,
        status: str = "running",
        detail: str = "",
        number: int | None = None,
    ) -> None:
        parent = next((self._open[outer] for outer in _PARENTS[kind] if outer in self._open), None)
        key = f"{kind}-{number_of_id}"
        self._spans[key] = Span(key, kind, name, at, None, status, detail, number, parent)
        self._open[kind] = key

    def _close(self, kind: Kind, at: float, status: str, detail: str = "") -> None:
        """Close the open span of a kind, and all spans within it."""
        for inner in (*_WITHIN[kind], kind):
            if (key := self._open.pop(inner, None)) is not None:
                span = self._spans[key]
                new_detail = detail if inner == kind and detail else span.detail
                self._spans[key] = replace(span, end=max(at, span.start), status=status, detail=new_detail)


def _make_mark(event: FeedEvent, at: float) -> Mark | None:
    if event.type == "tool_used" and event.denied:
        return Mark(at, "tool_denied", describe_event(event))
    return Mark(at, event.type, describe_event(event)) if event.type in _MARKED else None
