"""When everything of one task happened, as spans within spans (ostler.timeline/1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ostler.model.event import FeedLine
from ostler.model.said import Said, said_in
from ostler.views.timeline_event import Mark, mark_of
from ostler.views.tool_ends import ToolEnd

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
_RESTS = {
    "task_released": "stopped",
    "task_deferred": "deferred",
    "task_paused": "paused",
    "task_blocked": "blocked",
}
_ENDS = {"task_completed": "completed", "task_failed": "failed", "task_cancelled": "cancelled"}
_ANSWERS = {"approve": "pass", "reject": "fail", "skip": "skipped", "cancel": "cancelled"}
_FROM_OUTSIDE = ("task_claimed", "decision_recorded", "agent_reported", "agent_quiet", "budget_warned")


class Span(Struct, frozen=True):
    id: str
    kind: Kind
    name: str
    start: float  # seconds since the epoch
    end: float | None = None  # null: it goes on
    status: str = "running"
    detail: str = ""
    number: int | None = None  # of an attempt or an iteration
    parent: str | None = None


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
    """The timeline of the one task whose feed this is, oldest line first.

    `ends` are those of its tools (views.tool_ends); without it a tool lasts until its attempt says more.
    """
    drawing = _Drawing()
    for line in lines:
        drawing.add(line)
    return drawing.finished(now, ends or {})


class _Drawing:
    """The spans so far, and which one of each kind is open."""

    def __init__(self) -> None:
        self._task = ""
        self._start: float | None = None
        self._end: float | None = None
        self._last = 0.0  # when something was heard last
        self._spans: dict[str, Span] = {}
        self._open: dict[Kind, str] = {}
        self._marks: list[Mark] = []

    def add(self, line: FeedLine) -> None:
        said, at = said_in(line), line.at
        if self._start is None:
            self._task, self._start = line.task, at
        if said.type not in _FROM_OUTSIDE:
            self._close("tool", at, "done")
        self._hear_work(said, at, line.position)
        if mark := mark_of(said, at):
            self._marks.append(mark)
        self._last = at

    def finished(self, now: float, ends: Mapping[int, Sequence[ToolEnd | None]]) -> Timeline:
        for number, known in ends.items():
            self._end_tools(f"attempt-{number}", known)
        start = now if self._start is None else self._start
        return Timeline(self._task, start, self._end, now, tuple(self._spans.values()), tuple(self._marks))

    def _end_tools(self, attempt: str, ends: Sequence[ToolEnd | None]) -> None:
        tools = [span for span in self._spans.values() if span.kind == "tool" and span.parent == attempt]
        for tool, end in zip(tools, ends, strict=False):
            if end is not None:
                status = "failed" if end.failed else "done"
                self._spans[tool.id] = replace(tool, end=max(end.at, tool.start), status=status)

    def _hear_work(self, said: Said, at: float, position: int) -> None:
        match said.type:
            case "phase_started":
                self._close("phase", at, "over")
                self._begin("phase", said.phase, at, position)
            case "iteration_started":
                self._enter(said.phase, at, position)
                self._close("iteration", at, "over")
                self._begin("iteration", said.phase, at, position, number=said.iteration)
            case "attempt_started":
                self._enter(said.phase, at, position)
                detail = " ".join((said.executor, said.model)).strip()
                self._begin("attempt", said.phase, at, said.number, detail=detail, number=said.number)
            case "attempt_ended":
                self._end_attempt(said, at)
            case "tool_used" if not said.denied:
                self._begin("tool", said.tool, at, position, detail=said.detail)
            case "call_ended":
                self._close("iteration", at, said.verdict, said.why)
            case "wait_started":
                self._begin("wait", "wait", at, position, status="waiting", detail=said.reason)
            case "wait_ended":
                self._close("wait", at, "over")
            case _:
                self._hear_gate(said, at, position)

    def _hear_gate(self, said: Said, at: float, position: int) -> None:
        match said.type:
            case "gate_waiting":
                self._enter(said.phase, at, position)
                self._begin("gate", "human", at, position, status="waiting", detail=said.reason)
            case "gate_decided":
                self._decide(said, at, position)
            case "decision_recorded" if said.verb in _ANSWERS:
                self._close("gate", at, _ANSWERS[said.verb], said.text)
            case "decision_recorded" if said.verb == "resume":
                self._close("wait", at, "over")
            case "phase_completed":
                self._close("phase", at, "completed")
            case "phase_retried" | "phase_failed":
                self._close("phase", at, "failed", said.why)
            case _:
                self._hear_task(said, at, position)

    def _hear_task(self, said: Said, at: float, position: int) -> None:
        if said.type == "task_claimed":
            self._take_up(at)
        elif said.type == "task_reopened":
            self._end = None
            self._close("wait", at, "over")
        elif rest := _RESTS.get(said.type):
            self._close("phase", at, rest)
            if rest != "stopped":
                self._begin("wait", rest, at, position, status="waiting", detail=said.why)
        elif end := _ENDS.get(said.type):
            self._end = at
            self._close("phase", at, end)

    def _take_up(self, at: float) -> None:
        """A run begins with it. What another one left open was cut off when that was heard of last."""
        if "phase" in self._open and "gate" not in self._open:
            self._close("phase", self._last, "interrupted")
        self._close("wait", at, "over")

    def _enter(self, phase: str, at: float, position: int) -> None:
        """Be in a phase, also in one that another run began."""
        if "phase" not in self._open:
            self._begin("phase", phase, at, position)

    def _end_attempt(self, said: Said, at: float) -> None:
        """Of one that was cut off the end is written when the next one begins; it was over before."""
        name = f"attempt-{said.number}"
        if self._open.get("attempt") == name:
            detail = "; ".join(part for part in (self._spans[name].detail, said.why) if part)
            self._close("attempt", at, said.status, detail)
        elif name in self._spans:
            self._spans[name] = replace(self._spans[name], status=said.status)

    def _decide(self, said: Said, at: float, position: int) -> None:
        """A gate's command or review began when the step before it was done."""
        self._enter(said.phase, self._last, position)
        if "gate" not in self._open:
            self._begin("gate", said.gate or "auto", self._last, position)
        self._close("gate", at, said.verdict, said.reason)

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
        """End what is open of a kind, and everything within it."""
        for inner in (*_WITHIN[kind], kind):
            if (key := self._open.pop(inner, None)) is not None:
                span = self._spans[key]
                said = detail if inner == kind and detail else span.detail
                self._spans[key] = replace(span, end=max(at, span.start), status=status, detail=said)
