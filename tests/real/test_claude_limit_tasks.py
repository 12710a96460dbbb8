"""The real claude at the limit of a subscription: three tasks, and a second project of the same user."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ostler.testing.fake_llm import FakeLlm, Request, Turn, call
from ostler.testing.llm.limit_cases import reject
from real_claude import claude_environment, require_claude
from world import World

pytestmark = pytest.mark.full

TOKEN = "sk-ant-oat01-canary"
WRITE = call("Write", file_path="hello.txt", content="hello\n")
DONE = call("StructuredOutput", status="complete", reason="", summary="I wrote hello.txt.")
LIMIT_SECONDS = 20.0
IN_FLIGHT_SECONDS = 5.0  # agents that were started before the rejection


class Subscription:
    """A model that answers with a tool call, then rejects every request until the reset."""

    def __init__(self) -> None:
        self.llm = FakeLlm(self._answer)
        self.started_at = time.time()
        self.rejected_at = 0.0
        self.requests: list[float] = []
        self._lock = threading.Lock()

    @property
    def resets_at(self) -> float:
        return self.rejected_at + LIMIT_SECONDS

    def _answer(self, request: Request) -> Turn:
        with self._lock:
            now = time.time()
            self.requests.append(now)
            if "tool_result" not in json.dumps(request.body):
                return WRITE
            self.rejected_at = self.rejected_at or now
            return reject(seconds=self.resets_at - self.started_at) if now < self.resets_at else DONE


@pytest.fixture
def subscription() -> Iterator[Subscription]:
    made = Subscription()
    with made.llm:
        yield made


def make_project(place: Path, name: str, subscription: Subscription) -> World:
    world = World(place, name=name)
    environ = claude_environment(subscription.llm, place)
    del environ["ANTHROPIC_API_KEY"]
    world.environ |= environ | {
        "OSTLER_CLAUDE_PATH": require_claude(),
        "CLAUDE_CODE_OAUTH_TOKEN": TOKEN,
        "OSTLER_RUN__JOBS": "3",
        "OSTLER_RETRY__JITTER": "0",
        "TZ": "UTC",
    }
    return world


def test_all_tasks_of_two_projects_continue_after_the_reset(
    tmp_path: Path, subscription: Subscription
) -> None:
    """Between the rejection and the reset no call is made but those that were in flight; then one probes."""
    first = make_project(tmp_path, "first", subscription)
    second = make_project(tmp_path, "second", subscription)
    tasks = [first.new(f"Greeting {number}") for number in range(3)]
    other = second.new("Another greeting")
    try:
        run = first.start("run", "--all", "--wait")
        deadline = time.monotonic() + 60
        while not first.json("limits")["accounts"] and time.monotonic() < deadline:
            time.sleep(0.2)
        (account,) = first.json("limits")["accounts"]
        assert TOKEN not in json.dumps(account)
        beside = second.start("run", other, "--wait")
        assert (run.wait(120), beside.wait(120)) == (0, 0)
        shown = [first.show(task) for task in tasks]
        assert [one["status"] for one in (*shown, second.show(other))] == ["completed"] * 4
        for one in shown:
            before, after = one["attempts"]
            assert before["code"] == "QUOTA_EXCEEDED" and before["session_id"] == after["session_id"]
        begin, end = subscription.rejected_at + IN_FLIGHT_SECONDS, subscription.resets_at
        assert not [at for at in subscription.requests if begin < at < end]
        assert min(at for at in subscription.requests if at > begin) < end + LIMIT_SECONDS
    finally:
        first.close()
        second.close()
