"""A fake agent: prints an agent's wire format, keeps sessions, edits files and has faults on request.

`fake_agent(directory, "codex", ...)` writes a launcher named `codex`, `fake_claude` one for claude. Its
behaviour is in `codex.json` beside it, or in the variable FAKE_AGENT (a JSON object, or the name of a fault
from faults.FAULTS). Keys:

    fault            a name of faults.FAULTS; "" is none
    plan             a list of these objects, or of fault names: one per start; the last is repeated
    text             the final text; the default completes the phase
    structured       the answer to a schema; the default fits it. A `text` that is set replaces it, as a
                     model may not return the object
    edits            {path: line}: each line is appended to its file; default {"fake-agent.txt": "call N"}
    files            {path: text}: each file is written whole
    script           a shell script that it runs in its workspace
    when             a list of these objects with `contains`: the first whose text is in the session applies
    delay_seconds    duration of its work before the result
    events           number of further assistant lines that it prints
    limits           {window: [share used after each answer]}: claude reports it, with a reset in two hours
    ledger           a file that gets one JSON line per start, edit and end
    sessions         the directory of its sessions; default: CLAUDE_CONFIG_DIR, else beside the launcher, else
                     ~/.fake-agent
    logged_in        the result of its login check; default true
    version, cost_usd, status, count, bytes, error, error_message, seconds   values of faults and results

It uses only the standard library and runs with -S -E, so that it starts in about 20 ms.
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
    "limits": {},
    "ledger": "",
    "sessions": "",
    "version": "2.1.325",
    "cost_usd": 0.00014,
    "status": 1,
    "count": 5,
    "bytes": 1 << 26,
    "error": 429,
    "error_message": "fake",
    "seconds": 1.0,
}


START_FAULTS = {
    "a19_missing": "No program exists at the path.",
    "a19_wrong_format": "The file is not a program.",
    "a19_not_executable": "The file is not executable.",
}
"""Faults that prevent a start."""

PROGRAMS = {"cursor": "cursor-agent"}  # wire format to program name, where they differ
LOGIN_CHECKS = (["auth", "status"], ["login", "status"])


def fake_claude(directory: Path, **behaviour: object) -> Path:
    """Write a launcher named `claude` with this behaviour."""
    return fake_agent(directory, "claude", **behaviour)


def fake_agent(directory: Path, wire: str, **behaviour: object) -> Path:
    """Write a launcher that prints the wire format of this agent; START_FAULTS prevent its start."""
    directory.mkdir(parents=True, exist_ok=True)
    launcher = directory / PROGRAMS.get(wire, wire)
    Path(f"{launcher}.json").write_text(json.dumps(behaviour), "utf-8")
    if behaviour.get("fault") == "a19_missing":
        return launcher
    start = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\nimport fake_agent, faults\n"
    run = f"sys.exit(fake_agent.main(__file__, {wire!r}, faults.FAULTS))\n"
    program = f"#!{sys.executable} -SE\n{start}{run}"
    launcher.write_text("\x7fnot a program" if behaviour.get("fault") == "a19_wrong_format" else program)
    launcher.chmod(0o644 if behaviour.get("fault") == "a19_not_executable" else 0o755)
    return launcher


def read_ledger(path: Path) -> list[dict[str, Any]]:
    """Return the entries of the fakes that share this ledger, in order."""
    return [json.loads(line) for line in path.read_text("utf-8").split("\n")[:-1]] if path.exists() else []


class FakeAgent:
    """One start of the fake agent."""

    def __init__(self, launcher: Path, wire: Any, arguments: list[str]) -> None:
        self.launcher = launcher
        self.wire = wire
        self.arguments = arguments
        # Its own files are beside the launcher, or in the home directory when a sandbox forbids that.
        self.state, self.number = _count_start(launcher)
        self.beats = f"{self.state}.beats"  # grows while a daemon of this agent runs
        self.behaviour = _load_behaviour(launcher, self.number)
        self.notes: dict[str, Any] = {}  # private data of the wire format
        self.session_id, self.resumed = wire.session_of(self)
        self.model = self.option("--model") or wire.MODEL
        self.prompt = ""
        self.system = _read(self.option("--append-system-prompt-file"))
        self.history: list[str] = []
        self.total_cost = 0.0

    def __getitem__(self, key: str) -> Any:
        return self.behaviour[key]

    def option(self, name: str) -> str:
        """Return the value after the last occurrence of this option."""
        places = [place for place, argument in enumerate(self.arguments) if argument == name]
        return self.arguments[places[-1] + 1] if places else ""

    # Output.

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

    # Sessions: one file each, one JSON line per turn.

    def session_file(self) -> Path:
        home = self["sessions"] or os.environ.get("CLAUDE_CONFIG_DIR") or str(self.state.parent / "sessions")
        return Path(home, f"{self.session_id}.jsonl")

    def remember(self, line: dict[str, Any]) -> None:
        append_line(self.session_file(), line)

    def recall(self) -> bool:
        """Read the earlier prompts and the cost of the session; return False when it cannot be read."""
        try:
            lines = self.session_file().read_text("utf-8").removesuffix("\n").split("\n")
            turns = [json.loads(line) for line in lines]
        except (OSError, ValueError):
            return False
        self.history = [turn["prompt"] for turn in turns if "prompt" in turn]
        self.total_cost = max([turn["cost"] for turn in turns if "cost" in turn], default=0.0)
        return True

    def charge(self, cost_usd: float) -> float:
        """Add to the cost of the session and return the total."""
        self.total_cost += cost_usd
        if cost_usd:
            self.remember({"cost": self.total_cost})
        return self.total_cost

    def open_session(self) -> int:
        """Report a missing session on resume, or an existing one on a new start, in the wire format."""
        known = self.recall()
        if self.resumed and not known:
            return self.wire.unknown_session(self)
        if not self.resumed and known:
            return self.wire.taken_session(self)
        return 0

    # Work.

    def adapt(self) -> None:
        """Apply the first entry of `when` whose text occurs in a prompt of this session."""
        session = "\n".join((*self.history, self.prompt))
        for more in self["when"]:
            if more["contains"] in session:
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
        """Do everything but the result: edits, files, script and delay."""
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
        """Return the final text; a prompt with "Which word" gets the word to remember."""
        texts = (*self.history, self.system, self.prompt)
        words = [text.partition("Remember the word ")[2].split(".")[0] for text in texts]
        if "Which word" in self.prompt:
            return f"The word was {next(filter(None, reversed(words)), 'never given')}."
        return self["text"]

    def structured(self, text: str) -> Any:
        """Return the structured answer, or None when no schema is set or `text` replaces it."""
        fitting = self.wire.fitting(self, "Done.") if hasattr(self.wire, "fitting") else None
        if fitting is None:
            return None
        return self["structured"] or (fitting if text == COMPLETE else None)

    def run(self) -> int:
        """Run one turn without a fault."""
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
    """Run one start with the configured fault."""
    wire_module = import_module(f"wires.{wire}")
    if "--version" in sys.argv:
        print(wire_module.VERSION)
        return 0
    if "--help" in sys.argv:  # it accepts every option and lists none
        print(f"Usage: {Path(launcher).name} [options]")
        return 0
    if sys.argv[1:] in LOGIN_CHECKS:
        logged_in = json.loads(Path(f"{launcher}.json").read_text("utf-8")).get("logged_in", True)
        print('{"loggedIn": true}' if logged_in else "Not logged in")
        return 0 if logged_in else 1
    agent = FakeAgent(Path(launcher), wire_module, sys.argv[1:])
    agent.record("start", resumed=agent.resumed, fault=agent["fault"], arguments=agent.arguments)
    status = faults[agent["fault"]](agent)
    agent.record("end", status=status)
    return status


def append_text(path: Path, text: str) -> None:
    """Append with one O_APPEND write, so that parallel writers and kills leave whole lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(descriptor, text.encode())
    os.close(descriptor)


def append_line(path: Path, line: dict[str, Any]) -> None:
    append_text(path, json.dumps(line) + "\n")


def _count_start(launcher: Path) -> tuple[Path, int]:
    """Return the prefix of the agent's own files, and the number of this start."""
    try:
        return launcher, _append_byte(f"{launcher}.starts")
    except OSError:
        state = Path(os.environ.get("HOME", "/tmp"), ".fake-agent", launcher.name)  # noqa: S108
        state.parent.mkdir(exist_ok=True)
        return state, _append_byte(f"{state}.starts")


def _append_byte(path: str) -> int:
    """Append one byte to a file and return its size."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(descriptor, b".")
    number = os.lseek(descriptor, 0, os.SEEK_CUR)
    os.close(descriptor)
    return number


def _load_behaviour(launcher: Path, number: int) -> dict[str, Any]:
    behaviour = {**DEFAULTS, **json.loads(Path(f"{launcher}.json").read_text("utf-8"))}
    plan = behaviour.pop("plan", [])
    steps = [plan[min(number, len(plan)) - 1]] if plan else []
    for more in (*steps, os.environ.get("FAKE_AGENT", "")):
        behaviour.update(_parse_behaviour(more))
    return behaviour


def _parse_behaviour(more: dict[str, Any] | str) -> dict[str, Any]:
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
