"""The program behind the scripted executor: plays steps from stdin and says what it does as JSON lines.

Standard library only, so that it starts in a few milliseconds: `python -I -S scripted_agent.py STATE`.
STATE holds the session's steps and how many are done; playing the same steps again goes on with the next one.
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

_TAIL_BYTES = 16_000  # of what a command prints
_numbers = count(1)  # of the tools that are used


class Failed(Exception):
    """The script wants this attempt to end badly."""

    def __init__(self, message: str, code: str | None = None, status: int = 1) -> None:
        super().__init__(message)
        self.code = code
        self.status = status


class Session:
    """A script and how far it was played, kept in a file that is old or whole."""

    def __init__(self, path: str, steps: list[dict[str, Any]] | None) -> None:
        self._path = path
        kept = self._read()
        self.known = kept is not None
        self.steps = steps if steps is not None else (kept or {})["steps"]
        self.done = kept["done"] if kept and kept["steps"] == self.steps else 0
        self._write()

    def advance(self) -> None:
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
    """Play what is not yet done; the exit status is the script's."""
    work = json.load(sys.stdin)
    session = Session(state, work["steps"])
    tell("session", session_id=work["session_id"], resumed=session.known)
    try:
        said = _play(session)
    except Failed as failure:
        tell("failed", message=str(failure), code=failure.code)
        return failure.status
    tell("result", text=said, input_tokens=work["prompt_length"] // 4, output_tokens=len(said) // 4)
    return 0


def _play(session: Session) -> str:
    for step in session.steps[session.done :]:
        ((verb, value),) = step.items()
        if verb == "fail":
            session.advance()
            raise Failed(value["message"], value["code"], value["exit"])
        _DO[verb](value)
        session.advance()
    said = [step["say"] for step in session.steps if "say" in step]
    return said[-1] if said else "Done."


def tell(kind: str, **members: object) -> None:
    print(json.dumps({"type": kind, **members}), flush=True)


def _say(text: str) -> None:
    tell("text", text=text)


def tell_tool(tool: str, detail: str, **given: str) -> str:
    """Say that a tool is used, and what it is asked; what it returns names the number."""
    number = str(next(_numbers))
    tell("tool", id=number, tool=tool, detail=detail, input=given)
    return number


def _use(tool: dict[str, str]) -> None:
    tell_tool(tool["name"], tool["detail"])


def _edit(edit: dict[str, Any]) -> None:
    path = Path(edit["path"])
    if not path.resolve().is_relative_to(Path.cwd().resolve()):
        raise Failed(f"edit: {path} is outside the workspace")
    old, new = _difference(path, edit)
    number = tell_tool("edit", str(path), path=str(path), old_string=old, new_string=new)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_edited(path, edit), "utf-8")
    tell("output", id=number)


def _difference(path: Path, edit: dict[str, Any]) -> tuple[str, str]:
    """What is taken away and what comes, as far as the step says it."""
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
    number = tell_tool("run", command, command=command)
    with tempfile.TemporaryFile() as output:
        to_file = [(os.POSIX_SPAWN_DUP2, output.fileno(), 1), (os.POSIX_SPAWN_DUP2, output.fileno(), 2)]
        actions = [(os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0), *to_file]
        pid = os.posix_spawn("/bin/sh", ["sh", "-c", command], os.environ, file_actions=actions)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        output.seek(0)
        tail = output.read()[-_TAIL_BYTES:].decode("utf-8", "replace")
    tell("output", id=number, text=tail, failed=status != 0)
    if status:
        raise Failed(f"run: {command!r} ended with status {status}: {tail.strip()[-200:]}")


_DO = {"say": _say, "tool": _use, "edit": _edit, "run": _run, "sleep": time.sleep}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
