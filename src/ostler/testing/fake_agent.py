"""A program that speaks claude's wire format, keeps sessions, edits files and misbehaves on request.

`fake_claude(directory, ...)` writes a launcher named `claude`. What it does is in `claude.json` beside it, or
in the variable FAKE_AGENT (a JSON object, or the name of a misbehaviour from fake_faults.FAULTS). Keys:

    fault            a misbehaviour; "" is none
    plan             a list of these objects, or of fault names: one per start, the last for all later
    text             the final text; the default completes the phase
    edits            {path: line}: each line is appended to its file; default {"fake-agent.txt": "call N"}
    delay_seconds    how long it works before its result
    events           how many further assistant lines it prints
    ledger           a file that gets one JSON line per start, edit and end
    sessions         the directory of its sessions; default: CLAUDE_CONFIG_DIR, else beside the launcher
    version, cost_usd, status, count, bytes, error   what the faults and the result are made of

Standard library only and run with -S -E, so that it starts in about 20 ms.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

COMPLETE = "Done.\n\n<phase_complete>true</phase_complete>"
DEFAULTS: dict[str, Any] = {
    "fault": "",
    "text": COMPLETE,
    "edits": {"fake-agent.txt": "call"},
    "delay_seconds": 0.0,
    "events": 0,
    "ledger": "",
    "sessions": "",
    "version": "2.1.325",
    "cost_usd": 0.00014,
    "status": 1,
    "count": 5,
    "bytes": 1 << 26,
    "error": 429,
}


def fake_claude(directory: Path, **behaviour: object) -> Path:
    """Write a launcher named `claude` that behaves so; with an a19 fault it cannot be started."""
    directory.mkdir(parents=True, exist_ok=True)
    launcher = directory / "claude"
    (directory / "claude.json").write_text(json.dumps(behaviour), "utf-8")
    if behaviour.get("fault") == "a19_missing":
        return launcher
    start = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\nimport fake_agent, fake_faults\n"
    )
    program = f"#!{sys.executable} -SE\n{start}sys.exit(fake_agent.main(__file__, fake_faults.FAULTS))\n"
    launcher.write_text("\x7fnot a program" if behaviour.get("fault") == "a19_wrong_format" else program)
    launcher.chmod(0o644 if behaviour.get("fault") == "a19_not_executable" else 0o755)
    return launcher


def read_ledger(path: Path) -> list[dict[str, Any]]:
    """What the fakes that share this ledger did, in order."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


class FakeAgent:
    """One start of the fake."""

    def __init__(self, launcher: Path, arguments: list[str]) -> None:
        self.launcher = launcher
        self.arguments = arguments
        self.beats = f"{launcher}.beats"  # grows while a daemon of it lives
        self.number = _count_start(launcher)
        self.behaviour = _behaviour(launcher, self.number)
        self.resumed = "--resume" in arguments
        self.session_id = self._option("--resume") or self._option("--session-id") or f"fake-{os.getpid()}"
        self.model = self._option("--model") or "claude-fake-1"
        self.prompt = ""
        self.history: list[str] = []
        self.total_cost = 0.0

    def __getitem__(self, key: str) -> Any:
        return self.behaviour[key]

    def _option(self, name: str) -> str:
        places = [place for place, argument in enumerate(self.arguments) if argument == name]
        return self.arguments[places[-1] + 1] if places else ""

    # What it prints.

    def print_line(self, line: dict[str, Any]) -> None:
        self.print_bytes(json.dumps(line).encode() + b"\n")

    def print_bytes(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(1, view) :]

    def say_init(self) -> None:
        head = {"type": "system", "subtype": "init", "session_id": self.session_id}
        self.print_line(
            {**head, "model": self.model, "claude_code_version": self["version"], "tools": ["Edit"]}
        )

    def say_block(self, block: dict[str, Any], **more: Any) -> None:
        message = {"id": f"msg_{self.number}", "role": "assistant", "model": self.model, "content": [block]}
        usage = {"input_tokens": 10, "output_tokens": 1}
        self.print_line({"type": "assistant", "message": {**message, "usage": usage}, **more})

    def say(self, text: str, **more: Any) -> None:
        self.say_block({"type": "text", "text": text}, **more)

    def say_result(self, text: str, *, is_error: bool = False, **more: Any) -> None:
        self.total_cost += 0.0 if is_error else self["cost_usd"]
        cumulative = self["version"] > "2.1.197"
        body: dict[str, Any] = {
            "subtype": "success",  # also for errors, as the real one
            "is_error": is_error,
            "result": text,
            "session_id": self.session_id,
            "stop_reason": "end_turn",
            "terminal_reason": "api_error" if is_error else "completed",
            "total_cost_usd": self.total_cost if cumulative else self["cost_usd"],
            "usage": {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 2},
            "permission_denials": [],
        }
        self.print_line({**body, **more, "type": "result"})
        if not is_error:
            self.remember({"cost": self.total_cost})

    def fail(self, sentence: str) -> int:
        os.write(2, sentence.encode() + b"\n")
        return 1

    # Its sessions: one file each, a JSON line per turn.

    def session_file(self) -> Path:
        home = (
            self["sessions"] or os.environ.get("CLAUDE_CONFIG_DIR") or str(self.launcher.parent / "sessions")
        )
        return Path(home, f"{self.session_id}.jsonl")

    def remember(self, line: dict[str, Any]) -> None:
        append_line(self.session_file(), line)

    def recall(self) -> bool:
        """Read the session's earlier prompts and cost; False when there is none, or it is not readable."""
        try:
            turns = [json.loads(line) for line in self.session_file().read_text("utf-8").splitlines()]
        except (OSError, ValueError):
            return False
        self.history = [turn["prompt"] for turn in turns if "prompt" in turn]
        self.total_cost = max([turn["cost"] for turn in turns if "cost" in turn], default=0.0)
        return True

    def open_session(self) -> int:
        """As claude does: a new id must be new, an old one must be known."""
        known = self.recall()
        if self.resumed and not known:
            sentence = f"No conversation found with session ID: {self.session_id}"
            self.say_result("", is_error=True, subtype="error_during_execution", errors=[sentence])
            return self.fail(sentence)
        if not self.resumed and known:
            return self.fail(f"Error: Session ID {self.session_id} is already in use.")
        return 0

    # What it does.

    def edit(self, path: str, line: str) -> None:
        use = {"type": "tool_use", "id": f"toolu_{path}", "name": "Edit", "input": {"file_path": path}}
        self.say_block(use)
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        append_text(Path(path), f"{line} {self.number}\n")
        self.record("edit", path=path)
        answer = {"type": "tool_result", "tool_use_id": use["id"], "content": "ok"}
        self.print_line({"type": "user", "message": {"role": "user", "content": [answer]}})

    def work(self) -> None:
        """Edit, talk and take time; everything but the result."""
        self.say_init()
        self.remember({"prompt": self.prompt})
        for path, line in self["edits"].items():
            self.edit(path, line)
        for number in range(self["events"]):
            self.say(f"thinking about step {number}")
        time.sleep(self["delay_seconds"])

    def answer(self) -> str:
        """The final text; asked for a word that it was told earlier, it knows it."""
        told = [prompt.partition("Remember the word ")[2].split(".")[0] for prompt in self.history]
        if "Which word" in self.prompt:
            return f"The word was {next(filter(None, reversed(told)), 'never told')}."
        return self["text"]

    def run(self) -> int:
        """One turn, as a well-behaved agent does it."""
        self.work()
        text = self.answer()
        self.say(text)
        self.say_result(text)
        return 0

    def record(self, event: str, **more: Any) -> None:
        if self["ledger"]:
            who = {"pid": os.getpid(), "number": self.number, "session": self.session_id}
            append_line(Path(self["ledger"]), {"event": event, **who, "cwd": _cwd(), **more})


def main(launcher: str, faults: dict[str, Callable[[FakeAgent], int]]) -> int:
    """Play one start, badly where the behaviour asks for it."""
    if "--version" in sys.argv:
        print("2.1.325 (Claude Code)")
        return 0
    agent = FakeAgent(Path(launcher), sys.argv[1:])
    agent.record("start", resumed=agent.resumed, fault=agent["fault"], arguments=agent.arguments)
    status = faults[agent["fault"]](agent)
    agent.record("end", status=status)
    return status


def append_text(path: Path, text: str) -> None:
    """One write with O_APPEND: whole or absent, even when others write and a kill comes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(descriptor, text.encode())
    os.close(descriptor)


def append_line(path: Path, line: dict[str, Any]) -> None:
    append_text(path, json.dumps(line) + "\n")


def _count_start(launcher: Path) -> int:
    """1 for the first start of this launcher: each start makes a file longer by one byte."""
    descriptor = os.open(f"{launcher}.starts", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(descriptor, b".")
    number = os.lseek(descriptor, 0, os.SEEK_CUR)
    os.close(descriptor)
    return number


def _behaviour(launcher: Path, number: int) -> dict[str, Any]:
    behaviour = {**DEFAULTS, **json.loads(Path(f"{launcher}.json").read_text("utf-8"))}
    plan = behaviour.pop("plan", [])
    steps = [plan[min(number, len(plan)) - 1]] if plan else []
    for more in (*steps, os.environ.get("FAKE_AGENT", "")):
        behaviour.update(_spelled_out(more))
    return behaviour


def _spelled_out(more: dict[str, Any] | str) -> dict[str, Any]:
    if not isinstance(more, str):
        return more
    if more.startswith("{"):
        return json.loads(more)
    return {"fault": "" if more == "ok" else more} if more else {}


def _cwd() -> str:
    try:
        return str(Path.cwd())
    except FileNotFoundError:
        return ""
