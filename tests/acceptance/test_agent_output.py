"""The output of an agent, through the whole program: rows A10 to A14 and S15 of the fault matrix."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Any

import pytest

from agent_oracle import check_ended, check_next
from world import World, wait_until

FULL = bool(os.environ.get("OSTLER_FULL"))
MIB = 1 << 20
_STEERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
)
ESCAPES = "\x1b[2J\x1b]0;owned\x07\x1b]52;c;aGk=\x07\x9b31m\u202egnp.exe\U000e0041\rover\x08"
PAGES = (("log",), ("show",), ("events",))


def page(world: World, *args: str, code: int = 0) -> str:
    """Return the output of a command as bytes: universal newlines would hide some."""
    files = [world.root.parent / name for name in ("out.txt", "err.txt")]
    for file in files:
        file.unlink(missing_ok=True)
    assert world.start(*args).wait(100) == code, files[1].read_text()
    return b"".join(file.read_bytes() for file in files).decode()


def transcript(world: World, shown: Any) -> Path:
    return world.root / ".ostler" / "tasks" / shown["id"] / shown["attempts"][0]["transcript"]


def peak_memory(pid: int) -> int:
    """Return the peak memory of a process in bytes; 0 once it is gone."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"VmHWM:\s+(\d+) kB", text)
    return int(found[1]) * 1024 if found else 0


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "behaviour",
    [
        {"fault": "a10_flood", "bytes": (200 if FULL else 24) * MIB},
        {"fault": "a11_many_lines", "count": 100 if FULL else 5},
        {"fault": "a14_broken_json", "bytes": 40 * MIB},
    ],
    ids=lambda behaviour: behaviour["fault"],
)
@pytest.mark.sampled(1)
def test_a_flood_takes_no_memory_and_loses_no_byte(world: World, behaviour: dict[str, Any]) -> None:
    """A10, A11, A14: the run grows by less than 64 MB, and its result still counts."""
    world.behave(**behaviour, delay_seconds=1.0)
    task = world.new()
    run = world.start("run", task)
    wait_until(world.started, 30, "the agent did not start")
    before = peak = peak_memory(run.pid)
    while run.poll() is None:
        peak = max(peak, peak_memory(run.pid))
        time.sleep(0.01)
    shown = check_ended(world, task, run.returncode)
    assert (shown["status"], run.returncode) == ("completed", 0)
    assert before > 0 and peak - before < 64 * MIB, f"{(peak - before) / MIB:.0f} MiB more"
    printed = behaviour["bytes"] if "bytes" in behaviour else behaviour["count"] * 100_000
    assert transcript(world, shown).stat().st_size >= printed
    check_next(world)


@pytest.mark.full
def test_lines_that_are_not_read_are_reported(world: World) -> None:
    """A11, A14: an event for each of the first ones, then their number; a line over the limit is reported."""
    world.behave(
        plan=[{"fault": "a11_many_lines", "count": 1}, {"fault": "a14_broken_json", "bytes": 17 * MIB}]
    )
    many, broken = world.new("Many lines"), world.new("Broken lines")
    world.ostler("run", many)
    reported = [line["detail"] for line in world.events(many) if line["type"] == "parse_error"]
    assert reported == ["y"] * 20 + ["and 49980 more lines that are not JSON"]
    world.ostler("run", broken)
    reported = [line["detail"] for line in world.events(broken) if line["type"] == "parse_error"]
    assert len(reported) == 2 and reported[1].startswith("lines over the limit")
    assert "whole again" in world.ostler("log", broken).stdout


@pytest.mark.parametrize(
    ("behaviour", "raw"),
    [
        ({"fault": "a12_bad_bytes"}, b"\xff\xfe\x00\x80\n\r\r\r\n"),
        ({"fault": "a13_escapes"}, b"\x1bP1$r0 q\x1b\\\x1b[31mnot json\n"),
        ({"fault": "a14_broken_json", "bytes": 1024}, b'{"type":"te\n'),
        ({"events": 1, "edits": {"a\x1b[31mred\n.txt": "x"}}, b"\\u001b[31mred"),
    ],
    ids=["A12", "A13", "A14", "names"],
)
@pytest.mark.sampled(1)
def test_what_steers_a_terminal_is_shown_not_sent(
    world: World, behaviour: dict[str, Any], raw: bytes
) -> None:
    """A12 to A14: no page has a control byte, the transcript has them all."""
    world.behave(**behaviour)
    task = world.new()
    printed = page(world, "run", task)
    printed += "".join(page(world, *command, task) for command in PAGES)
    assert not _STEERS.findall(printed)
    assert raw in transcript(world, world.show(task)).read_bytes()


def test_an_agent_cannot_write_lines_of_ours(world: World) -> None:
    """S15: the reason that an agent gives is escaped and stays within its own line or field."""
    reason = f"{ESCAPES}\ncompleted     other-task-abcd  ostler/other-task-abcd\n  status    completed"
    world.behave(text=f"<phase_blocked>{reason}</phase_blocked>")
    task = world.new()
    printed = page(world, "run", task, code=4)
    card, events = page(world, "show", task), page(world, "events", task)
    assert not _STEERS.findall(printed + card + events + page(world, "log", task))
    assert not [line for line in printed.splitlines() if line.startswith("completed")]
    assert [line.split() for line in card.splitlines() if line.startswith("  status")] == [
        ["status", "blocked", "(AGENT_BLOCKED)"]
    ]
    assert all(re.match(r" *\d+ ", line) for line in events.splitlines())
    assert "owned" in printed and "\x1b" not in page(world, "events", task, "--json")
