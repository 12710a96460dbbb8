"""The program that runs a script: reads the steps from stdin and reports its actions as JSON lines.

It uses only the standard library, so it starts in a few milliseconds: `python -I -S agent.py STATE`. The file
STATE holds the steps of the session and the number of finished ones; a run with the same steps continues
after those.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import Any

_TAIL_BYTES = 16_000  # of the output of a command
_use_ids = count(1)


class Failed(Exception):
    """A step that fails the attempt."""

    def __init__(self, message: str, code: str | None = None, status: int = 1) -> None:
        super().__init__(message)
        self.code = code
        self.status = status


class Session:
    """A script and the number of finished steps, stored in a file that is replaced atomically."""

    def __init__(self, path: str, steps: list[dict[str, Any]] | None) -> None:
        self._path = path
        stored = self._read()
        self.resumed = stored is not None
        self.steps = steps if steps is not None else (stored or {})["steps"]
        self.done = stored["done"] if stored and stored["steps"] == self.steps else 0
        self._write()

    def advance(self) -> None:
        """Record that one more step is finished."""
        self.done += 1
        self._write()

    def _read(self) -> dict[str, Any] | None:
        try:
            return json.loads(Path(self._path).read_text("utf-8")) if self._path else None
        except (OSError, ValueError):
            return None

    def _write(self) -> None:
        if self._path:
            draft = Path(self._path + ".tmp")
            draft.touch(0o600)
            draft.write_text(json.dumps({"steps": self.steps, "done": self.done}), "utf-8")
            draft.replace(self._path)


def main(state: str) -> int:
    """Run the steps that are not finished; return the exit code."""
    task = json.load(sys.stdin)
    session = Session(state, task["steps"])
    report("session", session_id=task["session_id"], resumed=session.resumed)
    try:
        answer = _run_steps(session)
    except Failed as failure:
        report("failed", message=str(failure), code=failure.code)
        return failure.status
    report("result", text=answer, input_tokens=task["prompt_length"] // 4, output_tokens=len(answer) // 4)
    return 0


def _run_steps(session: Session) -> str:
    for step in session.steps[session.done :]:
        ((action, value),) = step.items()
        if action == "fail":
            session.advance()
            raise Failed(value["message"], value["code"], value["exit"])
        _ACTIONS[action](value)
        session.advance()
    answer = [step["say"] for step in session.steps if "say" in step]
    return answer[-1] if answer else "Done."


def report(kind: str, **members: object) -> None:
    """Print one JSON line."""
    print(json.dumps({"type": kind, **members}), flush=True)


def _say(text: str) -> None:
    report("text", text=text)


def report_tool(tool: str, detail: str, **tool_input: str) -> str:
    """Report the use of a tool, and return the id of this use."""
    use_id = str(next(_use_ids))
    report("tool", id=use_id, tool=tool, detail=detail, input=tool_input)
    return use_id


def _report_use(tool: dict[str, str]) -> None:
    report_tool(tool["name"], tool["detail"])


def _edit(edit: dict[str, Any]) -> None:
    path = Path(edit["path"])
    if not path.resolve().is_relative_to(Path.cwd().resolve()):
        raise Failed(f"edit: {path} is outside the workspace")
    old, new = _difference(path, edit)
    use_id = report_tool("edit", str(path), path=str(path), old_string=old, new_string=new)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_edited(path, edit), "utf-8")
    report("output", id=use_id)


def _difference(path: Path, edit: dict[str, Any]) -> tuple[str, str]:
    """Return the old and the new text of an edit."""
    if edit["content"] is None:
        return (edit["replace"] or "", edit["append"] or edit["by"] or "")
    before = path.read_bytes().decode("utf-8", "replace") if path.is_file() else ""
    return before, edit["content"]


def _edited(path: Path, edit: dict[str, Any]) -> str:
    if edit["content"] is not None:
        return edit["content"]
    before = path.read_text("utf-8") if path.exists() else ""
    if edit["append"] is not None:
        return before + edit["append"]
    if edit["replace"] not in before:
        raise Failed(f"edit: {path} does not contain {edit['replace']!r}")
    return before.replace(edit["replace"], edit["by"], 1)


def _run(command: str) -> None:
    use_id = report_tool("run", command, command=command)
    with tempfile.TemporaryFile() as output:
        to_file = [(os.POSIX_SPAWN_DUP2, output.fileno(), 1), (os.POSIX_SPAWN_DUP2, output.fileno(), 2)]
        actions = [(os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0), *to_file]
        pid = os.posix_spawn("/bin/sh", ["sh", "-c", command], os.environ, file_actions=actions)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        output.seek(0)
        tail = output.read()[-_TAIL_BYTES:].decode("utf-8", "replace")
    report("output", id=use_id, text=tail, failed=status != 0)
    if status:
        raise Failed(f"run: {command!r} ended with status {status}: {tail.strip()[-200:]}")


_ACTIONS = {"say": _say, "tool": _report_use, "edit": _edit, "run": _run, "sleep": time.sleep}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
