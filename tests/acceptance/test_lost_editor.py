"""A text in $EDITOR is not lost with the terminal or the editor, and has one editor at a time."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from world import World

COMMANDS = ("review", "edit")
WRITTEN = {"review": ("Message:\n", "Message:\nAlmost.\n"), "edit": ("Paint", "Paint slowly")}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    made.environ["OSTLER_GATES__PHASES__IMPLEMENT"] = "human"
    yield made
    made.close()


def waiting(world: World) -> str:
    """A task that can be reviewed and edited."""
    task = world.new("Paint")
    world.ostler("run", task, code=4)
    return task


def editor(world: World, command: str, end: str) -> dict[str, str]:
    """An editor that notes its file and the text, writes, saves and ends in this way."""
    program = world.root.parent / "editor.py"
    program.write_text(
        "import os, signal, subprocess, sys, time\n"
        "from pathlib import Path\n"
        "path = Path(sys.argv[-1])\n"
        "text = path.read_text()\n"
        f"Path({str(world.root.parent / 'opened')!r}).write_text(f'{{path}}\\n{{text}}')\n"
        f"path.write_text(text.replace(*{WRITTEN[command]!r}, 1))\n"
        f"{end}\n"
    )
    return {"EDITOR": f"{sys.executable} {program}", "VISUAL": ""}


def opened(world: World) -> tuple[str, str]:
    """The path and the text that the last editor got."""
    path, _, text = (world.root.parent / "opened").read_text().partition("\n")
    return path, text


@pytest.mark.parametrize("command", COMMANDS)
def test_a_lost_terminal(world: World, command: str) -> None:
    """The next editor gets the text in the same file, where it finds its own recovery file too."""
    task = waiting(world)
    hang_up = editor(world, command, "os.kill(os.getppid(), signal.SIGHUP); time.sleep(0.2)")
    world.program(command, task, code=-signal.SIGHUP, **hang_up)
    before, _ = opened(world)
    Path(f"{before}.swp").write_text("recovery")
    printed = world.ostler(command, task, code=2, **editor(world, command, "sys.exit(1)"))
    path, text = opened(world)
    assert path == before and WRITTEN[command][1] in text
    assert "Continuing with" in printed.stderr and Path(f"{path}.swp").exists()


@pytest.mark.parametrize("command", COMMANDS)
def test_an_editor_that_fails(world: World, command: str) -> None:
    """What was saved is kept, with the command that continues; a text without a change is not."""
    task = waiting(world)
    printed = world.ostler(command, task, code=2, **editor(world, command, "sys.exit(1)"))
    assert f"exit status 1\n        your text is kept: ostler {command} {task}\n" in printed.stderr
    revert = editor(world, command, "path.unlink(); sys.exit(1)")
    assert "nothing is changed" in world.ostler(command, task, code=2, **revert).stderr
    unchanged = editor(world, command, "path.write_text(text); sys.exit(1)")
    assert "nothing is changed" in world.ostler(command, task, code=2, **unchanged).stderr
    last = world.ostler(command, task, code=None, EDITOR="true", VISUAL="")
    assert "Continuing" not in last.stderr


@pytest.mark.full
@pytest.mark.parametrize("command", COMMANDS)
def test_an_editor_that_cannot_be_started(world: World, command: str) -> None:
    """The sentence names the variable that has it; a text that was saved before is kept."""
    task = waiting(world)
    for environ, reason in (
        ({"EDITOR": "no-such-editor", "VISUAL": " "}, "no-such-editor cannot be started\n        set EDITOR"),
        ({"EDITOR": "true", "VISUAL": "/"}, "/ cannot be started\n        set VISUAL"),
        (
            {"EDITOR": "true", "VISUAL": "'"},
            "VISUAL is not a command: no closing quotation\n        set VISUAL",
        ),
        ({"EDITOR": " ", "VISUAL": ""}, "an editor needs a terminal"),
        ({"EDITOR": "sh -c 'kill -9 $$'", "VISUAL": ""}, "ended by SIGKILL\n        nothing is changed"),
    ):
        assert reason in world.ostler(command, task, code=2, **environ).stderr
    world.ostler(command, task, code=2, **editor(world, command, "sys.exit(1)"))
    printed = world.ostler(command, task, code=2, EDITOR="no-such-editor", VISUAL="").stderr
    assert f"set EDITOR to an installed editor; your text is kept: ostler {command} {task}" in printed


@pytest.mark.full
@pytest.mark.parametrize("command", COMMANDS)
def test_one_editor_at_a_time(world: World, command: str) -> None:
    """A second one is refused, and the first one continues."""
    task = waiting(world)
    again = f"[sys.executable, '-m', 'ostler', {command!r}, {task!r}]"
    second = f"subprocess.run({again}, env=os.environ | {{'EDITOR': 'false'}})"
    printed = world.program(command, task, code=None, **editor(world, command, second))
    assert f"ostler {command} {task} is open in another terminal" in printed.stderr
    assert "could not edit" not in printed.stderr
