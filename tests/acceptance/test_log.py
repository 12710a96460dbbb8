"""`ostler log` through the whole program: afterwards, while the agent works, and after a failure."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ostler.cli.terminal.text import display_width
from person import Person
from world import World, end, wait_until

SCRIPTED = '[run]\nexecutor = "scripted"\n'
DONE = "<phase_complete>true</phase_complete>"
ANSI = re.compile(r"\x1b\[[0-9;]*m")
EDIT = '- edit: {path: README.md, replace: "# Sample", by: "# Greeting"}\n'
STEPS = f"""\
- say: I look at the greeting first, and at everything else that may have to do with it in this project.
- run: cat README.md
- edit: {{path: README.md, replace: "# Sample", by: "# Greeting"}}
- say: All done. {DONE}
"""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    (made.root / "ostler.toml").write_text(SCRIPTED)
    yield made
    made.close()


def reported(world: World, steps: str) -> str:
    """A task with a scripted agent."""
    text = world.root.parent / "task.md"
    text.write_text(f"# Greet\n\n```ostler-script\n{steps}```\n")
    return world.ostler("new", "-f", str(text)).stdout.strip()


def done(world: World, steps: str = STEPS) -> str:
    task = reported(world, steps)
    world.ostler("run", task)
    return task


def held(world: World) -> tuple[str, Path]:
    """A running task that continues when the file is created."""
    go = world.root.parent / "go"
    wait = f"while [ ! -e {go} ]; do sleep 0.05; done"
    return reported(world, f"- say: I begin.\n- run: {wait}\n{EDIT}- say: I am done. {DONE}\n"), go


def histories(world: World, task: str) -> list[Path]:
    return sorted((world.root / ".ostler" / "tasks" / task / "transcripts").glob("*.log.ndjson"))


def entries(world: World, task: str) -> list[dict[str, Any]]:
    (history,) = histories(world, task)
    return [json.loads(line) for line in history.read_text().splitlines()]


def test_log_shows_texts_and_tools(world: World) -> None:
    """The whole text, each tool with its result in a line, and the end; --full has the changes as diffs."""
    lines = world.ostler("log", done(world)).stdout.splitlines()
    assert lines[0].startswith("── implement, attempt 1 · scripted · ")
    assert lines[3].endswith("everything else that may have to do with it in this project.")
    at = lines.index("→ run    cat README.md")
    assert lines[at : at + 5] == [
        "→ run    cat README.md",
        "    # Sample",
        "→ edit   README.md  +1 -1",
        "",
        "All done.",
    ]
    assert re.fullmatch(r"✓ succeeded \(\d+\.\d s, \d+ tokens\)", lines[-1])


@pytest.mark.full
def test_log_fits_the_terminal(world: World) -> None:
    """Narrow, usual and wide, with the times where there is room, and without colour if disabled."""
    task = done(world)
    for columns, colour in ((40, True), (80, False), (200, True)):
        check_screen(world, task, columns, colour)


def check_screen(world: World, task: str, columns: int, colour: bool) -> None:
    environ = world.environ | {"COLUMNS": str(columns)} | ({} if colour else {"NO_COLOR": "1"})
    argv = [sys.executable, "-m", "ostler", "log", task]
    with Person(argv, world.root, environ) as person:
        assert person.leave() == 0
    shown = person.raw.replace("\r\n", "\n").rstrip().split("\n")
    assert bool(ANSI.search(person.raw)) is colour
    bare = [ANSI.sub("", line) for line in shown]
    assert max(map(display_width, bare)) <= columns
    assert all(re.match(r"\d\d:\d\d:\d\d  |          |$", line) for line in bare) is (columns == 200)
    assert sum("everything" in line for line in bare) == 1


def test_one_attempt_can_be_looked_at(world: World) -> None:
    """Of a task with two attempts; a missing number is named, with the existing ones."""
    task = reported(world, f"- fail: {{message: no luck, exit: 1}}\n{EDIT}- say: Better now. {DONE}\n")
    world.ostler("run", task)
    first, second = (world.ostler("log", task, "--attempt", n).stdout for n in ("1", "2"))
    assert "no luck" in first and "Better now" not in first
    assert "Better now" in second and "no luck" not in second
    assert world.ostler("log", task).stdout == f"{first}\n{second}"
    refused = world.ostler("log", task, "--attempt", "9", code=2).stderr
    assert "this task has no attempt 9" in refused and "its attempts: 1, 2" in refused


def test_json_is_for_scripts(world: World) -> None:
    """The text of each attempt, as before, and nothing else on the line."""
    task = done(world)
    (line,) = world.ostler("log", task, "--json").stdout.splitlines()
    page = json.loads(line)
    assert (page["schema"], page["attempt"], page["number"]) == ("ostler.log/1", "implement-001", 1)
    assert "- edit README.md" in page["text"]


def test_attempt_of_an_older_version_is_shown(world: World) -> None:
    """It has a page and no log."""
    task = done(world)
    (history,) = histories(world, task)
    history.unlink()
    shown = world.ostler("log", task).stdout
    assert shown.startswith("# implement, attempt 1\n") and "All done." in shown


@pytest.mark.full
def test_log_follows_until_the_task_rests(world: World) -> None:
    """New output is shown while the agent works, and the log ends with the work."""
    task, go = held(world)
    run = world.start("run", task)
    wait_until(lambda: histories(world, task), 60, "the attempt does not begin")
    with Person([sys.executable, "-m", "ostler", "log", task, "-f"], world.root, world.environ) as person:
        person.read_until("I begin.")
        person.read_until("→ run")
        assert "I am done" not in person.seen
        go.touch()
        assert person.leave() == 0
        assert "I am done." in person.seen and "✓ succeeded" in person.seen
    assert run.wait(60) == 0


@pytest.mark.full
def test_ctrl_c_ends_the_log_and_not_the_work(world: World) -> None:
    """Without a message, with 130."""
    task, go = held(world)
    run = world.start("run", task)
    wait_until(lambda: histories(world, task), 60, "the attempt does not begin")
    with Person([sys.executable, "-m", "ostler", "log", task, "-f"], world.root, world.environ) as person:
        person.read_until("I begin.")
        person.type("\x03")
        assert person.leave() == 130
        assert "Traceback" not in person.seen
    go.touch()
    assert run.wait(60) == 0


def begin(world: World) -> tuple[str, subprocess.Popen[bytes]]:
    """Start a run whose agent has printed something and waits."""
    task, _ = held(world)
    run = world.start("run", task)
    wait_until(
        lambda: any("I begin." in history.read_text() for history in histories(world, task)), 60, "no word"
    )
    return task, run


def test_stopped_attempt_is_marked(world: World) -> None:
    """A run that is stopped normally writes the end of the attempt log."""
    task, run = begin(world)
    assert end(run, signal.SIGINT) == 130
    ended = entries(world, task)[-1]
    assert (ended["type"], ended["status"], ended["code"]) == ("attempt_ended", "interrupted", "INTERRUPTED")
    assert "■ interrupted" in world.ostler("log", task).stdout


def test_killed_run_leaves_a_history_that_can_be_read(world: World) -> None:
    """It has no end; all received output is there."""
    task, run = begin(world)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    assert {entry["type"] for entry in entries(world, task)} >= {"attempt_began", "text_received"}
    assert "I begin." in world.ostler("log", task).stdout


def test_task_that_was_never_run_has_no_log(world: World) -> None:
    """The next command is printed."""
    task = reported(world, STEPS)
    shown = world.ostler("log", task)
    assert (shown.stdout, f"ostler run {task}" in shown.stderr) == ("", True)


def test_fake_claude_is_logged_like_any_other(tmp_path: Path) -> None:
    """Its tools, their results and the cost are in the attempt log and in `ostler log`."""
    world = World(tmp_path)
    task = world.new()
    world.ostler("run", task)
    kinds = [entry["type"] for entry in entries(world, task)]
    assert kinds[:2] == ["attempt_began", "session_started"] and kinds[-1] == "attempt_ended"
    used, returned = (
        [entry for entry in entries(world, task) if entry["type"] == kind]
        for kind in ("tool_used", "tool_returned")
    )
    assert [entry["id"] for entry in used] == [entry["id"] for entry in returned] != []
    shown = world.ostler("log", task).stdout
    assert "→ edit" in shown and "· claude" in shown and "$0.0001)" in shown
    world.close()
