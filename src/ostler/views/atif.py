"""A task as a trajectory in the Agent Trajectory Interchange Format (ATIF), version 1.4.

A prompt is a step of the user. A text of the agent and the tools that follow it are a step of the agent.
A decision of a gate is a step of the system, one of a person a step of the user.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Literal

from msgspec import Struct

from ostler.clock import format_rfc3339
from ostler.views.agent_work.attempt_log import LogEntry
from ostler.views.feed import EventJson

VERSION = "ATIF-v1.4"
_OURS = "ostler"

Source = Literal["system", "user", "agent"]
Step = dict[str, Any]


class AttemptLog(Struct, frozen=True):
    """The prompt of one attempt and the entries of its log."""

    prompt: str
    model: str | None
    began_at: float
    entries: Iterable[LogEntry]


def make_trajectory(
    task: Mapping[str, Any], turns: Iterable[AttemptLog], events: Iterable[EventJson], version: str
) -> dict[str, Any]:
    """Return the trajectory; `task` is ostler.task/1, `version` the version of Ostler."""
    steps = _decision_steps(events)
    agent: dict[str, Any] = {"name": _OURS, "version": version}
    for turn in turns:
        steps += _steps(turn)
        if turn.model:
            agent["model_name"] = turn.model
    ordered = [step for _, step in sorted(steps, key=lambda timed: timed[0])]
    for number, step in enumerate(ordered, 1):
        step["step_id"] = number
    return {
        "schema_version": VERSION,
        "session_id": task["id"],
        "agent": agent,
        "steps": ordered,
        "final_metrics": _totals(task, len(ordered)),
        "extra": {name: task[name] for name in ("title", "status", "code", "branch", "commit", "pr_url")},
    }


Timed = list[tuple[float, Step]]


def _steps(turn: AttemptLog) -> Timed:
    steps: Timed = [(turn.began_at, _step("user", turn.began_at, turn.prompt))]
    for entry in turn.entries:
        at = float(entry["at"])
        match entry["type"]:
            case "text_received":
                steps.append((at, _step("agent", at, entry["text"])))
            case "tool_used":
                _use(steps, at, entry)
            case "tool_returned":
                _observe(steps, entry)
            case "attempt_ended":
                _measure(steps, entry)
            case _:
                pass
    for _, step in steps:
        if step["source"] == "agent" and turn.model:
            step["model_name"] = turn.model
    return steps


def _use(steps: Timed, at: float, entry: LogEntry) -> None:
    """Add a tool call to the last text, or to a new step after a result."""
    last = steps[-1][1]
    if last["source"] != "agent" or "observation" in last:
        last = _step("agent", at, "")
        steps.append((at, last))
    tool_input: Any = entry.get("input") or {}
    call: dict[str, Any] = {
        "tool_call_id": _call_id(entry),
        "function_name": entry["tool"],
        "arguments": tool_input if isinstance(tool_input, dict) else {"value": tool_input},
    }
    last.setdefault("tool_calls", []).append(call)


def _call_id(entry: LogEntry) -> str:
    return str(entry.get("id") or f"at-{entry['offset']}")


def _observe(steps: Timed, entry: LogEntry) -> None:
    """Add a result to the step that called the tool; a result without a call is left out."""
    for _, step in reversed(steps):
        if any(call["tool_call_id"] == entry.get("id") for call in step.get("tool_calls", ())):
            result: dict[str, Any] = {"source_call_id": entry["id"], "content": entry.get("text", "")}
            if entry.get("failed"):
                result["extra"] = {"failed": True}
            step.setdefault("observation", {"results": []})["results"].append(result)
            return


def _measure(steps: Timed, entry: LogEntry) -> None:
    """Add the usage of the attempt, which is reported at its end, to its last step."""
    last = steps[-1][1]
    if last["source"] == "agent":
        last["metrics"] = _metrics(entry.get("usage") or {}, entry.get("cost_usd"))


def _decision_steps(events: Iterable[EventJson]) -> Timed:
    """Return the decisions of gates and people as steps."""
    steps: Timed = []
    for event in events:
        at = datetime.fromisoformat(event["time"]).timestamp()
        if event["type"] == "gate_decided":
            text = f"gate of {event['phase']}: {event['verdict']} {event.get('reason', '')}".rstrip()
            steps.append((at, _step("system", at, text)))
        elif event["type"] == "decision_recorded":
            steps.append((at, _step("user", at, f"{event['verb']}: {event.get('text', '')}".rstrip(": "))))
    return steps


def _step(source: Source, at: float, message: str) -> Step:
    return {"step_id": 0, "timestamp": format_rfc3339(at), "source": source, "message": message}


def _metrics(usage: Mapping[str, int], cost_usd: float | None) -> dict[str, Any]:
    """Return the metrics of a step; prompt tokens include those read from a cache."""
    kinds = ("input_tokens", "cache_read_tokens", "cache_write_tokens")
    metrics: dict[str, Any] = {
        "prompt_tokens": sum(usage.get(kind, 0) for kind in kinds),
        "completion_tokens": usage.get("output_tokens", 0),
        "cached_tokens": usage.get("cache_read_tokens", 0),
    }
    return metrics if cost_usd is None else metrics | {"cost_usd": cost_usd}


def _totals(task: Mapping[str, Any], steps: int) -> dict[str, Any]:
    totals = {f"total_{name}": value for name, value in _metrics(task["usage"], task["cost_usd"]).items()}
    return totals | {"total_steps": steps}
