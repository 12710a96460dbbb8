"""A fake claude that works step by step: it thinks, keeps a todo list, and waits for a file at its end."""

from __future__ import annotations

import sys
from pathlib import Path

PROGRAM = """#!{python} -I
import json, os, pathlib, sys, time
if "--version" in sys.argv:
    print("2.1.325 (Claude Code)")
    sys.exit()
prompt = sys.stdin.read()
here, go = os.getcwd(), pathlib.Path({go!r})
number, MODEL = 0, "claude-opus-4-5"
CODE = "def parse(text):\\n    return text.split()\\n"

def out(line):
    print(json.dumps(line), flush=True)

def say(*blocks):
    global number
    number += 1
    usage = {{"input_tokens": 1200, "output_tokens": 300, "cache_read_input_tokens": 20000}}
    head = {{"id": f"msg_{{number}}", "role": "assistant", "model": MODEL}}
    out({{"type": "assistant", "message": {{**head, "content": list(blocks), "usage": usage}}}})

def use(name, returned="ok", failed=False, **given):
    key = f"toolu_{{number}}"
    say({{"type": "tool_use", "id": key, "name": name, "input": given}})
    result = {{"type": "tool_result", "tool_use_id": key, "content": returned, "is_error": failed}}
    out({{"type": "user", "message": {{"role": "user", "content": [result]}}}})

def todos(*states):
    names = ("Read the parser", "Write the tests", "Change the parser")
    todo = lambda name, state: {{"content": name, "activeForm": name, "status": state}}
    use("TodoWrite", todos=list(map(todo, names, states)))

version = {{"claude_code_version": "2.1.325", "tools": []}}
out({{"type": "system", "subtype": "init", "model": MODEL, **version}})
say({{"type": "thinking", "thinking": "The parser has two entry points. First read both."}})
todos("in_progress", "pending", "pending")
use("Read", "1\\\\tdef parse():", file_path=f"{{here}}/README.md")
use("Grep", "README.md:1", pattern="parse\\\\(", path=here)
todos("completed", "in_progress", "pending")
use("Bash", "1 failed", True, command="pytest -q tests")
pathlib.Path("parser.py").write_text("def parse(text):\\\\n    return text.split()\\\\n")
use("Write", file_path=f"{{here}}/parser.py", content="def parse(text):\\\\n    return text.split()\\\\n")
while not go.exists():
    time.sleep(0.05)
todos("completed", "completed", "completed")
text = "The parser splits words. <phase_complete>true</phase_complete>"
usage = {{"input_tokens": 9600, "output_tokens": 2400}}
end = {{"type": "result", "subtype": "success", "is_error": False, "result": text}}
out({{**end, "total_cost_usd": 0.4, "usage": usage}})
"""


def put_slow_agent(launcher: Path, go: Path) -> None:
    """Let `launcher` work as described, and end when `go` exists."""
    launcher.unlink(missing_ok=True)
    launcher.write_text(PROGRAM.format(python=sys.executable, go=str(go)))
    launcher.chmod(0o755)
