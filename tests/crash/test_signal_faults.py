"""Signals and lost terminals: a run stops in order, or continues, and never with a traceback (B9, B10)."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from journal_file import journal_path
from nemesis import Terminal
from oracle import check_all_done
from world import INTERRUPT, STOP, World, end, end_by_two, wait_until

MOMENTS = 20 if os.environ.get("OSTLER_FULL") else 4


@pytest.mark.full
@pytest.mark.sampled(1)
@pytest.mark.parametrize(("number", "code"), [(INTERRUPT, 130), (STOP, 143)])
def test_a_stopped_run_claims_nothing_more(world: World, number: int, code: int) -> None:
    """The first signal: running tasks are stopped, no other is started, and the next run does them all."""
    world.behave(plan=[{"fault": "a1_hangs"}, {}])
    tasks = [world.new(f"Task number {count}") for count in range(3)]
    run = world.start("run", "--all", "-j", "1")
    wait_until(world.started, 30, "the agent did not start")
    assert end(run, number) == code
    assert len(world.started()) == 1
    assert [task["status"] for task in world.json("status")["tasks"]] == ["pending"] * 3
    assert "Traceback" not in errors(world)
    world.ostler("run", "--all")
    check_all_done(world, tasks)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("number", [INTERRUPT, STOP])
def test_a_second_signal_ends_the_run_at_once(world: World, number: int) -> None:
    """Within seconds, though the agent ignores every request and has a minute of grace."""
    world.environ["OSTLER_RUN__GRACE_SECONDS"] = "60"
    world.behave(plan=[{"fault": "a2_ignores_term"}, {}])
    task = world.new()
    run = world.start("run", "--all")
    wait_until(world.started, 30, "the agent did not start")
    began = time.monotonic()
    assert end_by_two(run, number) in (130, 143)
    assert time.monotonic() - began < 30
    wait_until(lambda: not world.survivors(), 10, "the agent outlived the run")
    assert world.show(task)["status"] == "pending"
    world.ostler("run", "--all")
    check_all_done(world, [task])


def test_an_interrupt_at_any_moment_is_quiet(world: World) -> None:
    """From the opening of the journal to the last line: 130 or a finished run, no traceback."""
    tasks = []
    for moment in range(MOMENTS):
        tasks.append(world.new(f"Task number {moment}"))
        run = world.start("run", "--all")
        wait_for_journal(world, run)
        time.sleep(0.8 * moment / MOMENTS)
        run.send_signal(INTERRUPT)
        assert run.wait(30) in (0, 130), errors(world)
    assert "Traceback" not in errors(world)
    world.ostler("run", "--all")
    check_all_done(world, tasks)


def wait_for_journal(world: World, run: subprocess.Popen[bytes]) -> None:
    """Wait until the run has opened it, or has ended before that was visible."""
    opened = journal_path(world.root).with_name("ostler.db-shm")
    wait_until(lambda: opened.exists() or run.poll() is not None, 60, "the run did not begin")


def test_a_run_whose_terminal_closes_stops_in_good_order(world: World) -> None:
    """SIGHUP and EIO at once: the task is pending, nothing is left, the next run resumes it."""
    world.behave(plan=[{"fault": "a1_hangs"}, {}])
    task = world.new()
    window = Terminal(world, "", "run", "--all")
    wait_until(world.started, 30, "the agent did not start")
    window.close()
    code, printed = window.end()
    assert (code, "Traceback" in printed, "bug" in printed) == (143, False, False), printed
    shown = world.show(task)
    assert (shown["status"], shown["code"]) == ("pending", "INTERRUPTED")
    assert not world.survivors()
    world.ostler("run", "--all")
    check_all_done(world, [task])


def test_a_run_under_nohup_outlives_its_terminal(world: World) -> None:
    """When the hang-up is ignored, as with nohup, a lost terminal does not stop the run."""
    world.behave(delay_seconds=0.7)
    task = world.new()
    window = Terminal(world, "trap '' HUP;", "run", "--all")
    wait_until(world.started, 30, "the agent did not start")
    window.close()
    code, printed = window.end()
    assert (code, "Traceback" in printed, "bug" in printed) == (0, False, False), printed
    check_all_done(world, [task])


@pytest.mark.sampled(1)
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_run_goes_on_when_its_reader_leaves(world: World, options: list[str]) -> None:
    """`ostler run --all | head -1`: one line is read, all tasks complete, stderr has nothing about pipes."""
    world.behave(delay_seconds=0.3)
    tasks = [world.new("First"), world.new("Second")]
    run = piped(world, "run", "--all", "-j", "1", *options)
    assert run.stdout is not None
    assert run.stdout.readline()
    run.stdout.close()
    assert run.wait(30) == 0
    assert "roken" not in errors(world) and "Traceback" not in errors(world)
    check_all_done(world, tasks)


@pytest.mark.full
@pytest.mark.parametrize(
    "command", [["status"], ["status", "--json"], ["events"], ["config", "show"], ["--help"]]
)
@pytest.mark.sampled(3)
@pytest.mark.parametrize("lines", [0, 1])
def test_a_reader_may_leave_at_any_line(world: World, command: list[str], lines: int) -> None:
    """`ostler status | head -1`: exit 0 and nothing on stderr."""
    world.ostler("init")
    for _ in range(2):
        world.new()
    shown = piped(world, *command)
    assert shown.stdout is not None
    for _ in range(lines):
        shown.stdout.readline()
    shown.stdout.close()
    assert shown.wait(30) == 0
    assert errors(world) == ""


@pytest.mark.sampled(1)
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&-", "<&- >&- 2>&-"])
def test_closed_descriptors_change_nothing(world: World, closed: str) -> None:
    """No file of Ostler gets the number of a descriptor that the caller closed: the journal stays valid."""
    task = world.new()
    assert shell(world, f"ostler run --all {closed}").returncode == 0
    assert shell(world, f"ostler show {task} {closed}").returncode == 0
    assert shell(world, f"ostler show nobody {closed}").returncode == 2
    assert shell(world, f"ostler new -f - {closed}").returncode == 2
    check_all_done(world, [task])


def test_output_that_cannot_be_kept_is_reported(world: World) -> None:
    """A full disk behind a redirection: exit 1 with the sentence, but a run completes its work."""
    task = world.new()
    refused = shell(world, "ostler status >/dev/full")
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 2), refused.stderr
    assert "no space left" in refused.stderr
    assert shell(world, "ostler run --all >/dev/full").returncode == 0
    assert shell(world, "ostler status 2>/dev/full").returncode == 0
    check_all_done(world, [task])


def shell(world: World, line: str) -> subprocess.CompletedProcess[str]:
    """Run a command line in a shell, as a person types it."""
    command = f'ostler() {{ exec "{sys.executable}" -m ostler "$@"; }}; {line}'
    return subprocess.run(
        ["sh", "-c", command], cwd=world.root, env=world.environ, check=False, capture_output=True, text=True
    )


def piped(world: World, *args: str) -> subprocess.Popen[bytes]:
    with (world.root.parent / "err.txt").open("ab") as file:
        return subprocess.Popen(
            [sys.executable, "-m", "ostler", *args],
            cwd=world.root,
            env=world.environ,
            stdout=subprocess.PIPE,
            stderr=file,
        )


def errors(world: World) -> str:
    return (world.root.parent / "err.txt").read_text()
