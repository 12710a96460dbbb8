"""ostler watch at a terminal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psutil
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


GATED = '[gates.phases]\nimplement = "human"\n'


def waiting(world: World, title: str = "Add a greeting") -> str:
    """A task whose work waits for a person."""
    (world.root / "ostler.toml").write_text(GATED)
    task = world.new(title)
    world.ostler("run", task, code=4)
    return task


def test_a_review_is_opened_approved_and_the_run_goes_on(world: World) -> None:
    """It is under Reviews; Enter shows the work; the approval is sent when the screen is closed."""
    task = waiting(world)
    with watch(world) as ada:
        ada.read_until("Reviews")
        ada.type("\r")
        ada.read_until(f"review of {task}")
        ada.read_until("+call 1")
        ada.type("a")
        ada.read_until(f"approve {task} in 5 s   u: undo")
        ada.type("q")
        assert world.show(task)["status"] == "needs_review"
        assert leave(ada) == 0
    (review,) = world.json("review", task)["reviews"]
    assert (review["verdict"], review["commit"]) == ("approve", world.show(task)["commit"])
    world.ostler("run", "--all")
    assert world.show(task)["status"] == "completed"


@pytest.mark.full
def test_a_decision_is_sent_after_five_seconds_unless_it_is_taken_back(world: World) -> None:
    """With u; another decision sends it at once, and a signal does not send it."""
    first, second = waiting(world, "Add a greeting"), waiting(world, "Mend the gate")
    with watch(world) as ada:
        ada.read_until("2 need you")
        ada.type("a")
        ada.read_until(f"approve {first} in")
        ada.type("u")
        ada.read_until(f"taken back: approve {first}")
        ada.type("u")
        ada.read_until("there is nothing to take back")
        ada.type("sToo short.\r")
        ada.read_until(f"send back {first} in")
        ada.type("ja")
        ada.read_until(f"approve {second} in")
        assert world.show(first)["status"] == "revision"
        ada.read_until(f"{second} is ")
        ada.read_until("next: ostler run")
        assert world.show(second)["status"] != "needs_review"
        assert leave(ada) == 0
    (review,) = world.json("review", first)["reviews"]
    assert (review["verdict"], review["text"]) == ("changes", "Too short.")
    world.ostler("run", first, code=4)
    with watch(world) as ada:
        ada.read_until("1 needs you")
        ada.type("a")
        ada.read_until("u: undo")
        ada.type("\x03")
        assert ada.leave() == 130
        assert f"Not sent: approve {first}" in ada.seen
    assert world.show(first)["status"] == "needs_review"


@pytest.mark.full
def test_work_that_changed_is_not_approved(world: World) -> None:
    """D1: nor another task, after the selected one has left the list."""
    task = waiting(world)
    with watch(world) as ada:
        ada.read_until("1 needs you")
        ada.type("\r")
        ada.read_until("+call 1")
        world.ostler("reject", task, "-m", "Again.")
        world.ostler("run", task, code=4)
        ada.type("a")
        ada.read_until(f"approve {task} in")
        ada.type("q")
        ada.read_until(f"{task} has changed: it is at")
        other = waiting(world, "Mend the gate")
        ada.read_until("2 need you")
        world.ostler("cancel", task)
        world.ostler("archive", task)
        ada.read_until(f"{task} is not in the list any more")
        ada.type("a")
        assert leave(ada) == 0
    assert world.show(other)["status"] == "needs_review"
    assert world.json("review", other)["reviews"] == []


@pytest.mark.full
def test_a_pasted_message_and_a_long_line(world: World) -> None:
    """A pasted text is a message of several lines, none of which acts; a long line is shown to its end."""
    world.behave(files={"long.txt": f"{'word ' * 60}end of the line\n"}, edits={})
    task = waiting(world)
    with watch(world) as ada:
        ada.read_until("1 needs you")
        ada.type("\r")
        ada.read_until("end of the line")
        ada.type("s\x1b[200~Not so.\ncy a\x1b[201~")
        ada.read_until("Not so.⏎cy a")
        ada.type("\r")
        ada.read_until(f"send back {task} in")
        ada.type("q")
        assert leave(ada) == 0
        assert ada.raw.rindex("\x1b[?2004l") > ada.raw.rindex("\x1b[?2004h")
    assert world.show(task)["status"] == "revision"
    (review,) = world.json("review", task)["reviews"]
    assert (review["verdict"], review["text"]) == ("changes", "Not so.\ncy a")


def test_the_editor_opens_from_the_screen(world: World) -> None:
    """The screen is closed meanwhile, and shows the result afterwards."""
    task = waiting(world)
    program = world.root.parent / "editor"
    program.write_text(
        '#!/bin/sh\nsed -i "s/^Decision:/Decision: send back/; s/^+call 1/&\\n! Longer./" "$1"\n'
    )
    program.chmod(0o755)
    with watch(world, EDITOR=str(program)) as ada:
        ada.read_until("1 needs you")
        ada.type("v")
        ada.read_until(f"{task} is sent back with 1 comment (review 1).")
        ada.read_until("0 need you")
        assert leave(ada) == 0
    (review,) = world.json("review", task)["reviews"]
    assert [one["text"] for one in review["comments"]] == ["Longer."]


def test_work_is_merged_with_four_keys(world: World) -> None:
    """Enter, m, q, q: the active run or the next one merges it."""
    task = waiting(world)
    with watch(world) as ada:
        ada.read_until("1 needs you")
        ada.type("\r")
        ada.read_until("+call 1")
        ada.type("m")
        ada.read_until(f"merge {task} in")
        ada.type("q")
        ada.read_until("Reviews")
        assert leave(ada) == 0
    world.ostler("run", "--all")
    assert world.git("show", "main:fake-agent.txt") == "call 1\n"


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
        ada.read_until("Paused by you")
        assert run.wait(60) in (0, 4)
        assert leave(ada) == 0
    assert world.show(task)["status"] == "paused"


def test_verbs_that_do_not_fit_are_one_line_at_the_bottom(world: World) -> None:
    """The reason of the command; the list is still shown, and a cancel asks first."""
    task = world.new("Add a greeting")
    with watch(world) as ada:
        ada.read_until("1 waiting")
        ada.type("a")
        ada.read_until(f"{task}: it is pending and waits for its agent")
        ada.type("c")
        ada.read_until("? y/n")
        ada.type("n")
        ada.read_until("1 waiting")
        assert world.show(task)["status"] == "pending"
        ada.type("cy")
        ada.read_until(f"{task} is cancelled")
        assert leave(ada) == 0
    assert world.show(task)["status"] == "cancelled"


def test_it_continues_after_a_suspension(world: World) -> None:
    """Ctrl-Z closes the screen and stops the program; continued, it shows the list again."""
    world.new("Add a greeting")
    with watch(world) as ada:
        ada.read_until("1 waiting")
        ada.type("\x1a")
        wait_until(lambda: psutil.Process(ada.pid).status() == psutil.STATUS_STOPPED, 60, "it does not stop")
        world.new("Mend the gate")
        os.kill(ada.pid, signal.SIGCONT)
        ada.read_until("2 waiting")
        assert leave(ada) == 0


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
