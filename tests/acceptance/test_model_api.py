"""Tasks whose agent is a model API: the same endings as with any agent, and an answer instead of changes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ostler.testing.fake_llm import FAULTS, FakeLlm, Silence, say
from ostler.testing.llm.script import Turns
from world import INTERRUPT, World, end, wait_until

KEY = "sk-test-0123456789"
MARK = "<phase_complete>true</phase_complete>"


class ApiWorld(World):
    """A project whose agent is the Messages API of a local server."""

    def asks(self, llm: FakeLlm) -> None:
        self.environ |= {
            "OSTLER_RUN__EXECUTOR": "model_api",
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": llm.url,
        }


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ApiWorld]:
    made = ApiWorld(tmp_path)
    yield made
    made.close()


def run_with(world: ApiWorld, turns: Turns, code: int, *args: str) -> tuple[dict, FakeLlm]:
    """Run one task with these turns; return what `show` prints, and the server."""
    with FakeLlm(turns) as llm:
        world.asks(llm)
        task = world.new("What is the answer?", "--weight", "trivial", *args)
        world.ostler("run", task, code=code)
    return world.show(task), llm


def test_an_answer_completes_a_task_and_changes_nothing(world: ApiWorld) -> None:
    """No tools: the commit is empty, the answer is in the log, tokens are counted and priced by the list."""
    shown, llm = run_with(world, [say(f"It is 42.\n\n{MARK}")], 0)
    assert (shown["status"], shown["code"]) == ("completed", None)
    assert shown["cost_usd"] == pytest.approx(0.000105)
    assert shown["attempts"][0]["cost_source"] == "priced"
    assert shown["usage"]["input_tokens"] == 10
    assert shown["attempts"][0]["exit_code"] is None
    assert world.git("diff", "main", shown["branch"]) == ""
    assert world.git("rev-list", "--count", f"main..{shown['branch']}").strip() == "1"
    assert "It is 42." in world.ostler("log", shown["id"]).stdout
    assert world.ostler("diff", shown["id"]).returncode == 0
    assert len(llm.prompts) == 1


def test_a_task_that_needs_hands_is_blocked(world: ApiWorld) -> None:
    """The prompt states that it has no tools; its reason is shown to the person."""
    shown, llm = run_with(world, [say("<phase_blocked>I cannot edit files here</phase_blocked>")], 4)
    assert (shown["status"], shown["code"], shown["message"]) == (
        "blocked",
        "AGENT_BLOCKED",
        "I cannot edit files here",
    )
    assert "no tools" in llm.prompts[0].body["system"]


def test_an_answer_without_a_mark_is_asked_for_it(world: ApiWorld) -> None:
    """No change and no mark: not complete; the next iteration gets the last answer."""
    shown, llm = run_with(world, [say("It is 42."), say(MARK)], 0)
    assert shown["iteration"] == 2
    assert llm.prompts[1].holds("It is 42.")


@pytest.mark.parametrize(
    ("fault", "status", "code", "exit_code", "asked"),
    [
        ("d8_401", "pending", "AUTH_FAILED", 4, 1),
        ("d9_404", "failed", "MODEL_NOT_FOUND", 1, 1),
        ("d2_spend_limit_429", "pending", "BILLING", 4, 1),
        ("d1_seconds", "deferred", "RATE_LIMITED", 5, 1),
        ("d3_529", "deferred", "OVERLOADED", 5, 3),
        ("d5_reset", "deferred", "STREAM_BROKEN", 5, 3),
        ("d10_refusal", "failed", "REFUSED", 1, 1),
    ],
)
@pytest.mark.sampled(2)
def test_a_fault_of_the_provider_has_its_ending(
    world: ApiWorld, fault: str, status: str, code: str, exit_code: int, asked: int
) -> None:
    """C46: only Ostler retries, and the key is in no file of the project."""
    shown, llm = run_with(world, [FAULTS[fault]], exit_code)
    assert (shown["status"], shown["code"]) == (status, code)
    assert len(llm.prompts) == asked
    assert not [
        path for path in world.root.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()
    ]


def test_a_failed_attempt_has_a_price(world: ApiWorld) -> None:
    """An empty answer costs as much as any other; without the price, no budget would count it."""
    shown, _ = run_with(world, [say(" ")], 1)
    assert (shown["code"], shown["usage"]["input_tokens"]) == ("RESPONSE_EMPTY", 10)
    assert shown["cost_usd"] == pytest.approx(0.000105)


def test_a_repeat_after_a_broken_answer_completes(world: ApiWorld) -> None:
    """D5: the second attempt sends the same request, and the tokens of both are counted."""
    shown, llm = run_with(world, [FAULTS["d5_end"], say(MARK)], 0)
    assert [attempt["code"] for attempt in shown["attempts"]] == ["STREAM_BROKEN", None]
    assert shown["usage"]["input_tokens"] == 20
    assert not [event for event in world.events(shown["id"]) if event["type"] == "session_replaced"]
    assert len(llm.prompts) == 2


@pytest.mark.full
def test_ctrl_c_ends_the_request_and_the_task_goes_on_later(world: ApiWorld) -> None:
    """Without a process to stop: the connection is closed, the task is pending, the next run completes it."""
    with FakeLlm([Silence(60), say(MARK)]) as llm:
        world.asks(llm)
        task = world.new("What is the answer?", "--weight", "trivial")
        child = world.start("run", task)
        wait_until(lambda: llm.prompts, 30, "the model was never asked")
        assert end(child, INTERRUPT) == 130
        assert world.show(task)["status"] == "pending"
        world.ostler("run", task)
    assert world.show(task)["status"] == "completed"


@pytest.mark.one_machine("in a cluster a worker starts the task, and records a missing key as its failure")
def test_without_a_key_nothing_begins(world: ApiWorld) -> None:
    """One sentence and the variable to set; the task is unchanged."""
    world.environ["OSTLER_RUN__EXECUTOR"] = "model_api"
    task = world.new()
    done = world.ostler("run", task, code=2)
    assert "model_api has no key for the anthropic API" in done.stderr
    assert "ANTHROPIC_API_KEY" in done.stderr
    assert world.show(task)["status"] == "pending"


def test_a_provider_that_sends_nothing_is_no_failure_of_the_task(world: ApiWorld) -> None:
    """The task is deferred until the next probe, as after any outage."""
    world.environ |= {"OSTLER_RUN__IDLE_TIMEOUT_SECONDS": "0.2", "OSTLER_RETRY__MAX_RETRIES": "0"}
    shown, _ = run_with(world, [Silence(60.0)], 5)
    assert (shown["status"], shown["code"]) == ("deferred", "NETWORK")
    assert [one["code"] for one in shown["attempts"]] == ["NETWORK"]
    assert shown["resumes_at"] is not None
