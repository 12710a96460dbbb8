"""A task as a trajectory in the Agent Trajectory Interchange Format (ATIF), version 1.4.

A prompt is a step of the user, each text of the agent with the tools that follow it a step of the agent, and
what a gate or a person said a step of the system or the user.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Literal

from msgspec import Struct

from ostler.clock import rfc3339
from ostler.views.feed import Line
from ostler.views.story import Entry

VERSION = "ATIF-v1.4"
_OURS = "ostler"

Source = Literal["system", "user", "agent"]
Step = dict[str, Any]


class Turn(Struct, frozen=True):
    """One attempt: what it was told, and what it said and did."""

    prompt: str
    model: str | None
    began_at: float
    entries: Iterable[Entry]


def trajectory(
    task: Mapping[str, Any], turns: Iterable[Turn], events: Iterable[Line], version: str
) -> dict[str, Any]:
    """`task` is ostler.task/1; `version` is ours."""
    steps = _spoken(events)
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


def _steps(turn: Turn) -> Timed:
    steps: Timed = [(turn.began_at, _step("user", turn.began_at, turn.prompt))]
    for entry in turn.entries:
        at = float(entry["at"])
        match entry["type"]:
            case "text_said":
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


def _use(steps: Timed, at: float, entry: Entry) -> None:
    """A tool belongs to the words before it, unless an answer has come since."""
    last = steps[-1][1]
    if last["source"] != "agent" or "observation" in last:
        last = _step("agent", at, "")
        steps.append((at, last))
    given: Any = entry.get("input") or {}
    call: dict[str, Any] = {
        "tool_call_id": _call_id(entry),
        "function_name": entry["tool"],
        "arguments": given if isinstance(given, dict) else {"value": given},
    }
    last.setdefault("tool_calls", []).append(call)


def _call_id(entry: Entry) -> str:
    return str(entry.get("id") or f"at-{entry['offset']}")


def _observe(steps: Timed, entry: Entry) -> None:
    """An answer goes to the step that asked; one that nobody asked for is left out."""
    for _, step in reversed(steps):
        if any(call["tool_call_id"] == entry.get("id") for call in step.get("tool_calls", ())):
            result: dict[str, Any] = {"source_call_id": entry["id"], "content": entry.get("text", "")}
            if entry.get("failed"):
                result["extra"] = {"failed": True}
            step.setdefault("observation", {"results": []})["results"].append(result)
            return


def _measure(steps: Timed, entry: Entry) -> None:
    """What an attempt used is known at its end, so it stands at its last step."""
    last = steps[-1][1]
    if last["source"] == "agent":
        last["metrics"] = _metrics(entry.get("usage") or {}, entry.get("cost_usd"))


def _spoken(events: Iterable[Line]) -> Timed:
    """What gates and people said."""
    steps: Timed = []
    for event in events:
        at = datetime.fromisoformat(event["time"]).timestamp()
        if event["type"] == "gate_decided":
            said = f"gate of {event['phase']}: {event['verdict']} {event.get('reason', '')}".rstrip()
            steps.append((at, _step("system", at, said)))
        elif event["type"] == "decision_recorded":
            steps.append((at, _step("user", at, f"{event['verb']}: {event.get('text', '')}".rstrip(": "))))
    return steps


def _step(source: Source, at: float, message: str) -> Step:
    return {"step_id": 0, "timestamp": rfc3339(at), "source": source, "message": message}


def _metrics(usage: Mapping[str, int], cost_usd: float | None) -> dict[str, Any]:
    """The prompt's tokens are all that were sent, those from a cache included."""
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
