"""Whole tasks with the real claude, started from the command line."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_oracle import check_ended
from ostler.testing.fake_llm import FAULTS, FakeLlm, Request, Turn, call
from real_claude import real_world
from world import KILL, STOP, World, end, wait_until

pytestmark = pytest.mark.full

WRITE = call("Write", file_path="hello.txt", content="hello\n")
ANSWER = {"status": "complete", "reason": "", "summary": "I wrote hello.txt."}
DONE = call("StructuredOutput", **ANSWER)


class Model:
    """A server whose script each test sets before a run."""

    def __init__(self) -> None:
        self.turns: list[Any] = [DONE]
        self.llm = FakeLlm(self._next)

    def _next(self, request: Request) -> Turn:
        turn = self.turns.pop(0) if len(self.turns) > 1 else self.turns[0]
        return turn(request) if callable(turn) else turn


@pytest.fixture
def model() -> Iterator[Model]:
    """A model server."""
    made = Model()
    with made.llm:
        yield made


@pytest.fixture
def project(tmp_path: Path, model: Model) -> Iterator[World]:
    """A project whose agent is the real claude."""
    made = real_world(tmp_path, model.llm)
    yield made
    made.close()


@pytest.mark.smoke
def test_a_task_is_completed_and_committed(project: World, model: Model) -> None:
    """One attempt: the commit on the branch has the file; tokens and cost are shown."""
    model.turns = [WRITE, DONE]
    task = project.new("Add a greeting", "-d", "Write hello.txt")
    done = project.ostler("run", task)
    shown = check_ended(project, task, done.returncode)
    assert (shown["status"], shown["code"], shown["warnings"]) == ("completed", None, [])
    assert project.git("show", f"ostler/{task}:hello.txt") == "hello\n"
    assert shown["usage"]["input_tokens"] == 20 and shown["cost_usd"] > 0
    assert [attempt["model"] for attempt in shown["attempts"]] == ["claude-opus-5-5"]
    log = project.ostler("log", task).stdout
    assert "→ write  hello.txt  +1 -0\n" in log and "I wrote hello.txt." in log


@pytest.mark.parametrize(("number", "code"), [(KILL, -9), (STOP, 143)])
def test_a_run_that_is_killed_continues_in_the_same_session(
    project: World, model: Model, number: int, code: int
) -> None:
    """After a kill no process is left, and the next run resumes the session."""
    project.environ["OSTLER_EXECUTORS__CLAUDE__ARGS"] = '["--allowedTools", "Bash"]'
    model.turns = [WRITE, call("Bash", command="touch started; tail -f /dev/null"), DONE]
    task = project.new("Mend the gate", "-d", "It squeaks in the wind.")
    run = project.start("run", task)
    started = project.root / ".ostler" / "worktrees" / task / "started"
    wait_until(started.exists, 60, "the tool did not start")
    assert end(run, number) == code
    wait_until(lambda: not project.survivors(), 20, "the agent outlived the run")
    done = project.ostler("run", "--all")
    shown = check_ended(project, task, done.returncode)
    assert (shown["status"], [a["resumed"] for a in shown["attempts"]]) == ("completed", [False, True])
    assert project.git("show", f"ostler/{task}:hello.txt") == "hello\n"
    assert sum(text.count("It squeaks in the wind.") for text in model.llm.prompts[-1].history) == 1
    assert model.llm.prompts[-1].holds("stopped in the middle of it")


# Row: the status, the code, the exit and the number of attempts with the retries that are the default.
ENDINGS = {
    "d1_seconds": ("deferred", "RATE_LIMITED", 5, 3),  # after two short waits
    "d2_credit": ("pending", "BILLING", 4, 1),
    "d8_401": ("pending", "AUTH_FAILED", 4, 1),
    "d9_404": ("failed", "MODEL_NOT_FOUND", 1, 1),
    "d10_refusal": ("failed", "REFUSED", 1, 1),
    "d10_empty": ("failed", "RESPONSE_EMPTY", 1, 3),
}


@pytest.mark.parametrize("row", ENDINGS)
def test_a_provider_that_fails_ends_the_task_with_its_code(project: World, model: Model, row: str) -> None:
    """A final failure is not retried, a lasting limit defers the task, a refused account keeps it pending."""
    status, code, exit_code, attempts = ENDINGS[row]
    model.turns = [FAULTS[row]]
    project.environ["OSTLER_RETRY__RATE_LIMIT_WAIT_SECONDS"] = "0.5"
    task = project.new()
    began = time.monotonic()
    done = project.ostler("run", task, code=exit_code)
    assert time.monotonic() - began < 60
    shown = check_ended(project, task, done.returncode)
    assert (shown["status"], shown["code"], len(shown["attempts"])) == (status, code, attempts)
    assert code in done.stdout + done.stderr


def test_an_overloaded_provider_is_tried_again(project: World, model: Model) -> None:
    """The first attempt fails; the second resumes the session and completes the task."""
    model.turns = [*[FAULTS["d3_529"]] * 3, WRITE, DONE]
    task = project.new()
    done = project.ostler("run", task)
    shown = check_ended(project, task, done.returncode)
    assert [a["code"] for a in shown["attempts"]] == ["OVERLOADED", None]
    assert len({a["session_id"] for a in shown["attempts"]}) == 1


def test_a_task_of_five_megabytes_is_refused_once(project: World, tmp_path: Path) -> None:
    """The prompt is too large for every model: the task fails after one attempt."""
    (tmp_path / "long.md").write_text("# A long task\n\n" + "word " * 1_000_000)
    project.ostler("run", "-f", str(tmp_path / "long.md"), code=1)
    task = project.json("status")["tasks"][0]["id"]
    shown = check_ended(project, task, 1)
    assert (shown["code"], len(shown["attempts"])) == ("PROMPT_TOO_LARGE", 1)


def test_a_denied_tool_is_a_warning_of_the_task(project: World, model: Model) -> None:
    """The task completes with a warning about the denied tool."""
    model.turns = [WRITE, call("Bash", command="touch /somewhere-else"), DONE]
    task = project.new()
    project.ostler("run", task)
    shown = check_ended(project, task, 0)
    assert (shown["status"], shown["warnings"]) == ("completed", ["PERMISSION_DENIED"])
    denied = [line for line in project.events(task) if line["type"] == "tool_used" and line.get("denied")]
    assert [line["tool"] for line in denied] == ["Bash"]
