"""An agent that misbehaves, through the whole program: rows A1 to A28 of the fault matrix."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from agent_oracle import LIMIT_SECONDS, PROMISE_SECONDS, check_ended, check_next, hurry, session_prompts
from world import KILL, World, end, wait_until

COMPLETED = ("completed", None, 1)

# Row: the behaviour of the agent; the status, the code and the number of attempts with one retry allowed.
ROWS: dict[str, tuple[dict[str, Any], tuple[str, str | None, int]]] = {
    "A1 hangs": ({"fault": "a1_hangs"}, ("failed", "TIMEOUT", 2)),
    "A2 ignores TERM and INT": ({"fault": "a2_ignores_term"}, ("failed", "TIMEOUT", 2)),
    "A3 stops itself": ({"fault": "a3_stops_itself"}, ("failed", "TIMEOUT", 2)),
    "A4 leaves daemons": ({"fault": "a4_daemons"}, COMPLETED),
    "A4 leaves 100 daemons": ({"fault": "a4_daemons", "count": 100}, COMPLETED),
    "A4 hangs with daemons": ({"fault": "a4_daemons", "delay_seconds": 60}, ("failed", "TIMEOUT", 2)),
    "A5 hops from pid to pid": ({"fault": "a5_hops", "count": 3}, COMPLETED),
    "A5 hangs and hops": ({"fault": "a5_hops", "count": 3, "delay_seconds": 60}, ("failed", "TIMEOUT", 2)),
    "A7 a child keeps stdout": ({"fault": "a7_child_keeps_stdout"}, COMPLETED),
    "A8 never reads its prompt": ({"fault": "a8_never_reads"}, COMPLETED),
    "A9 closes its stdin": ({"fault": "a9_closes_stdin"}, COMPLETED),
    "A12 bytes that are no text": ({"fault": "a12_bad_bytes"}, COMPLETED),
    "A13 escape sequences": ({"fault": "a13_escapes"}, COMPLETED),
    "A15 no result": ({"fault": "a15_no_result"}, ("failed", "NO_RESULT", 2)),
    "A16 an empty answer": ({"fault": "a16_empty"}, ("failed", "RESPONSE_EMPTY", 2)),
    "A16 not one byte": ({"fault": "a16_silent"}, ("failed", "RESPONSE_EMPTY", 2)),
    "A17 529 as text": ({"fault": "a17_error_in_text", "error": 529}, ("deferred", "OVERLOADED", 2)),
    "A17 no credit, as text": ({"fault": "a17_error_in_text", "error": "credit"}, ("pending", "BILLING", 1)),
    "A18 exit 1": ({"fault": "a18_exit", "status": 1}, ("failed", "AGENT_FAILED", 2)),
    "A18 exit 2": ({"fault": "a18_exit", "status": 2}, ("failed", "AGENT_FAILED", 2)),
    "A18 exit 126": ({"fault": "a18_exit", "status": 126}, ("failed", "AGENT_NOT_FOUND", 1)),
    "A18 exit 127": ({"fault": "a18_exit", "status": 127}, ("failed", "AGENT_NOT_FOUND", 1)),
    "A18 exit 130": ({"fault": "a18_exit", "status": 130}, ("failed", "AGENT_KILLED", 2)),
    "A18 exit 137": ({"fault": "a18_exit", "status": 137}, ("failed", "AGENT_KILLED", 2)),
    "A18 exit 139": ({"fault": "a18_exit", "status": 139}, ("failed", "AGENT_KILLED", 2)),
    "A18 exit 143": ({"fault": "a18_exit", "status": 143}, ("failed", "AGENT_KILLED", 2)),
    "A18 killed": ({"fault": "a18_exit", "status": -9}, ("failed", "AGENT_KILLED", 2)),
    "A18 segmentation fault": ({"fault": "a18_exit", "status": -11}, ("failed", "AGENT_KILLED", 2)),
    "A19 not for this machine": ({"fault": "a19_wrong_format"}, ("failed", "AGENT_NOT_FOUND", 1)),
    "A26 deletes its worktree": ({"fault": "a26_deletes_workspace"}, ("failed", "WORKTREE_LOST", 1)),
    "A26 deletes it and fails": (
        {"fault": "a26_deletes_workspace", "text": ""},
        ("failed", "WORKTREE_LOST", 2),
    ),
    "A28 odd files": ({"fault": "a28_odd_files"}, COMPLETED),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("row", ROWS)
def test_a_fault_has_its_code_and_leaves_nothing(world: World, row: str) -> None:
    """The right end in time, one sentence about it, nothing left over, and the next task runs."""
    behaviour, (status, code, attempts) = ROWS[row]
    hurry(world, LIMIT_SECONDS if code == "TIMEOUT" else 60)
    world.behave(**behaviour)
    task = world.new("Add a greeting", "-d", "Write hello.txt")
    began = time.monotonic()
    exit_code = {"completed": 0, "deferred": 5, "pending": 4}.get(status, 1)
    done = world.ostler("run", task, code=exit_code)
    assert time.monotonic() - began < 10 * attempts * PROMISE_SECONDS
    shown = check_ended(world, task, done.returncode)
    assert (shown["status"], shown["code"], len(shown["attempts"])) == (status, code, attempts)
    for attempt in shown["attempts"]:
        assert attempt["duration_ms"] < 10 * 1000 * PROMISE_SECONDS
        if code == "TIMEOUT":
            assert attempt["duration_ms"] >= 1000 * LIMIT_SECONDS and attempt["exit_code"] in (-9, -15)
    check_reported(world, shown, done.stdout + done.stderr)
    if status != "deferred":
        check_next(world)


def check_reported(world: World, shown: Any, printed: str) -> None:
    """The run and `ostler show` give the reason as one sentence, and the next command."""
    card = world.ostler("show", shown["id"]).stdout
    if shown["code"] is None:
        assert shown["message"] == "" and "Next: ostler diff" in card
        return
    assert len(shown["message"]) > 20 and "\n" not in shown["message"]
    assert f"{shown['code']}: {shown['message']}" in printed
    assert shown["message"] in card
    verb = "retry" if shown["status"] == "failed" else "run"
    assert all(re.search(rf"\nNext: .*ostler {verb}", text) for text in (card, printed))


@pytest.mark.one_machine("in a cluster a worker starts the task, and records a missing agent as its failure")
@pytest.mark.parametrize("fault", ["a19_missing", "a19_not_executable"])
def test_a_program_that_is_not_there_stops_the_run_before_the_task(world: World, fault: str) -> None:
    """A19: one sentence with the path and the next step, exit 2; the task is unchanged and runs later."""
    world.behave(fault=fault)
    task = world.new()
    done = world.ostler("run", task, code=2)
    path = world.agents / "claude"
    assert str(path) in done.stderr
    wrong = "correct OSTLER_CLAUDE_PATH, or install it with"
    advice = wrong if fault == "a19_missing" else f"run chmod +x {path}"
    assert advice in done.stderr
    shown = world.show(task)
    assert (shown["status"], shown["code"], shown["attempts"]) == ("pending", None, [])
    world.behave()
    world.ostler("run", task)
    assert world.show(task)["status"] == "completed"


@pytest.mark.full
@pytest.mark.sampled(1)
@pytest.mark.parametrize("fault", ["", "a8_never_reads", "a9_closes_stdin"])
def test_a_prompt_of_five_megabytes(world: World, tmp_path: Path, fault: str) -> None:
    """A9, A23: it is never an argument; a reader gets every byte, and an agent may read nothing."""
    (tmp_path / "long.md").write_text("# A long task\n\n" + ("word " * 20_000 + "\n") * 50 + "The end é.\n")
    world.behave(fault=fault)
    done = world.ostler("run", "-f", str(tmp_path / "long.md"))
    task = world.json("status")["tasks"][0]["id"]
    shown = check_ended(world, task, done.returncode)
    assert shown["status"] == "completed"
    prompt = (world.root / ".ostler" / "tasks" / task / "prompts" / "implement-001.md").read_text()
    assert len(prompt) > 5_000_000 and "The end é." in prompt
    if not fault:
        first = session_prompts(world, shown["attempts"][0]["session_id"]).splitlines()[0]
        assert json.loads(first)["prompt"] == prompt
    assert all(len("".join(start["arguments"])) < 4096 for start in world.started())


@pytest.mark.sampled(1)
@pytest.mark.parametrize("fault", ["a25_forgets", "a25_corrupt"])
def test_a_session_that_was_lost_is_begun_again_with_the_whole_task(world: World, fault: str) -> None:
    """A25: never a silent new session: the feed reports it, and the new one gets the whole task."""
    world.behave(plan=[{"fault": "a1_hangs"}, {"fault": fault}])
    task = world.new("Mend the gate", "-d", "It squeaks in the wind.")
    run = world.start("run", task)
    wait_until(lambda: len(world.started()) == 1, 30, "the agent did not start")
    end(run, KILL)
    wait_until(lambda: not world.survivors(), 20, "the agent outlived the run")
    done = world.ostler("run", "--all")
    shown = check_ended(world, task, done.returncode)
    assert (shown["status"], len(shown["attempts"])) == ("completed", 2)
    replaced = [line for line in world.events(task) if line["type"] == "session_replaced"]
    assert [(line["session_id"], line["resumed"]) for line in replaced] == [
        (shown["attempts"][1]["session_id"], False)
    ]
    assert [start["resumed"] for start in world.started()] == [False, True, False]
    # The killed agent may have stored its prompt in the session, or not yet.
    reported = [
        line for line in session_prompts(world, replaced[0]["session_id"]).splitlines() if "prompt" in line
    ][-1]
    counts = (reported.count("Mend the gate"), reported.count("It squeaks in the wind."))
    assert counts == (1, 1), reported
    assert "An earlier attempt at this was interrupted" in reported
    assert "the session was lost; a new session starts" in world.ostler("log", task).stdout
    check_next(world)


def test_a_lost_worktree_is_made_anew_by_retry(world: World) -> None:
    """A26: the agent destroyed the worktree, not the task."""
    world.behave(plan=[{"fault": "a26_deletes_workspace"}, {}])
    task = world.new()
    world.ostler("run", task, code=1)
    world.ostler("retry", task)
    done = world.ostler("run", task)
    assert check_ended(world, task, done.returncode)["status"] == "completed"
    assert world.git("show", f"ostler/{task}:fake-agent.txt") == "call 2\n"


def test_odd_files_are_committed_where_git_can_and_all_taken_away(world: World) -> None:
    """A28: pipes and sockets are never opened, strange names are kept, nothing of the worktree is left."""
    world.behave(fault="a28_odd_files")
    task = world.new()
    world.ostler("run", task)
    names = set(world.git("ls-tree", "-r", "-z", "--name-only", f"ostler/{task}").split("\0"))
    assert {"two\nlines", "-rf", "é" * 127, " ", "quote'\"", "no-rights", "fake-agent.txt"} <= names
    assert not {"fifo", "socket"} & names
    worktrees = world.root / ".ostler" / "worktrees"
    assert [str(path) for path in worktrees.rglob("*") if path.name != ".trash"] == []


def test_a_failed_attempt_is_reported_before_the_next_one(world: World) -> None:
    """The output of the run has the reason of the second attempt."""
    world.behave(plan=[{"fault": "a18_exit", "status": 2}, {}])
    task = world.new()
    lines = world.ostler("run", task).stdout.splitlines()
    reported = next(i for i, line in enumerate(lines) if "AGENT_FAILED" in line)
    assert "exited with status 2" in lines[reported]
    assert any("attempt started" in line for line in lines[:reported])
    assert any("attempt started" in line for line in lines[reported:])
