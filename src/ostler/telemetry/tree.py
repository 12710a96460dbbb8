"""The spans of one task, from its lines of the feed: task > phase > call > attempt > tool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from ostler.telemetry.line import Line
from ostler.telemetry.names import ERROR, OPERATION, RESPONSE_MODEL, TOOL, agent_attributes, usage_attributes
from ostler.telemetry.span import Attributes, Span

LEVELS = ("task", "phase", "call", "attempt", "tool")
ENDINGS = {"task_completed": "", "task_failed": "UNKNOWN", "task_cancelled": "ABORTED"}
CLOSING = frozenset(
    (*ENDINGS, "attempt_ended", "call_ended", "phase_completed", "phase_failed", "phase_retried")
)
"""Lines that can end a span; the end of a tool is told with that of its attempt."""


def spans_of(lines: Iterable[Line], models: Mapping[int, str] | None = None) -> list[Span]:
    """Every span of the task that is over, in the order in which they ended.

    `models` has the model that answered, by the number of the attempt.
    """
    tree = _Tree(models or {})
    for line in lines:
        tree.take(line)
    return tree.over


class _Tree:
    """What is open while the lines are read: at most one span of each level."""

    def __init__(self, models: Mapping[int, str]) -> None:
        self.over: list[Span] = []
        self._open: dict[str, Span] = {}
        self._models = models
        self._attempt = 0
        self._heard = 0.0  # when the last line was
        self._cut: float | None = None  # when the attempt that is open was last heard of, if its run died

    def take(self, line: Line) -> None:
        self._read(line)
        self._heard = line.at

    def _read(self, line: Line) -> None:
        said = line.said
        match said.type:
            case "task_created" | "task_reopened":
                self._keep("task", line, "task", {OPERATION: "invoke_workflow", "ostler.task.id": line.task})
            case "phase_started":
                self._keep("phase", line, f"phase {said.phase}", {"ostler.phase": said.phase})
            case "iteration_started":
                self._call(line)
            case "attempt_started":
                self._begin_attempt(line)
            case "task_claimed" if "attempt" in self._open:
                self._cut = self._heard
            case "tool_used":
                self._use_tool(line)
            case "attempt_ended" if said.number == self._attempt:
                self._end_attempt(line)
            case "call_ended":
                self._end("call", line, said.code or "", {"ostler.verdict": said.verdict})
            case "gate_decided" if said.phase == self._phase():
                self._note("phase", {"ostler.gate.verdict": said.verdict})
            case "phase_completed" | "phase_failed" | "phase_retried" if said.phase == self._phase():
                rejected = "GATE_REJECTED" if said.type == "phase_retried" else ""
                self._end("phase", line, said.code or rejected)
            case ending if ending in ENDINGS:
                self._end("task", line, said.code or ENDINGS[ending], {"ostler.ending": ending[5:]})
            case _:
                return

    def _call(self, line: Line) -> None:
        """A call that a crash cut off, and that is made again, is one; its attempts are several."""
        name = f"call {line.said.phase} {line.said.iteration}"
        more: Attributes = {"ostler.phase": line.said.phase, "ostler.iteration": line.said.iteration}
        self._keep("call", line, name, more)

    def _begin_attempt(self, line: Line) -> None:
        said = line.said
        self._attempt, self._cut = said.number, None
        who = agent_attributes(said.executor, said.model, said.session_id)
        self._begin("attempt", line, f"invoke_agent {said.executor}", {"ostler.attempt": said.number, **who})

    def _use_tool(self, line: Line) -> None:
        if "attempt" in self._open:
            more: Attributes = {OPERATION: "execute_tool", TOOL: line.said.tool}
            self._begin("tool", line, f"execute_tool {line.said.tool}", more)
            if line.said.denied:
                self._end("tool", line, "denied")

    def _end_attempt(self, line: Line) -> None:
        said = line.said
        more: Attributes = {"ostler.status": said.status, **usage_attributes(said.usage)}
        if model := self._models.get(said.number):
            more[RESPONSE_MODEL] = model
        if said.cost_usd is not None:
            more["ostler.cost_usd"] = said.cost_usd
        at = line.at if self._cut is None else self._cut
        self._end("attempt", replace(line, at=at), said.code or "", more)

    def _phase(self) -> str:
        phase = self._open.get("phase")
        return str(phase.attributes["ostler.phase"]) if phase else ""

    def _keep(self, level: str, line: Line, name: str, attributes: Attributes) -> None:
        """Begin a span unless the one that is open is the same."""
        if level not in self._open or self._open[level].name != name:
            self._begin(level, line, name, attributes)

    def _begin(self, level: str, line: Line, name: str, attributes: Attributes) -> None:
        self._end(level, line)
        above = [self._open[one].key for one in LEVELS[: LEVELS.index(level)] if one in self._open]
        key = f"{level}/{line.position}"
        self._open[level] = Span(key, above[-1] if above else "", name, line.at, attributes)

    def _note(self, level: str, more: Attributes) -> None:
        span = self._open[level]
        span.attributes.update(more)

    def _end(self, level: str, line: Line, error: str = "", more: Attributes | None = None) -> None:
        """End the span of this level, and before it those that are open below it."""
        for inner in _below(level):
            if inner in self._open:
                span = self._open.pop(inner)
                within = replace(span, start=min(span.start, line.at))  # an end is told to the millisecond
                self.over.append(within.ended(line.at, line.position))
        if level in self._open:
            failed: Attributes = {ERROR: error} if error else {}
            span = self._open.pop(level).ended(line.at, line.position, error, (more or {}) | failed)
            self.over.append(span)


def _below(level: str) -> Sequence[str]:
    """The innermost first."""
    return LEVELS[: LEVELS.index(level) : -1]
