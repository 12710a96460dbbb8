"""ostler watch at a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from person import Person
from world import World, wait_until

WATCH = [sys.executable, "-m", "ostler", "watch"]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


def watch(world: World, **environ: str) -> Person:
    return Person(WATCH, world.root, world.environ | environ)


def leave(ada: Person) -> int:
    ada.type("q")
    return ada.leave()


def test_a_gate_is_approved_by_a_key_and_the_run_goes_on(world: World) -> None:
    """It is the first entry, a key shows its diff, and the message is kept with the decision."""
    (world.root / "ostler.toml").write_text('[gates.phases]\nimplement = "human"\n')
    task = world.new("Add a greeting")
    world.ostler("run", "--all", code=None)
    with watch(world) as ada:
        ada.read_until("1 needs you")
        ada.type("d")
        ada.read_until("+call 1")
        ada.type("a")
        ada.read_until(f"approve {task}")
        ada.type("well done\r")
        ada.read_until("next: ostler run")
        ada.type("q")
        ada.read_until("0 need you")
        assert leave(ada) == 0
    (word,) = [one for one in world.events(task) if one["type"] == "decision_recorded"]
    assert (word["verb"], word["text"]) == ("approve", "well done")
    world.ostler("run", "--all")
    assert world.show(task)["status"] == "completed"


def test_a_task_is_seen_while_it_runs_and_paused_by_a_key(world: World) -> None:
    """Its phase, its last action and its log; then it is paused, and the screen itself ran nothing."""
    world.behave(delay_seconds=60, events=3)
    task = world.new("Add a greeting")
    with watch(world) as ada:
        ada.read_until("1 waiting")
        run = world.start("run", "--all")
        ada.read_until("1 running")
        ada.read_until("implement 1")
        ada.type("\r")
        ada.read_until("thinking about step 2")
        ada.type("p")
        ada.read_until(f"{task} is ")
        ada.type("q")
        ada.read_until("1 needs you")
        assert run.wait(60) in (0, 4)
        assert leave(ada) == 0
    assert world.show(task)["status"] == "paused"


def test_verbs_that_do_not_fit_are_one_line_at_the_bottom(world: World) -> None:
    """The reason of the command; the list is still shown, and a cancel asks first."""
    task = world.new("Add a greeting")
    with watch(world) as ada:
        ada.read_until("1 waiting")
        ada.type("a")
        ada.read_until("it is not waiting for a decision")
        ada.type("c")
        ada.read_until("? y/n")
        ada.type("n")
        ada.read_until("1 waiting")
        assert world.show(task)["status"] == "pending"
        ada.type("cy")
        ada.read_until(f"{task} is cancelled")
        assert leave(ada) == 0
    assert world.show(task)["status"] == "cancelled"


@pytest.mark.parametrize(("keys", "code"), [("q", 0), ("\x03", 130)])
def test_the_terminal_is_as_before(world: World, keys: str, code: int) -> None:
    """The alternate screen is closed, the cursor is visible, and keys are echoed again."""
    world.new("Add a greeting")
    script = f"trap : INT; stty -a > before; {' '.join(WATCH)}; c=$?; stty -a > after; exit $c"
    with Person(["sh", "-c", script], world.root, world.environ) as ada:
        ada.read_until("1 waiting")
        ada.type(keys)
        assert ada.leave() == code
        assert ada.raw.rindex("\x1b[?1049l") > ada.raw.rindex("\x1b[?1049h")
        assert ada.raw.rindex("\x1b[?25h") > ada.raw.rindex("\x1b[?25l")
    assert (world.root / "after").read_text() == (world.root / "before").read_text()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("environ", [{"TERM": "dumb"}, {}])
def test_away_from_a_terminal_it_is_one_look(world: World, environ: dict[str, str]) -> None:
    """Plain text and the end; as JSON it is the status."""
    task = world.new("Add a \x1b[31mgreeting")
    reported = world.ostler("watch", **environ).stdout
    assert reported.splitlines()[0].startswith("0 need you · 0 running · 1 waiting")
    assert task in reported and "\x1b" not in reported
    assert world.json("watch") == world.json("status")


def test_in_tmux_it_follows_the_size_of_the_window(world: World) -> None:
    """80, then 200, then 40 columns: the list is redrawn each time, and no line is broken."""
    world.new("Add a greeting with a title that is a good deal too long for a window of eighty columns")
    tmux = ["tmux", "-S", str(world.root.parent / "tmux"), "-f", os.devnull]

    def run_tmux(*args: str) -> str:
        done = subprocess.run(
            [*tmux, *args], cwd=world.root, env=world.environ, capture_output=True, text=True, check=True
        )
        return done.stdout

    def fits(words: str) -> bool:
        lines = run_tmux("capture-pane", "-p").splitlines()
        whole = lines[2:3] == ["Waiting"] and lines[-1].startswith("q quit")
        return whole and lines[3].startswith("> add-a-greet") and words in lines[3]

    run_tmux("new-session", "-d", "-x", "80", "-y", "20", *WATCH)
    try:
        for columns, words in (("80", "…"), ("200", "eighty columns"), ("40", "…")):
            run_tmux("resize-window", "-x", columns, "-y", "20")
            wait_until(partial(fits, words), 60, f"{columns} columns are not used")
    finally:
        run_tmux("kill-server")


@pytest.mark.full
def test_a_long_setup_shows_what_it_runs(world: World) -> None:
    """One line in a log, not one per second; on the screen the last line that it printed."""
    (world.root / "ostler.toml").write_text('[workspace]\nsetup = "echo Collecting things; sleep 4"\n')
    task = world.new("Add a greeting")
    with watch(world) as ada:
        ada.read_until("1 waiting")
        run = world.start("run", "--all")
        ada.read_until("running `echo Collecting")
        ada.read_until("Collecting things")
        assert run.wait(60) == 0
        assert leave(ada) == 0
    reported = (world.root.parent / "out.txt").read_text()
    assert reported.count("step progress      running `echo Collecting things; sleep 4`") == 1
    (busy,) = [event for event in world.events(task) if event["type"] == "step_progress"]
    assert busy["log"] == "workspace.log"
