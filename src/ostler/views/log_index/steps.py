"""Lists what an agent did: edits, commands, tests, failures and questions (ostler.steps/1)."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal, cast

from msgspec import Struct

from ostler.prompt.question import find_question
from ostler.text import first_line
from ostler.views.agent_work.attempt_log import LogEntry
from ostler.views.agent_work.edits import find_edits
from ostler.views.log_index.blocks import LogFile, LogScan, Place
from ostler.views.log_index.entry import decode_line

StepKind = Literal["edit", "command", "test", "question"]

SECONDS = 0.25  # of one page
MOST_STEPS = 2000  # of one page, and those of its last block
_HEAD = 160  # bytes of a line that have its type
_TYPES = re.compile(rb'"type":\s*"(?:tool_used|tool_returned|tool_denied|text_received|text_said)"')
_EDIT_TOOLS = re.compile(
    r"^(?:multi_?)?(?:edit|write|create|apply_?patch|str_?replace|notebook_?edit|replace)", re.I
)
_ASKING_TOOLS = re.compile(r"ask_?user|ask_?question", re.I)
_TESTS = re.compile(
    r"(?:^|[\s;&|/(])(?:pytest|py\.test|tox|nox|unittest|vitest|jest|mocha|rspec|phpunit|ctest|"
    r"(?:npm|pnpm|yarn|bun)(?:\s+run)?\s+test\S*|(?:cargo|go|dotnet|mix|swift|deno|mvn|gradle|gradlew|bazel)\s+"
    r"(?:\S+\s+)?test|make\s+\S*(?:test|check)\S*)(?=$|[\s;&|)])"
)
_BLOCKED = re.compile(r"<(\w{1,40}_blocked)>(.{0,2000}?)</\1>", re.DOTALL)


class StepEntry(Struct, frozen=True):
    attempt: int
    offset: int
    at: float | None
    kind: StepKind
    tool: str
    text: str  # the command, the path or the question
    id: str  # of the tool call; empty: the agent assigns none


class StepEnd(Struct, frozen=True):
    """The result of a tool call that failed or was refused."""

    attempt: int
    id: str


class StepsPage(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.steps/1"
    id: str
    steps: tuple[StepEntry, ...]
    failed: tuple[StepEnd, ...]  # a call of an earlier page can fail here
    next: Place  # where the next page starts
    done: bool  # nothing is left to read; a running attempt may add to it
    scanned: int  # bytes of all logs before that place
    total: int


def list_steps(
    task: str,
    files: Sequence[LogFile],
    start: Place,
    seconds: float = SECONDS,
    monotonic: Callable[[], float] = time.monotonic,
) -> StepsPage:
    """Return the steps from a place on, as far as the time allows."""
    scan = LogScan(files, start, monotonic, seconds)
    steps: list[StepEntry] = []
    failed: list[StepEnd] = []
    for block in scan.blocks():
        for offset, line in block.lines():
            if not _TYPES.search(line, 0, _HEAD) or (entry := decode_line(line)) is None:
                continue
            if (step := _read_step(entry, block.attempt, offset)) is not None:
                steps.append(step)
            elif entry["type"] == "tool_returned" and entry.get("failed") and entry.get("id"):
                failed.append(StepEnd(block.attempt, str(entry["id"])))
        if len(steps) >= MOST_STEPS:
            break
    progress = scan.progress
    return StepsPage(
        id=task,
        steps=tuple(steps),
        failed=tuple(failed),
        next=progress.next,
        done=progress.done,
        scanned=progress.scanned,
        total=progress.total,
    )


def _read_step(entry: LogEntry, attempt: int, offset: int) -> StepEntry | None:
    kind, text = _classify(entry)
    if kind is None:
        return None
    tool, use = str(entry.get("tool", "")), str(entry.get("id") or "")
    return StepEntry(attempt, offset, entry.get("at"), kind, tool, first_line(text), use)


def _classify(entry: LogEntry) -> tuple[StepKind | None, str]:
    if entry["type"] in ("text_received", "text_said"):
        question = _find_question(str(entry.get("text", "")))
        return ("question", question) if question else (None, "")
    if entry["type"] != "tool_used":
        return None, ""
    tool, detail = str(entry.get("tool", "")), str(entry.get("detail", ""))
    if _ASKING_TOOLS.search(tool):
        return "question", detail or _find_text(entry.get("input"), "question")
    command = _find_text(entry.get("input"), "command", "cmd", "script")
    if find_edits(entry.get("input")) or _EDIT_TOOLS.match(tool):
        return "edit", detail
    if command:
        return ("test" if _TESTS.search(command) else "command"), detail or command
    return None, ""


def _find_question(text: str) -> str:
    if found := _BLOCKED.search(text):
        return found[2].strip() or "blocked"
    return find_question(text[-4000:]) if "?" in text[-2000:] else ""


def _find_text(tool_input: object, *names: str) -> str:
    if not isinstance(tool_input, dict):
        return ""
    members = cast("dict[str, Any]", tool_input)
    for name in names:
        value = members.get(name)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, list) and value:
            return " ".join(map(str, cast("list[object]", value)))
    return ""
