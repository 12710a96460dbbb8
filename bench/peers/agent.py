"""The agent that every system runs: a program named claude that answers at once in claude's formats."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

SLEEP = "sleep 86399"  # an unusual number, by which the process is found
MARKERS = "<promise>COMPLETE</promise> LOOP_COMPLETE <phase_complete>true</phase_complete>"
# The fields that Ouroboros wants from its evaluators; the other systems read only the markers.
ANSWER = {
    "status": "done",
    "summary": "hello.txt is written",
    "files_changed": ["hello.txt"],
    "score": 1.0,
    "ac_compliance": True,
    "goal_alignment": 1.0,
    "drift_score": 0.0,
    "uncertainty": 0.0,
    "reasoning": "hello.txt exists",
    "questions_used": ["Does hello.txt exist?"],
    "evidence": ["hello.txt"],
    "reward_hacking_risk": 0.0,
    "approved": True,
    "confidence": 1.0,
}
INIT = {
    "type": "system",
    "subtype": "init",
    "session_id": "bench",
    "model": "none",
    "cwd": "/",
    "tools": [],
    "mcp_servers": [],
    "permissionMode": "bypassPermissions",
    "apiKeySource": "none",
}
USAGE = {"input_tokens": 1, "output_tokens": 1}
MESSAGE = {
    "type": "assistant",
    "session_id": "bench",
    "parent_tool_use_id": None,
    "message": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "none",
        "content": [{"type": "text", "text": "TEXT"}],
        "stop_reason": "end_turn",
        "usage": USAGE,
    },
}
RESULT = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "duration_ms": 1,
    "duration_api_ms": 1,
    "num_turns": 1,
    "session_id": "bench",
    "total_cost_usd": 0,
    "usage": USAGE,
    "result": "TEXT",
}
ACCEPTED = {
    "type": "control_response",
    "response": {"subtype": "success", "request_id": "ID", "response": {}},
}
# Answers that resemble each other would count as a loop.
PARTS = (
    "The repository has one commit.",
    "Next comes the greeting itself; nothing else is missing.",
    "I read all files. Tests do not exist here!",
    "A name was chosen: hello.txt, in the top directory of this project, encoded as UTF-8.",
    "Wrote 6 bytes.",
)
# It uses only builtins of the shell, except where a system wants a commit from its agent.
SCRIPT = r"""#!/bin/sh
case "$1" in -v|--version) echo '2.1.325 (Claude Code)'; exit;; esac
output=text input=text last=
for one; do
  case "$last" in --output-format) output=$one;; --input-format) input=$one;; esac
  last=$one
done
if [ "$input" = stream-json ]; then  # claude-agent-sdk sends a request before its prompt
  read -r request
  id=${{request#*\"request_id\": \"}}; id=${{id%%\"*}}
  printf '%s\n' {accepted}
  read -r prompt
else
  while read -r prompt; do :; done
fi
calls=0
[ ! -e "$HOME/bench-calls" ] || read -r calls < "$HOME/bench-calls"
calls=$((calls + 1))
echo $calls > "$HOME/bench-calls"
echo call >> "$HOME/bench-log"
{begin}
case $calls in {parts} esac
quoted=$text
[ $calls -lt {last} ] || {{ echo $calls >> hello.txt; {commit}; text={text}; quoted={quoted}; }}
if [ $output = text ]; then
  printf '%s\n' "$text"
else
  printf '%s\n' {lines}
fi
{end}
"""
COMMIT = "git add hello.txt && git commit -qm 'Say hello'"
# What the agent does before and after its answer.
BEGIN = {
    "sleep": f"exec {SLEEP}",
    "daemon": f"setsid {SLEEP} > /dev/null 2>&1 < /dev/null & sleep 2",
    "edit": "i=0; while [ $i -lt 900 ]; do echo $i >> hello.txt; i=$((i + 1)); sleep 0.2; done",
}
END = {"hang": f"exec {SLEEP}"}


def write_agent(path: Path, mode: str, last: int, commits: bool) -> None:
    """Write an agent that completes its task with this call; the mode is "instant" or a key above."""
    text = json.dumps(ANSWER | {"note": MARKERS})
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        SCRIPT.format(
            accepted=literal(ACCEPTED, "ID", "$id"),
            lines=" ".join(literal(line, "TEXT", "$quoted") for line in (INIT, MESSAGE, RESULT)),
            parts=" ".join(f"{number}) text={shlex.quote(part)};;" for number, part in enumerate(PARTS, 1)),
            begin=BEGIN.get(mode, ":"),
            end=END.get(mode, ":"),
            last=last,
            commit=COMMIT if commits else ":",
            text=shlex.quote(text),
            quoted=shlex.quote(json.dumps(text)[1:-1]),
        )
    )
    path.chmod(0o755)


def literal(line: dict[str, object], name: str, value: str) -> str:
    """A line of JSON as a word of the shell, in which a variable replaces a name."""
    before, found, after = json.dumps(line, separators=(",", ":")).partition(f'"{name}"')
    return f"""'{before}{found and '"'}'"{value}"'{found and '"'}{after}'""" if found else shlex.quote(before)
