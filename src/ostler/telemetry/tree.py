"""Build the spans of a task from its feed: task > phase > call > attempt > tool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from ostler.telemetry.line import DecodedLine
from ostler.telemetry.names import ERROR, OPERATION, RESPONSE_MODEL, TOOL, agent_attributes, usage_attributes
from ostler.telemetry.span import Attributes, Span

LEVELS = ("task", "phase", "call", "attempt", "tool")
ENDINGS = {"task_completed": "", "task_failed": "UNKNOWN", "task_cancelled": "ABORTED"}
CLOSING = frozenset(
    (*ENDINGS, "attempt_ended", "call_ended", "phase_completed", "phase_failed", "phase_retried")
)
"""Types of events that can end a span; a tool ends with its attempt."""


def build_spans(lines: Iterable[DecodedLine], models: Mapping[int, str] | None = None) -> list[Span]:
    """Return all ended spans of a task in the order of their ends.

    `models` maps attempt numbers to the model that answered.
    """
    tree = _SpanBuilder(models or {})
    for line in lines:
        tree.apply(line)
    return tree.ended


class _SpanBuilder:
    """The open spans, at most one per level."""

    def __init__(self, models: Mapping[int, str]) -> None:
        self.ended: list[Span] = []
        self._open: dict[str, Span] = {}
        self._models = models
        self._attempt = 0
        self._last_at = 0.0  # time of the last line
        self._cut: float | None = None  # time of the last event of the open attempt, if its run died

    def apply(self, line: DecodedLine) -> None:
        self._read(line)
        self._last_at = line.at

    def _read(self, line: DecodedLine) -> None:
        event = line.event
        match event.type:
            case "task_created" | "task_reopened":
                self._keep("task", line, "task", {OPERATION: "invoke_workflow", "ostler.task.id": line.task})
            case "phase_started":
                self._keep("phase", line, f"phase {event.phase}", {"ostler.phase": event.phase})
            case "iteration_started":
                self._call(line)
            case "attempt_started":
                self._begin_attempt(line)
            case "task_claimed" if "attempt" in self._open:
                self._cut = self._last_at
            case "tool_used":
                self._use_tool(line)
            case "attempt_ended" if event.number == self._attempt:
                self._end_attempt(line)
            case "call_ended":
                self._end("call", line, event.code or "", {"ostler.verdict": event.verdict})
            case "gate_decided" if event.phase == self._phase():
                self._note("phase", {"ostler.gate.verdict": event.verdict})
            case "phase_completed" | "phase_failed" | "phase_retried" if event.phase == self._phase():
                rejected = "GATE_REJECTED" if event.type == "phase_retried" else ""
                self._end("phase", line, event.code or rejected)
            case ending if ending in ENDINGS:
                self._end("task", line, event.code or ENDINGS[ending], {"ostler.ending": ending[5:]})
            case _:
                return

    def _call(self, line: DecodedLine) -> None:
        """Start a call; one that is repeated after a crash is the same call with several attempts."""
        name = f"call {line.event.phase} {line.event.iteration}"
        more: Attributes = {"ostler.phase": line.event.phase, "ostler.iteration": line.event.iteration}
        self._keep("call", line, name, more)

    def _begin_attempt(self, line: DecodedLine) -> None:
        event = line.event
        self._attempt, self._cut = event.number, None
        who = agent_attributes(event.executor, event.model, event.session_id)
        self._begin(
            "attempt", line, f"invoke_agent {event.executor}", {"ostler.attempt": event.number, **who}
        )

    def _use_tool(self, line: DecodedLine) -> None:
        if "attempt" in self._open:
            more: Attributes = {OPERATION: "execute_tool", TOOL: line.event.tool}
            self._begin("tool", line, f"execute_tool {line.event.tool}", more)
            if line.event.denied:
                self._end("tool", line, "denied")

    def _end_attempt(self, line: DecodedLine) -> None:
        event = line.event
        more: Attributes = {"ostler.status": event.status, **usage_attributes(event.usage)}
        if model := self._models.get(event.number):
            more[RESPONSE_MODEL] = model
        if event.cost_usd is not None:
            more["ostler.cost_usd"] = event.cost_usd
        at = line.at if self._cut is None else self._cut
        self._end("attempt", replace(line, at=at), event.code or "", more)

    def _phase(self) -> str:
        phase = self._open.get("phase")
        return str(phase.attributes["ostler.phase"]) if phase else ""

    def _keep(self, level: str, line: DecodedLine, name: str, attributes: Attributes) -> None:
        """Start a span unless it is already open."""
        if level not in self._open or self._open[level].name != name:
            self._begin(level, line, name, attributes)

    def _begin(self, level: str, line: DecodedLine, name: str, attributes: Attributes) -> None:
        self._end(level, line)
        above = [self._open[one].key for one in LEVELS[: LEVELS.index(level)] if one in self._open]
        key = f"{level}/{line.position}"
        self._open[level] = Span(key, above[-1] if above else "", name, line.at, attributes)

    def _note(self, level: str, more: Attributes) -> None:
        span = self._open[level]
        span.attributes.update(more)

    def _end(self, level: str, line: DecodedLine, error: str = "", more: Attributes | None = None) -> None:
        """End the span of this level, after those below it."""
        for inner in _below(level):
            if inner in self._open:
                span = self._open.pop(inner)
                within = replace(
                    span, start=min(span.start, line.at)
                )  # ends have a resolution of a millisecond
                self.ended.append(within.ended(line.at, line.position))
        if level in self._open:
            failed: Attributes = {ERROR: error} if error else {}
            span = self._open.pop(level).ended(line.at, line.position, error, (more or {}) | failed)
            self.ended.append(span)


def _below(level: str) -> Sequence[str]:
    """Return the open levels, innermost first."""
    return LEVELS[: LEVELS.index(level) : -1]
