"""One attempt in full: its prompt, its response and what it meant for the phase."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from ostler.cli.terminal.text import escape_controls, format_reason
from ostler.errors import UsageError
from ostler.model.ids import TaskId
from ostler.project.artifacts.task_folder import find_task_folder
from ostler.project.project import Project
from ostler.views.task import AttemptView

SCHEMA = "ostler.attempt/1"
_NO_FILE = "(the file was removed)"


def read_attempt(project: Project, task: TaskId, number: int) -> dict[str, Any]:
    """Return an attempt as JSON; raise UsageError if the task has no such attempt."""
    attempts = project.show(task).attempts
    view = next((one for one in attempts if one.number == number), None)
    if view is None:
        numbers = ", ".join(str(one.number) for one in attempts) or "none"
        raise UsageError(f"{task} has no attempt {number}", f"its attempts: {numbers}")
    facts: dict[str, Any] = {"schema": SCHEMA, "task_id": task, **msgspec.to_builtins(view)}
    return facts | _read_texts(project, task, view)


def format_attempt(facts: dict[str, Any]) -> str:
    """Return the attempt as text: facts, prompt, response, and how the call ended."""
    usage = facts["usage"]
    duration = "" if facts["duration_ms"] is None else f"{facts['duration_ms'] / 1000:.1f} s"
    lines = {
        "status": format_reason(facts["status"], facts["message"]),
        "phase": f"{facts['phase']}, iteration {facts['iteration']}",
        "agent": " ".join(filter(None, (facts["executor"], facts["model"]))),
        "session": f"{facts['session_id'] or 'none'}{' (resumed)' if facts['resumed'] else ''}",
        "template": facts["template"] or "",
        "tokens": f"{usage['input_tokens']} in, {usage['output_tokens']} out",
        "duration": duration,
        "result": format_reason(facts["verdict"] or "", facts["reason"]),
    }
    head = [f"{facts['task_id']}  attempt {facts['number']}", ""]
    head += [f"  {name:<9} {escape_controls(text)}" for name, text in lines.items() if text]
    texts = ("", "Prompt", "", facts["prompt"] or _NO_FILE, "", "Response", "", facts["response"] or "(none)")
    return "\n".join((*head, *(escape_controls(text.rstrip()) for text in texts)))


def _read_texts(project: Project, task: TaskId, view: AttemptView) -> dict[str, str]:
    name = Path(view.transcript).stem
    prompt, response = f"prompts/{name}.md", f"transcripts/{name}.answer.md"
    folder = find_task_folder(project, task, prompt, response)
    return {"prompt": _read(folder / prompt), "response": _read(folder / response)}


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except FileNotFoundError:
        return ""
