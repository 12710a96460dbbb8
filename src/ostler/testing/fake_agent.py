"""A program that speaks an agent's wire format, keeps sessions, edits files and misbehaves on request.

`fake_agent(directory, "codex", ...)` writes a launcher named `codex`, `fake_claude` one for claude. What it
does is in `codex.json` beside it, or in the variable FAKE_AGENT (a JSON object, or the name of a misbehaviour
from faults.FAULTS). Keys:

    fault            a misbehaviour; "" is none
    plan             a list of these objects, or of fault names: one per start, the last for all later
    text             the final text; the default completes the phase
    structured       what it answers to a schema; the default fits it. A text that was set goes before that,
                     as a model may never give the object that it is asked for
    edits            {path: line}: each line is appended to its file; default {"fake-agent.txt": "call N"}
    files            {path: text}: each file is written whole
    script           what it lets a shell do in its workspace
    when             a list of these objects with `told`: the first whose words its session knows counts
    delay_seconds    how long it works before its result
    events           how many further assistant lines it prints
    ledger           a file that gets one JSON line per start, edit and end
    sessions         the directory of its sessions; default: CLAUDE_CONFIG_DIR, else beside the launcher
    logged_in        what it says when it is asked; default true
    version, cost_usd, status, count, bytes, error, says, seconds   what the faults and the result are made of

Standard library only and run with -S -E, so that it starts in about 20 ms.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

COMPLETE = "Done.\n\n<phase_complete>true</phase_complete>"
DEFAULTS: dict[str, Any] = {
    "fault": "",
    "text": COMPLETE,
    "structured": None,
    "edits": {"fake-agent.txt": "call"},
    "files": {},
    "script": "",
    "when": [],
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
    "says": "fake",
    "seconds": 1.0,
}


PROGRAMS = {"cursor": "cursor-agent"}  # where the program is not called as its wire format
LOGIN_CHECKS = (["auth", "status"], ["login", "status"])


def fake_claude(directory: Path, **behaviour: object) -> Path:
    """Write a launcher named `claude` that behaves so."""
    return fake_agent(directory, "claude", **behaviour)


def fake_agent(directory: Path, wire: str, **behaviour: object) -> Path:
    """Write a launcher that speaks as this agent does; with an a19 fault it cannot be started."""
    directory.mkdir(parents=True, exist_ok=True)
    launcher = directory / PROGRAMS.get(wire, wire)
    Path(f"{launcher}.json").write_text(json.dumps(behaviour), "utf-8")
    if behaviour.get("fault") == "a19_missing":
        return launcher
    start = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\nimport fake_agent, faults\n"
    play = f"sys.exit(fake_agent.main(__file__, {wire!r}, faults.FAULTS))\n"
    program = f"#!{sys.executable} -SE\n{start}{play}"
    launcher.write_text("\x7fnot a program" if behaviour.get("fault") == "a19_wrong_format" else program)
    launcher.chmod(0o644 if behaviour.get("fault") == "a19_not_executable" else 0o755)
    return launcher


def read_ledger(path: Path) -> list[dict[str, Any]]:
    """What the fakes that share this ledger did, in order."""
    return [json.loads(line) for line in path.read_text("utf-8").split("\n")[:-1]] if path.exists() else []


class FakeAgent:
    """One start of the fake."""

    def __init__(self, launcher: Path, wire: Any, arguments: list[str]) -> None:
        self.launcher = launcher
        self.wire = wire
        self.arguments = arguments
        self.beats = f"{launcher}.beats"  # grows while a daemon of it lives
        self.number = _count_start(launcher)
        self.behaviour = _behaviour(launcher, self.number)
        self.notes: dict[str, Any] = {}  # the wire's own
        self.session_id, self.resumed = wire.session_of(self)
        self.model = self.option("--model") or wire.MODEL
        self.prompt = ""
        self.system = _read(self.option("--append-system-prompt-file"))
        self.history: list[str] = []
        self.total_cost = 0.0

    def __getitem__(self, key: str) -> Any:
        return self.behaviour[key]

    def option(self, name: str) -> str:
        """What stands behind this option, the last time that it is given."""
        places = [place for place, argument in enumerate(self.arguments) if argument == name]
        return self.arguments[places[-1] + 1] if places else ""

    # What it prints.

    def print_line(self, line: dict[str, Any]) -> None:
        self.print_bytes(json.dumps(line).encode() + b"\n")

    def print_bytes(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(1, view) :]

    def say(self, text: str) -> None:
        self.wire.text(self, text)

    def say_result(self, text: str) -> None:
        self.wire.result(self, text)

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
            lines = self.session_file().read_text("utf-8").removesuffix("\n").split("\n")
            turns = [json.loads(line) for line in lines]
        except (OSError, ValueError):
            return False
        self.history = [turn["prompt"] for turn in turns if "prompt" in turn]
        self.total_cost = max([turn["cost"] for turn in turns if "cost" in turn], default=0.0)
        return True

    def charge(self, cost_usd: float) -> float:
        """Add to what the session has cost; the sum."""
        self.total_cost += cost_usd
        if cost_usd:
            self.remember({"cost": self.total_cost})
        return self.total_cost

    def open_session(self) -> int:
        """A new id must be new, an old one must be known; how that is said is the wire's affair."""
        known = self.recall()
        if self.resumed and not known:
            return self.wire.unknown_session(self)
        if not self.resumed and known:
            return self.wire.taken_session(self)
        return 0

    # What it does.

    def adapt(self) -> None:
        """Act on what it was told, now or earlier in its session."""
        told = "\n".join((*self.history, self.prompt))
        for more in self["when"]:
            if more["told"] in told:
                self.behaviour.update(more)
                return

    def edit(self, path: str, line: str) -> None:
        if self.wire.tool_started(self, path) is False:
            return
        if path.startswith("..") and hasattr(self.wire, "confines") and self.wire.confines(self):
            return
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        append_text(Path(path), f"{line} {self.number}\n")
        self.record("edit", path=path)
        self.wire.tool_done(self, path)

    def work(self) -> None:
        """Edit, talk and take time; everything but the result."""
        self.wire.init(self)
        self.remember({"prompt": self.prompt})
        for path, line in self["edits"].items():
            self.edit(path, line)
        if "parent directory" in self.prompt:
            self.edit("../trespass.txt", "call")
        for path, text in self["files"].items():
            Path(path).write_text(text, "utf-8")
        if self["script"]:
            os.waitpid(os.posix_spawn("/bin/sh", ["sh", "-c", self["script"]], os.environ), 0)
        for number in range(self["events"]):
            self.say(f"thinking about step {number}")
        time.sleep(self["delay_seconds"])

    def answer(self) -> str:
        """The final text; asked for a word that it was told, it knows it."""
        heard = (*self.history, self.system, self.prompt)
        told = [text.partition("Remember the word ")[2].split(".")[0] for text in heard]
        if "Which word" in self.prompt:
            return f"The word was {next(filter(None, reversed(told)), 'never told')}."
        return self["text"]

    def structured(self, text: str) -> Any:
        """The object that is its answer; None when nobody asks for one, or when it does not listen."""
        fitting = self.wire.fitting(self, "Done.") if hasattr(self.wire, "fitting") else None
        if fitting is None:
            return None
        return self["structured"] or (fitting if text == COMPLETE else None)

    def run(self) -> int:
        """One turn, as a well-behaved agent does it."""
        self.work()
        text = self.answer()
        shaped = self.structured(text)
        if shaped is not None:
            self.wire.answer_with(self, shaped)
            return 0
        self.say(text)
        self.say_result(text)
        return 0

    def record(self, event: str, **more: Any) -> None:
        if self["ledger"]:
            who = {"pid": os.getpid(), "program": self.launcher.name, "number": self.number}
            who["session"] = self.session_id
            append_line(Path(self["ledger"]), {"event": event, **who, "cwd": _cwd(), **more})


def main(launcher: str, wire: str, faults: dict[str, Callable[[FakeAgent], int]]) -> int:
    """Play one start, badly where the behaviour asks for it."""
    spoken = import_module(f"wires.{wire}")
    if "--version" in sys.argv:
        print(spoken.VERSION)
        return 0
    if "--help" in sys.argv:  # it takes every option, and lists none
        print(f"Usage: {Path(launcher).name} [options]")
        return 0
    if sys.argv[1:] in LOGIN_CHECKS:
        logged_in = json.loads(Path(f"{launcher}.json").read_text("utf-8")).get("logged_in", True)
        print('{"loggedIn": true}' if logged_in else "Not logged in")
        return 0 if logged_in else 1
    agent = FakeAgent(Path(launcher), spoken, sys.argv[1:])
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


def _read(path: str) -> str:
    return Path(path).read_text("utf-8") if path else ""


def _cwd() -> str:
    try:
        return str(Path.cwd())
    except FileNotFoundError:
        return ""
