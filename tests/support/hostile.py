"""An agent that does its task and fills every field with hostile texts."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from payloads import armed, short
from skill_world import write_skill
from world import World

SETTINGS = """
documents.executor = "claude"
gates.commands.implement = "cat gate.txt; exit 1"
git.branch_prefix = "<svg/onload=alert(8)>"
phases.max_phase_retries = 0
"""
PROGRAM = """#!{python} -SE
import json, pathlib, sys
if "--version" in sys.argv:
    sys.exit(print("2.1.325 (Claude Code)"))
told = json.loads(pathlib.Path(__file__ + ".told").read_text("utf-8"))
after = [sys.argv[at + 1] for at, one in enumerate(sys.argv) if one in ("--session-id", "--resume")]
for name, text in told["files"].items():
    pathlib.Path(name).write_text(text, "utf-8")
for line in told["lines"]:
    print(json.dumps({{**line, "session_id": after[-1]}}), flush=True)
sys.exit(told["status"])
"""


def make_hostile(world: World, canary: str) -> None:
    """An agent, a gate, a skill, a pipeline, branches and files that are full of payloads."""
    texts = armed(canary, "g")
    text = "\n\n".join(texts).replace("\0", "")
    printed = talk(armed(canary, "a"), short(7), "Done.\n\n<phase_complete>true</phase_complete>")
    files = {f"{short(number)}.md": text for number in range(6)}
    put_in_place(world.agents / "claude", printed, {**files, "gate.txt": text})
    write_skill(world.root, "copy", f"---\nname: copy\ndescription: {json.dumps(text)}\n---\n{text}")
    steps = [{"skill": "copy", "requirements": text}, {"id": "mail", "skill": "copy"}]
    pipelines = world.root / ".agents" / "pipelines"
    pipelines.mkdir()
    (pipelines / "launch.yaml").write_text(json.dumps({"goal": texts[0], "steps": steps}))
    (world.root / "ostler.toml").write_text(SETTINGS)


def put_in_place(
    launcher: Path, lines: Sequence[dict[str, Any]], files: dict[str, str], status: int = 0
) -> None:
    """Let `launcher` write these files and print these lines in claude's output format."""
    reported = {"lines": list(lines), "files": files, "status": status}
    Path(f"{launcher}.told").write_text(json.dumps(reported), "utf-8")
    launcher.write_text(PROGRAM.format(python=sys.executable))
    launcher.chmod(0o755)


def talk(texts: Sequence[str], model: str, ending: str) -> list[dict[str, Any]]:
    """Each text as a message of the agent, a tool's name, its argument and its output; then the end."""
    version = texts[0] if texts else "2.1.325"
    init = {"type": "system", "subtype": "init", "model": model, "claude_code_version": version, "tools": []}
    lines = [init]
    for number, text in enumerate(texts):
        lines += [_reported({"type": "text", "text": text}, model), *_used(number, text, model)]
    return [*lines, result(ending)]


def result(text: str, is_error: bool = False, **more: Any) -> dict[str, Any]:
    usage = {"input_tokens": 10, "output_tokens": 5}
    reported = {"is_error": is_error, "result": text, "total_cost_usd": 0.02, "usage": usage}
    return {"type": "result", "subtype": "success", **reported, **more}


def _reported(block: dict[str, Any], model: str) -> dict[str, Any]:
    usage = {"input_tokens": 10, "output_tokens": 1}
    message = {"id": "msg_1", "role": "assistant", "model": model, "content": [block], "usage": usage}
    return {"type": "assistant", "message": message}


def _used(number: int, text: str, model: str) -> list[dict[str, Any]]:
    tools = (
        ("Edit", {"file_path": text, "old_string": text, "new_string": text * 2}),
        ("Bash", {"command": text, "description": text}),
        (text, {text: text, "nested": {text: [text]}}),
    )
    name, given = tools[number % len(tools)]
    key = f"toolu_{number}"
    returned = {"type": "tool_result", "tool_use_id": key, "content": text, "is_error": number % 2 == 0}
    return [
        _reported({"type": "tool_use", "id": key, "name": name, "input": given}, model),
        {"type": "user", "message": {"role": "user", "content": [returned]}},
    ]
