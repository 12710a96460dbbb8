"""Endings: the status, the code and the exit code of contract.md, one by one."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time

import pytest

from ostler.testing.fake_agent import read_ledger
from world import INTERRUPT, KILL, STOP, World, end, end_by_two, wait_until

ENDS_THE_VIEW = pytest.mark.one_machine("in a cluster Ctrl-C ends only the view of a run")


@pytest.mark.parametrize(
    ("behaviour", "status", "code", "exit_code"),
    [
        ({"fault": "blocked"}, "blocked", "AGENT_BLOCKED", 4),
        ({"fault": "a18_exit", "status": 2}, "failed", "AGENT_FAILED", 1),
        ({"fault": "a16_empty"}, "failed", "RESPONSE_EMPTY", 1),
        ({"fault": "a15_no_result"}, "failed", "NO_RESULT", 1),
        ({"fault": "api_error", "error": 401}, "pending", "AUTH_FAILED", 4),
        ({"fault": "no_mark", "edits": {}}, "paused", "ITERATION_LIMIT", 5),
    ],
)
@pytest.mark.sampled(2)
def test_an_ending_has_its_status_code_and_exit(
    world: World, behaviour: dict[str, object], status: str, code: str, exit_code: int
) -> None:
    """The table of endings."""
    world.behave(**behaviour)
    task = world.new()
    world.ostler("run", task, code=exit_code)
    shown = world.show(task)
    assert (shown["status"], shown["code"]) == (status, code)
    assert shown["message"] or status == "paused"


def test_a_rate_limit_defers_the_task_with_a_time(world: World) -> None:
    """Exit 5, resumes_at is set, nothing failed; when it is due the task completes."""
    world.environ["OSTLER_RETRY__RATE_LIMIT_WAIT_SECONDS"] = "0.5"
    world.environ["OSTLER_RETRY__MAX_RETRIES"] = "0"
    world.behave(plan=[{"fault": "api_error", "error": 429}, {}])
    task = world.new()
    world.ostler("run", task, code=5)
    shown = world.show(task)
    assert (shown["status"], shown["code"]) == ("deferred", "RATE_LIMITED")
    assert shown["resumes_at"] is not None
    time.sleep(0.6)
    world.ostler("run", "--all")
    assert world.show(task)["status"] == "completed"


def test_a_completed_task_is_not_run_again(world: World) -> None:
    """run ID of a completed task does nothing, exit 0."""
    task = world.new()
    world.ostler("run", task)
    world.ostler("run", task)
    assert len(world.started()) == 1


@pytest.mark.parametrize("verb", ["failed", "cancelled"])
def test_a_task_that_ended_badly_is_opened_again_by_retry(world: World, verb: str) -> None:
    """Retry reopens it, and run then completes it."""
    task = end_badly(world, verb)
    world.behave()
    world.ostler("retry", task)
    assert world.show(task)["status"] == "pending"
    world.ostler("run", task)
    assert world.show(task)["status"] == "completed"


@pytest.mark.one_machine("in a cluster the run shows its end: the worker may have been faster")
@pytest.mark.parametrize("verb", ["failed", "cancelled"])
def test_a_task_that_ended_badly_is_not_run_again(world: World, verb: str) -> None:
    """Run is refused with the next command."""
    task = end_badly(world, verb)
    calls = len(world.started())
    assert "ostler retry" in world.ostler("run", task, code=2).stderr
    assert len(world.started()) == calls


def end_badly(world: World, verb: str) -> str:
    task = world.new()
    if verb == "failed":
        world.behave(fault="a18_exit", status=1)
        world.ostler("run", task, code=1)
    else:
        world.ostler("cancel", task)
    return task


@pytest.mark.full
def test_a_run_takes_a_task_again_that_is_retried_meanwhile(world: World) -> None:
    """The decision is recorded from outside; the running run acts on it."""
    world.environ["OSTLER_RETRY__MAX_RETRIES"] = "0"
    mended, over = world.root.parent / "mended", world.root.parent / "over"
    agents = {"fails": f"test -e {mended}", "waits": f"until test -e {over}; do sleep 0.05; done"}
    sections = (
        f'[executors.{name}]\ntype = "command"\ncommand = "sh"\nargs = ["-c", "{what} && echo x > x"]\n'
        for name, what in agents.items()
    )
    (world.root / "ostler.toml").write_text("".join(sections))
    task = world.new("Once more", "--executor", "fails")
    world.new("Slow", "--executor", "waits")
    run = world.start("run", "--all", "-j", "2")
    wait_until(lambda: world.show(task)["status"] == "failed", 30, "the task did not fail")
    mended.touch()
    world.ostler("retry", task)
    wait_until(lambda: world.show(task)["status"] == "completed", 20, "the run did not take it again")
    over.touch()
    assert run.wait(20) == 0


def test_a_task_that_waits_for_a_person_is_not_started(world: World) -> None:
    """run ID of a blocked task exits 4 and makes no call."""
    world.behave(fault="blocked")
    task = world.new()
    world.ostler("run", task, code=4)
    calls = len(world.started())
    world.ostler("run", task, code=4)
    assert len(world.started()) == calls


@pytest.mark.parametrize(("number", "exit_code"), [(INTERRUPT, 130), (STOP, 143)])
def test_a_stop_in_good_order_keeps_everything(world: World, number: int, exit_code: int) -> None:
    """After Ctrl-C and TERM the task is pending, no process is left, and the next run resumes the session."""
    world.behave(plan=[{"fault": "a1_hangs"}, {}])
    task = world.new()
    run = world.start("run", task)
    wait_until(lambda: len(world.started()) == 1, 30, "the agent did not start")
    assert end(run, number) == exit_code
    shown = world.show(task)
    assert (shown["status"], shown["code"]) == ("pending", "INTERRUPTED")
    assert not world.survivors()
    world.ostler("run", task)
    shown = world.show(task)
    assert shown["status"] == "completed"
    assert [attempt["status"] for attempt in shown["attempts"]] == ["interrupted", "succeeded"]
    assert shown["attempts"][1]["resumed"]
    assert shown["attempts"][0]["session_id"] == shown["attempts"][1]["session_id"]


@ENDS_THE_VIEW
def test_two_interrupts_stop_at_once(world: World) -> None:
    """An agent that ignores TERM does not delay the second Ctrl-C; no process outlives the run."""
    world.environ["OSTLER_RUN__GRACE_SECONDS"] = "60"
    world.behave(fault="a2_ignores_term")
    task = world.new()
    run = world.start("run", task)
    wait_until(lambda: len(world.started()) == 1, 30, "the agent did not start")
    assert end_by_two(run, INTERRUPT) == 130
    wait_until(lambda: not world.survivors(), 20, "something outlived the run")
    assert world.show(task)["status"] == "pending"


@ENDS_THE_VIEW
def test_two_interrupts_give_the_cursor_back(world: World) -> None:
    """The terminal's screen is as before."""
    world.behave(fault="a2_ignores_term")
    task = world.new()
    command = [sys.executable, "-m", "ostler", "run", task]
    environ = world.environ | {"TERM": "xterm", "OSTLER_RUN__GRACE_SECONDS": "60"}
    ours, theirs = pty.openpty()
    os.set_blocking(ours, False)
    seen = bytearray()
    with os.fdopen(ours, "rb", 0) as screen, os.fdopen(theirs, "wb", 0) as terminal:

        def shown(word: bytes) -> bool:
            seen.extend(screen.read(1 << 16) or b"")
            return word in seen

        run = subprocess.Popen(command, cwd=world.root, env=environ, stdout=terminal, stderr=terminal)
        wait_until(lambda: shown(b"implement 1") and world.started(), 30, "the agent did not start")
        run.send_signal(INTERRUPT)
        wait_until(lambda: shown(b"Stopping"), 30, "the first Ctrl-C had no effect")
        assert end(run, INTERRUPT) == 130
        assert shown(b"\x1b[?25l")
    assert seen.rindex(b"\x1b[?25h") > seen.rindex(b"\x1b[?25l")


def test_cancel_from_another_terminal_stops_the_agent(world: World) -> None:
    """The running `ostler run` reads the decision, stops the agent and ends the task as cancelled."""
    world.behave(fault="a1_hangs")
    task = world.new()
    run = world.start("run", task)
    wait_until(lambda: len(world.started()) == 1, 30, "the agent did not start")
    world.ostler("cancel", task)
    assert run.wait(20) == 1
    shown = world.show(task)
    assert (shown["status"], shown["code"]) == ("cancelled", "ABORTED")
    assert not world.survivors()


@pytest.mark.parametrize("verb", ["show", "cancel", "run"])
def test_an_empty_id_names_no_task(world: World, verb: str) -> None:
    """An unset variable of a script must not select the only task."""
    task = world.new()
    assert "empty id" in world.ostler(verb, "", code=2).stderr
    assert world.show(task)["status"] == "pending"


def test_a_reason_of_several_lines_is_one_line_of_the_list(world: World) -> None:
    """The text of an agent cannot imitate a row of the list."""
    world.behave(text="<phase_blocked>no key\nother-task  completed</phase_blocked>")
    world.ostler("run", world.new(), code=4)
    assert "no key other-task completed" in world.ostler("status").stdout


def test_cancel_without_a_run_ends_the_task_at_once(world: World) -> None:
    """No agent is started for it."""
    task = world.new()
    world.ostler("cancel", task)
    assert world.show(task)["status"] == "cancelled"
    assert world.started() == []
    assert [e["type"] for e in world.events(task)].count("task_cancelled") == 1


def test_a_killed_run_leaves_a_task_that_the_next_run_finishes(world: World) -> None:
    """kill -9: it is pending, no process is left, and the resumed session gets what happened."""
    world.behave(plan=[{"fault": "a1_hangs"}, {}])
    task = world.new()
    run = world.start("run", task)
    wait_until(lambda: len(world.started()) == 1, 30, "the agent did not start")
    end(run, KILL)
    wait_until(lambda: not world.survivors(), 20, "the agent outlived the run")
    assert (world.show(task)["status"], world.show(task)["code"]) == ("pending", "INTERRUPTED")
    world.ostler("run", "--all")
    shown = world.show(task)
    assert shown["status"] == "completed" and shown["attempts"][1]["resumed"]
    prompt = (world.root / ".ostler" / "tasks" / task / "prompts" / "implement-002.md").read_text()
    assert "An earlier attempt at this was interrupted" in prompt


def test_two_runs_share_the_work_and_never_a_task(world: World) -> None:
    """Two `run --all` at once: each task is started exactly once, and both succeed."""
    world.behave(delay_seconds=0.3)
    tasks = [world.new(f"Task number {n}") for n in range(6)]
    runs = [world.start("run", "--all"), world.start("run", "--all")]
    assert [run.wait(60) for run in runs] == [0, 0]
    assert [world.show(task)["status"] for task in tasks] == ["completed"] * 6
    assert len(world.started()) == 6
    edits = [line for line in read_ledger(world.ledger) if line["event"] == "edit"]
    assert len(edits) == 6


def test_the_second_run_of_one_task_waits_for_the_first(world: World) -> None:
    """`run ID` while another run has it: one start, both report the same end."""
    world.behave(delay_seconds=1.0)
    task = world.new()
    first = world.start("run", task)
    wait_until(lambda: len(world.started()) == 1, 30, "the agent did not start")
    world.ostler("run", task)
    assert first.wait(30) == 0
    assert len(world.started()) == 1


def test_the_work_of_a_failed_task_is_committed(world: World) -> None:
    """An agent that is killed in the middle of its work leaves a commit on the branch of its task."""
    world.environ["OSTLER_RETRY__MAX_RETRIES"] = "0"
    world.behave(fault="crash", edits={}, files={"half.txt": "half of the work\n"})
    task = world.new()
    world.ostler("run", task, code=1)
    assert world.show(task)["status"] == "failed"
    assert world.git("show", f"ostler/{task}:half.txt") == "half of the work\n"


@pytest.mark.one_machine("in a cluster ostler new refuses such a task, as it would start at once")
def test_an_agent_without_permissions_needs_consent(world: World) -> None:
    """permissions = "skip" starts no agent until sandbox.allow_unsandboxed_skip is set."""
    (world.root / "ostler.toml").write_text('[executors.claude]\npermissions = "skip"\n')
    task = world.new()
    refused = world.ostler("run", task, code=None)
    assert refused.returncode != 0 and "allow_unsandboxed_skip" in refused.stdout + refused.stderr
    assert world.started() == []
    world.ostler("run", task, OSTLER_SANDBOX__ALLOW_UNSANDBOXED_SKIP="true")
    assert len(world.started()) == 1
