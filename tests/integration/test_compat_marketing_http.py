"""The seed's executor with real clients over HTTP, and with concurrent runs of the same task."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from executor_world import LONG, RESEARCH, ExecutorWorld, deferred_with, failed_with
from ostler.errors import Code
from ostler.llm.anthropic import AnthropicClaudeClient
from ostler.llm.client import DEFAULT_MODEL_MAP, ClaudeClientConfig
from ostler.llm.openai import OpenAIChatClient
from ostler.model.status import TaskStatus
from ostler.model.usage import Usage
from ostler.project.agents.executor_config import AgentConfig
from ostler.project.running.execution import ExecutionErrorCode as E
from ostler.testing.fake_llm import FakeLlm, Silence, Turn, fail, say

RACER = """
import asyncio, sys
from ostler import Task
from ostler.compat import AgentExecutor, ClaudeClientConfig
from ostler.llm.openai import OpenAIChatClient
root, url, task = sys.argv[1:]
client = OpenAIChatClient(ClaudeClientConfig("sk-test", url))
print("ready", flush=True)
sys.stdin.readline()
result = asyncio.run(AgentExecutor(client, root).execute(Task("Who buys hay", skill="research", id=task)))
print(result.error.code if result.error else result.status)
"""


@pytest.fixture
def world(tmp_path: Path) -> ExecutorWorld:
    return ExecutorWorld(tmp_path)


def openai(llm: FakeLlm) -> OpenAIChatClient:
    return OpenAIChatClient(ClaudeClientConfig("sk-test", f"{llm.url}/v1"))


def test_a_document_through_anthropics_own_sdk(world: ExecutorWorld) -> None:
    """The model of the tier, max_tokens of the config, the skill as system prompt; the answer in the file."""
    with FakeLlm([say("They have horses.", usage=Usage(40, 6))]) as llm:
        client = AnthropicClaudeClient(ClaudeClientConfig("sk-test", llm.url))
        result = world.execute(client=client, agent_config=AgentConfig(model_tier="haiku"))
    body = llm.requests[0].body
    assert (body["model"], body["max_tokens"]) == (DEFAULT_MODEL_MAP["haiku"], 4096)
    assert str(body["system"]).startswith("You find out who buys.")
    assert (world.root / str(result.output_path)).read_text() == "They have horses."
    assert (result.tokens_used.input, result.tokens_used.output) == (40, 6)


@pytest.mark.parametrize(
    ("turn", "code", "requests"),
    [
        (fail(429, "slow down"), E.API_RATE_LIMITED, 3),
        (fail(529, "overloaded"), E.API_OVERLOADED, 3),
        (fail(500, "oops"), E.API_ERROR, 3),
        (fail(408, "late"), E.API_TIMEOUT, 3),
        (fail(401, "no"), E.API_ERROR, 1),
        (fail(403, "no"), E.API_ERROR, 1),
        (fail(404, "no"), E.API_ERROR, 1),
        (fail(400, "no"), E.API_ERROR, 1),
        (say(" \n"), E.RESPONSE_EMPTY, 1),
    ],
)
@pytest.mark.sampled(2)
def test_what_a_provider_refuses(world: ExecutorWorld, turn: Turn, code: E, requests: int) -> None:
    """Only one retry loop."""
    with FakeLlm([turn]) as llm:
        result = world.execute(client=openai(llm))
    waits = code in (E.API_RATE_LIMITED, E.API_OVERLOADED)
    assert deferred_with(result, code) if waits else failed_with(result, code)
    assert len(llm.requests) == requests


def test_retry_after_is_minded(world: ExecutorWorld) -> None:
    """The provider's Retry-After has precedence over the configured delay."""
    with FakeLlm([fail(429, "slow down", retry_after="0"), say("Text.")]) as llm:
        result = world.execute(client=openai(llm), config={"retry_delay_ms": 59_000})
    assert (result.status, len(llm.requests)) == ("completed", 2) and result.duration_ms < 30_000


def test_a_silent_provider_is_a_timeout_of_each_attempt(world: ExecutorWorld) -> None:
    """API_TIMEOUT after two attempts: the timeout is per attempt."""
    with FakeLlm([Silence(600.0)]) as llm:
        wanted = AgentConfig(timeout_ms=150, max_retries=1)
        result = world.execute(client=openai(llm), agent_config=wanted)
    assert failed_with(result, E.API_TIMEOUT)
    assert [one.code for one in world.attempts(result.task_id)] == [Code.TIMEOUT] * 2
    assert world.state(result.task_id).code is Code.TIMEOUT


def test_an_abort_while_the_provider_is_silent(world: ExecutorWorld) -> None:
    """The connection is closed and the task cancelled, while the server would wait ten minutes."""

    async def scene() -> None:
        signal, loop = asyncio.Event(), asyncio.get_running_loop()

        def silent(request: object) -> Turn:
            loop.call_soon_threadsafe(signal.set)
            return Silence(600.0)

        with FakeLlm(silent) as llm:
            result = await asyncio.wait_for(world.executor(openai(llm)).execute(RESEARCH, signal), LONG)
        assert failed_with(result, E.ABORTED)
        assert world.state(result.task_id).status is TaskStatus.CANCELLED

    asyncio.run(scene())


def test_an_answer_that_breaks_off_is_counted_and_asked_for_again(world: ExecutorWorld) -> None:
    """The tokens of the broken attempt are included."""
    broken = say("The beginning and then", breaks="end", usage=Usage(10, 5))
    with FakeLlm([broken, say("Whole.", usage=Usage(10, 5))]) as llm:
        result = world.execute(client=openai(llm))
    assert (result.status, len(llm.requests)) == ("completed", 2)
    assert result.tokens_used.total >= 15
    assert (world.root / str(result.output_path)).read_text() == "Whole."


def test_processes_that_want_the_same_task(world: ExecutorWorld) -> None:
    """Four in parallel: one claims it, three get a conflict, and there is one request."""
    task = world.add()
    with FakeLlm(lambda request: say("Text.", delay_seconds=0.5)) as llm, ExitStack() as racing:
        argv = [sys.executable, "-c", RACER, str(world.root), f"{llm.url}/v1", task.id]
        racers = [racing.enter_context(_racer(argv)) for _ in range(4)]
        for racer in racers:
            assert racer.stdout is not None and racer.stdout.readline() == "ready\n"
        for racer in racers:
            assert racer.stdin is not None
            racer.stdin.write("\n")
            racer.stdin.flush()
        printed = [racer.communicate(timeout=LONG)[0].strip() for racer in racers]
    assert sorted(printed) == ["TASK_NOT_EXECUTABLE"] * 3 + ["completed"]
    assert len(llm.requests) == 1


@contextmanager
def _racer(argv: list[str]) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as racer:
        try:
            yield racer
        finally:
            racer.kill()
