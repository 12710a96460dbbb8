"""Prompts of attempts and their notices: prompts on disk, edits, retries, adjustments, recoveries."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from ostler.calls.attempts.session import AgentSession
from ostler.calls.cli_executor import CliExecutor
from ostler.calls.debugger import PrePromptEvent
from ostler.calls.hooks import TaskRetry
from ostler.calls.plugins import PluginRegistry
from ostler.calls.request import AnswerFormat, CallRequest
from ostler.config.settings import (
    HostSettings,
    LimitsSettings,
    ModelSettings,
    RetrySettings,
    SelectionSettings,
    Settings,
)
from ostler.errors import Code
from ostler.executors.protocol import Capabilities
from ostler.executors.registry import ExecutorRegistry
from ostler.model.attempt import Attempt
from ostler.model.call import AgentCall, CallResult, OnEvent, TextReceived
from ostler.model.ids import TaskId
from ostler.model.notice import ConcurrencyReduced, ModelRecovered
from ostler.model.policy.model_config import ModelConfig, ModelPool
from ostler.testing.mocks import MockCommandRunner, MockExecutor
from ostler.testing.virtual_clock import VirtualClock

OK = CallResult(None, text="done", session_id="s")
OBJECT = CallResult(None, text='{"status": "complete", "reason": "", "summary": "oiled"}', session_id="s")
ABLE = Capabilities(resumes=True, accepts_session_id=True)


def fails(code: Code, retry_after: float | None = None) -> CallResult:
    message = f"it said {code}"
    return CallResult(code, message, session_id="s", duration_seconds=5.0, retry_after_seconds=retry_after)


class Scripts(ExecutorRegistry):
    """Models that answer from a list, repeating the last answer; records every call."""

    def __init__(self, **answers: list[CallResult]) -> None:
        super().__init__()
        self.answers = answers
        self.calls: list[tuple[str, AgentCall]] = []
        self.shaped = ""  # the model whose executor enforces schemas

    def make_for(self, choice: ModelConfig, *_: object) -> MockExecutor:  # type: ignore[override]
        async def run(call: AgentCall, on_event: OnEvent) -> CallResult:
            self.calls.append((choice.name, call))
            answers = self.answers[choice.name]
            result = answers.pop(0) if len(answers) > 1 else answers[0]
            if result.ok:
                on_event(TextReceived(result.text))
            return result

        return MockExecutor(
            choice.executor, replace(ABLE, structured_output=choice.name == self.shaped), run, run
        )


class Debugger:
    """Changes prompts from a list, and records what it received and what was on disk meanwhile."""

    def __init__(self, *answers: str | None) -> None:
        self.answers = list(answers)
        self.events: list[PrePromptEvent] = []
        self.on_disk: list[str] = []

    async def pre_prompt(self, event: PrePromptEvent) -> str | None:
        self.events.append(event)
        self.on_disk.append(Path(event.data.prompt_file).read_text())
        return self.answers.pop(0) if self.answers else None


class RetryRecorder:
    """A plugin that records retries."""

    def __init__(self) -> None:
        self.retries: list[TaskRetry] = []

    def on_task_retry(self, retry: TaskRetry) -> None:
        self.retries.append(retry)


def settings(retry: RetrySettings, *names: str) -> Settings:
    """Each has its own account; opus is the fallback."""
    rows = (ModelSettings(name, "claude", name, account=name, fallback=name == "opus") for name in names)
    return Settings(
        retry=retry,
        models=tuple(rows),
        limits=LimitsSettings(rotate_accounts=True),
        selection=SelectionSettings(strategy="priority"),
        host=HostSettings(start_stagger_seconds=0.0),
    )


class Room:
    """A CliExecutor on virtual time."""

    def __init__(self, home: Path, retry: RetrySettings, scripts: Scripts, debugger: Debugger | None) -> None:
        self.clock, self.plugin, self.scripts = VirtualClock(), RetryRecorder(), scripts
        self.plugins = PluginRegistry()
        self.plugins.register(self.plugin)
        self.executor = CliExecutor(
            settings(retry, *scripts.answers),
            MockCommandRunner(),
            self.plugins,
            logging.getLogger("test"),
            home=home,
            clock=self.clock,
            debugger=debugger,
            registry=scripts,
            environ={},
        )

    def execute(self, *prompts: str) -> list[CallResult]:
        async def go() -> list[CallResult]:
            outcomes = [await self.executor.execute(prompt) for prompt in prompts]
            await self.plugins.close()
            return [outcome.result for outcome in outcomes]

        return asyncio.run(go())

    def prompts(self, name: str) -> str:
        return (self.executor.calls_dir / "prompts" / name).read_text()


@contextmanager
def room(
    home: Path,
    retry: RetrySettings | None = None,
    debugger: Debugger | None = None,
    **answers: list[CallResult],
) -> Iterator[Room]:
    made = Room(home, retry or RetrySettings(jitter=0.0), Scripts(**answers), debugger)
    yield made
    made.executor.close()


def test_the_current_prompt_is_beside_the_numbered_ones(tmp_path: Path) -> None:
    """C68: the file has the prompt that was sent last."""
    with room(tmp_path, sonnet=[fails(Code.OVERLOADED), OK]) as here:
        here.execute("Do it.")
        sent = here.scripts.calls[-1][1].prompt
        assert here.prompts("current-prompt.md") == sent == here.prompts("call-002.md")
        assert here.prompts("call-001.md") == "Do it." != sent
        assert not (here.executor.calls_dir / "prompts" / "prompt-changes.log").exists()


def test_a_debugger_gets_the_prompt_file_and_the_attempt(tmp_path: Path) -> None:
    """The file is written before the debugger is called, so that an editor or a script can read it."""
    debugger = Debugger()
    with room(tmp_path, debugger=debugger, sonnet=[fails(Code.OVERLOADED), OK]) as here:
        here.execute("Do it.")
        place = str(here.executor.calls_dir / "prompts" / "current-prompt.md")
    assert debugger.on_disk == [event.prompt for event in debugger.events]
    assert [event.data.attempt for event in debugger.events] == [1, 2]
    assert {event.data.prompt_file for event in debugger.events} == {place}


def test_an_edit_is_written_down_with_before_and_after(tmp_path: Path) -> None:
    """C77: one entry for each edit, none without a change."""
    debugger = Debugger("Do it well.\nToday.", None, "Do it now.")
    with room(tmp_path, debugger=debugger, sonnet=[*[fails(Code.OVERLOADED)] * 2, OK]) as here:
        here.execute("Do it.")
        assert here.prompts("current-prompt.md") == "Do it now."
        log = here.prompts("prompt-changes.log").splitlines()
    heads = [line for line in log if line.startswith("20")]
    assert [head.split(" ", 1)[1] for head in heads] == ["attempt 1", "attempt 3"]
    first, second = log[: log.index(heads[1])], log[log.index(heads[1]) :]
    assert {"-Do it.", "+Do it well.", "+Today."} <= set(first)
    assert {"-Do it well.", "-Today.", "+Do it now."} <= set(second)
    assert debugger.on_disk[1:] == ["Do it well.\nToday."] * 2


@pytest.mark.parametrize("answer", [None, "Only this."])
def test_what_a_person_wrote_goes_for_a_lost_session_too(tmp_path: Path, answer: str | None) -> None:
    """Without an edit a new session gets the full prompt; with an edit it gets the edited one."""
    debugger = Debugger(None, answer)
    with room(tmp_path, debugger=debugger, sonnet=[fails(Code.OVERLOADED), OK]) as here:
        here.execute("Do it.")
        (_, first), (_, second) = here.scripts.calls
    assert first.fresh_prompt is None and second.fresh_prompt is not None
    assert asyncio.run(second.fresh_prompt()) == second.prompt
    assert answer is None or second.prompt == answer


def shaped(place: Path) -> CallRequest:
    """Return a call of sonnet and then gpt with an answer format."""

    async def fresh(executor: str, failure: str, attempts: list[Attempt]) -> str:
        return "all of it, then end with a mark"

    async def fresh_object(executor: str, failure: str, attempts: list[Attempt]) -> str:
        return "all of it, then answer with an object"

    return CallRequest(
        task=TaskId("t-0001"),
        key="k",
        phase="implement",
        iteration=1,
        role="implementer",
        pool=ModelPool((ModelConfig("sonnet", "claude"), ModelConfig("gpt", "codex"))),
        cwd=str(place),
        task_dir=place,
        attempts=[],
        select_session=lambda executor, resumes, attempts: AgentSession("s", started=False),
        build_prompt=lambda continues, failure: "end with a mark",
        build_fresh_prompt=fresh,
        answer_format=AnswerFormat(
            '{"type":"object"}', lambda continues, failure: "answer with an object", fresh_object
        ),
    )


@pytest.mark.parametrize("able", ["sonnet", "gpt"])
def test_only_an_executor_with_schemas_is_asked_for_an_object(tmp_path: Path, able: str) -> None:
    """Prompt and schema fit the current executor, whichever was called before."""
    retry = RetrySettings(max_retries=0, jitter=0.0)
    with room(tmp_path, retry, sonnet=[fails(Code.OVERLOADED)], gpt=[OBJECT]) as here:
        here.scripts.shaped = able
        outcome = asyncio.run(here.executor._caller.run(shaped(here.executor.calls_dir)))
        calls = dict(here.scripts.calls)
    for name, call in calls.items():
        assert call.schema == ('{"type":"object"}' if name == able else "")
        assert ("object" in call.prompt, "mark" in call.prompt) == (name == able, name != able)
    assert outcome.structured == (able == "gpt")
    answer = (here.executor.calls_dir / outcome.answer).read_text()
    assert answer == ("oiled" if able == "gpt" else OBJECT.text)
    page = (here.executor.calls_dir / "transcripts" / "implement-002.md").read_text()
    assert ("\noiled\n" in page) == (able == "gpt")


def test_each_failure_is_reported_once_with_the_model_that_comes_next(tmp_path: Path) -> None:
    """C75: before a wait the same model, at a switch the other one, at a quota the fallback."""
    retry = RetrySettings(max_retries=1, jitter=0.0)
    answers = {"sonnet": [fails(Code.OVERLOADED)], "gpt": [fails(Code.QUOTA_EXCEEDED)], "opus": [OK]}
    with room(tmp_path, retry, **answers) as here:
        assert here.execute("Do it.")[0].ok
    assert [(one.attempt, one.code, one.model, one.wait_seconds) for one in here.plugin.retries] == [
        (1, Code.OVERLOADED, "sonnet", 1.0),
        (2, Code.OVERLOADED, "gpt", 0.0),
        (3, Code.QUOTA_EXCEEDED, "opus", 0.0),
    ]


def test_many_limits_make_the_run_more_careful(tmp_path: Path) -> None:
    """C49: recorded in the feed; later waits are longer. Without the setting nothing changes."""
    for healing in (True, False):
        home = tmp_path / str(healing)
        home.mkdir()
        retry = RetrySettings(max_retries=1, jitter=0.0, self_healing=healing, breaker_failures=99)
        with room(home, retry, sonnet=[fails(Code.OVERLOADED)]) as here:
            here.execute("a", "b", "c", "d")
            adjustments = [
                one for one in here.executor.journal.notices if isinstance(one, ConcurrencyReduced)
            ]
            assert here.clock.slept == ([1.0, 1.0, 1.0, 2.0] if healing else [1.0] * 4)
        assert [one.kind for one in adjustments] == (["limits"] if healing else [])


def test_slow_agents_get_more_time(tmp_path: Path) -> None:
    """C49: timeouts extend the timeouts of later attempts, up to half an hour."""
    retry = RetrySettings(max_retries=0, self_healing=True, breaker_failures=99)
    with room(tmp_path, retry, sonnet=[fails(Code.IDLE_TIMEOUT)]) as here:
        here.execute(*"abcdefg")
        first, last = here.scripts.calls[0][1], here.scripts.calls[-1][1]
    assert (first.idle_timeout_seconds, last.idle_timeout_seconds) == (600.0, 900.0)
    assert (first.timeout_seconds, last.timeout_seconds) == (3600.0, 3600.0)


def test_a_recovered_model_is_recorded(tmp_path: Path) -> None:
    """C44: after its cooldown, and after its limit; not after every success."""
    retry = RetrySettings(max_retries=0, breaker_failures=2)
    limit = fails(Code.RATE_LIMITED, 600.0)
    with room(tmp_path, retry, sonnet=[fails(Code.OVERLOADED)] * 2 + [OK, limit, OK, OK], gpt=[OK]) as here:
        here.execute("a", "b")
        here.clock.advance(601.0)
        here.execute("c", "d")
        here.clock.advance(601.0)
        here.execute("e", "f")
        recovered = [one for one in here.executor.journal.notices if isinstance(one, ModelRecovered)]
    assert [one.model for one in recovered] == ["sonnet", "sonnet"]
    assert ["cooldown" in recovered[0].reason, "limit" in recovered[1].reason] == [True, True]
