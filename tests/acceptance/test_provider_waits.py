"""Agents that wait for their provider inside themselves: they are ended, and nothing else waits with them."""

from __future__ import annotations

import time
from datetime import datetime

import pytest

from models_world import QUICK, called, codes, play, row, write_models
from world import World

FIVE_HOURS = 5 * 3600 + 23 * 60 + 10
EXHAUSTED = (
    "Attempt 1 failed: You have exhausted your capacity on this model."
    " Your quota will reset after 5h23m10s.. Retrying after 20013483ms..."
)
BACKOFF = (
    "Attempt 1 failed with status 429. Retrying with backoff... _ApiError: "
    '{"error":{"code":429,"message":"Resource exhausted","status":"RESOURCE_EXHAUSTED"}}'
)
SLEEPS = {"fault": "waits", "error_message": EXHAUSTED, "seconds": 600.0}
QUIET = QUICK + "[limits]\nquiet_seconds = 1.2\n"


def seconds_until(text: str) -> float:
    return datetime.fromisoformat(text).timestamp() - time.time()


@pytest.mark.parametrize("kind", ["gemini", "gemini-acp"])
def test_an_agent_with_a_delay_of_five_hours_frees_its_slot_within_seconds(world: World, kind: str) -> None:
    """The task is deferred to the reset, its session is kept, and the next run continues it."""
    write_models(world, row("g", kind))
    play(world, "gemini" if kind == "gemini" else "acp", **SLEEPS)
    if kind == "gemini-acp":
        world.environ["OSTLER_GEMINI_PATH"] = world.environ["OSTLER_ACP_PATH"]
    task = world.new()
    began = time.monotonic()
    world.ostler("run", task, code=5)
    assert time.monotonic() - began < 20
    shown = world.show(task)
    assert (shown["status"], shown["code"]) == ("deferred", "QUOTA_EXCEEDED"), shown["message"]
    assert abs(seconds_until(shown["resumes_at"]) - FIVE_HOURS) < 600
    assert "Your quota will reset after 5h23m10s" in shown["message"]
    (attempt,) = shown["attempts"]
    assert attempt["session_id"] and not world.survivors()
    assert "waits 20013 s for its provider (QUOTA_EXCEEDED)" in world.ostler("log", task).stdout


def test_the_next_run_continues_the_session(world: World) -> None:
    """The session is resumed, not started again."""
    write_models(world, row("g", "gemini"))
    play(world, "gemini", plan=[{**SLEEPS, "error_message": EXHAUSTED.replace("5h23m10s", "1s")}, ""])
    task = world.new()
    world.ostler("run", task, "--wait")
    shown = world.show(task)
    first, second = shown["attempts"]
    assert shown["status"] == "completed"
    assert second["resumed"] and second["session_id"] == first["session_id"]


def test_another_model_is_used_while_the_agent_would_wait(world: World) -> None:
    """L4: the fallback gets the task at once."""
    write_models(world, row("g", "gemini"), row("sonnet", "claude", fallback=True))
    play(world, "gemini", **SLEEPS)
    task = world.new()
    world.ostler("run", task)
    shown = world.show(task)
    assert shown["status"] == "completed"
    assert codes(shown) == [("gemini", "QUOTA_EXCEEDED"), ("claude", None)]
    assert len(called(world)) == 2


def test_an_agent_that_is_silent_after_a_retry_is_ended(world: World) -> None:
    """A wait of unknown length: after limits.quiet_seconds the next model gets the task."""
    write_models(world, row("g", "gemini"), row("sonnet", "claude"), more=QUIET)
    play(world, "gemini", **{**SLEEPS, "error_message": BACKOFF})
    task = world.new()
    began = time.monotonic()
    done = world.ostler("run", task)
    assert time.monotonic() - began < 20
    shown = world.show(task)
    assert (shown["status"], codes(shown)) == (
        "completed",
        [("gemini", "RATE_LIMITED"), ("claude", None)],
    ), shown["attempts"]
    assert "wait started       g: RATE_LIMITED" in done.stdout
    assert "… waits for its provider (RATE_LIMITED)" in world.ostler("log", task).stdout


def test_a_short_wait_is_left_to_the_agent(world: World) -> None:
    """An agent that waits a second and then answers is not ended."""
    write_models(world, row("g", "gemini"))
    short = EXHAUSTED.replace("20013483ms", "300ms").replace("5h23m10s", "1s")
    play(world, "gemini", **{**SLEEPS, "error_message": short, "seconds": 0.3})
    task = world.new()
    world.ostler("run", task)
    shown = world.show(task)
    assert (shown["status"], len(shown["attempts"])) == ("completed", 1)


def test_a_program_of_ones_own_is_ended_by_the_same_words(world: World) -> None:
    """docs/agents/command.md: the error and the wait on stderr are enough, after the quiet time."""
    script = "echo 'HTTP 429: rate limit reached, retrying in 2h' >&2; exec sleep 600"
    mine = f'type = "command"\ncommand = "sh"\nargs = ["-c", "{script}"]\n'
    settings = f'[run]\nexecutor = "mine"\n[executors.mine]\n{mine}[limits]\nquiet_seconds = 1.2\n'
    (world.root / "ostler.toml").write_text(settings)
    task = world.new()
    world.ostler("run", task, code=5)
    shown = world.show(task)
    assert (shown["status"], shown["code"]) == ("deferred", "QUOTA_EXCEEDED"), shown["message"]
    assert abs(seconds_until(shown["resumes_at"]) - 7200) < 600
