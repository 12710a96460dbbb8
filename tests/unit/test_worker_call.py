"""One call over a pool of models: the order of the attempts, the waits, and the report, to the call."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from ostler.config.settings import HostSettings, RetrySettings, SelectionSettings, Settings
from ostler.errors import AgentUnavailable, Code
from ostler.executors.protocol import Capabilities
from ostler.model.attempt import Attempt
from ostler.model.call import AgentCall, CallResult, OnEvent, TextSaid
from ostler.model.choice import Choice, ModelPool
from ostler.model.ids import TaskId
from ostler.model.notice import ModelWoke, WaitStarted
from ostler.model.usage import Usage
from ostler.store.sqlite import SqliteJournal
from ostler.store.sqlite_ledger import SqliteLedger
from ostler.testing.mocks import MockExecutor
from ostler.testing.virtual_clock import VirtualClock
from ostler.worker.attempts import Attempts
from ostler.worker.call import CallWorker
from ostler.worker.diary import MemoryDiary
from ostler.worker.hooks import PluginRegistry
from ostler.worker.host import Host
from ostler.worker.order import Order, Report
from ostler.worker.purse import Purse
from ostler.worker.selector import ModelSelector
from ostler.worker.session import Session
from ostler.worker.slots import WorkerPool
from ostler.worker.stable import Stable
from ostler.worker.standing import Standing

Answer = CallResult | Callable[[], CallResult]
PLAIN = RetrySettings(jitter=0.0)


def ok(text: str = "done") -> CallResult:
    return CallResult(None, text=text, session_id="s", usage=Usage(10, 5), cost_usd=0.01)


def fails(code: Code, retry_after: float | None = None, cost: float | None = None) -> CallResult:
    return CallResult(
        code, message=f"it said {code}", retry_after_seconds=retry_after, duration_seconds=5.0, cost_usd=cost
    )


class Models:
    """Scripted models by name, and the order in which they were called."""

    def __init__(self, clock: VirtualClock, **scripts: list[CallResult]) -> None:
        self.clock = clock
        self.scripts = scripts
        self.calls: list[tuple[str, float]] = []
        self.missing: set[str] = set()
        self.seconds = 0.0  # how long each call takes

    def make(self, choice: Choice) -> MockExecutor:
        def validate() -> None:
            if choice.name in self.missing:
                raise AgentUnavailable(f"{choice.executor} was not found", "install it")

        async def run(call: AgentCall, on_event: OnEvent) -> CallResult:
            self.calls.append((choice.name, self.clock.monotonic()))
            script = self.scripts[choice.name]
            result = script.pop(0) if len(script) > 1 else script[0]
            await self.clock.sleep(self.seconds)
            if result.text:
                on_event(TextSaid(result.text))
            return result

        capabilities = Capabilities(resumes=True, takes_our_id=True)
        return MockExecutor(choice.executor, capabilities, run, run, validate)

    @property
    def order(self) -> list[str]:
        return [name for name, _ in self.calls]


class Bench:
    """A worker on virtual time with a real ledger."""

    def __init__(self, home: Path, settings: Settings, **scripts: list[CallResult]) -> None:
        self.clock = VirtualClock()
        self.models = Models(self.clock, **scripts)
        self.home = home
        SqliteJournal(home / "l.db", create=True).close()
        self.ledger = SqliteLedger(home / "l.db")
        self.diary = MemoryDiary()
        stable = Stable(
            selector=ModelSelector(settings.selection.strategy, Random(1)),
            slots=WorkerPool(settings.pools, self.clock),
            host=Host(settings.host, self.clock, lambda: None),
            standing=Standing(self.ledger, settings.retry, self.clock),
            purse=Purse(settings.budget, self.clock, lambda: self.diary),
            plugins=PluginRegistry(),
        )
        attempts = Attempts(settings, {}, self.diary, self.clock, "run", str(home))
        self.worker = CallWorker(settings, self.models.make, attempts, stable, self.clock)

    def call(self, *choices: Choice, task: str = "t-0001", key: str = "k", **more: object) -> Report:
        return asyncio.run(self.carry(*choices, task=task, key=key, **more))

    async def carry(self, *choices: Choice, task: str = "t-0001", key: str = "k", **more: object) -> Report:
        async def fresh(executor: str, how: str, attempts: list[Attempt]) -> str:
            return f"anew {how}"

        order = Order(
            task=TaskId(task),
            key=key,
            phase="implement",
            iteration=1,
            role="implementer",
            pool=ModelPool(choices),
            cwd=str(self.home),
            papers=self.home,
            attempts=[],
            session_for=lambda executor, resumes, attempts: Session(f"id-of-{executor}", begun=False),
            prompt_for=lambda knows, how: f"do it {how}",
            fresh_prompt_for=fresh,
            **more,  # type: ignore[arg-type]
        )
        return await self.worker.carry(order)


def settings(retry: RetrySettings = PLAIN, strategy: str = "priority") -> Settings:
    return Settings(
        retry=retry,
        selection=SelectionSettings(strategy=strategy),  # type: ignore[arg-type]
        host=HostSettings(start_stagger_seconds=0.0),
    )


SONNET = Choice("sonnet", "claude", "claude-sonnet")
GPT = Choice("gpt", "codex", "gpt-5")
FLASH = Choice("flash", "gemini", "gemini-flash")
OPUS = Choice("opus", "claude", "claude-opus", fallback=True)


def test_a_pool_of_four_models_of_three_programs_ends_with_the_good_one(tmp_path: Path) -> None:
    """529s are repeated, a crash too, a quota goes to the fallback at once, and the good one ends it."""
    bench = Bench(
        tmp_path,
        settings(),
        sonnet=[fails(Code.OVERLOADED)],
        gpt=[fails(Code.AGENT_FAILED)],
        flash=[fails(Code.QUOTA_EXCEEDED)],
        opus=[fails(Code.RATE_LIMITED, 7.0), ok()],
    )
    report = bench.call(SONNET, GPT, FLASH, OPUS)
    assert report.result.ok
    assert bench.models.order == ["sonnet"] * 3 + ["gpt"] * 3 + ["flash"] + ["opus"] * 2
    assert [round(at, 3) for _, at in bench.models.calls] == [0, 1, 3, 3, 4, 6, 6, 6, 13]
    assert sum((one.usage for one in bench.diary.attempts), Usage()) == Usage(10, 5)
    assert len(bench.diary.attempts) == 9
    waits = [one for one in bench.diary.notices if isinstance(one, WaitStarted)]
    assert len(waits) == 5


def test_exhaustion_names_every_model_with_its_own_reason(tmp_path: Path) -> None:
    """D13, C32: tried or skipped, each model has its reason, and the calls are bounded."""
    bench = Bench(
        tmp_path,
        settings(RetrySettings(max_retries=0)),
        sonnet=[fails(Code.OVERLOADED)],
        gpt=[fails(Code.AUTH_FAILED)],
        flash=[ok()],
        opus=[fails(Code.RATE_LIMITED, 600.0)],
    )
    bench.models.missing.add("flash")
    report = bench.call(SONNET, GPT, FLASH, OPUS)
    assert report.result.code is Code.MODELS_EXHAUSTED
    assert report.resumes_at is None
    assert bench.models.order == ["sonnet", "gpt", "opus"]
    for words in (
        "3 of at most 4",
        "sonnet: OVERLOADED",
        "gpt: AUTH_FAILED, off",
        "flash: AGENT_NOT_FOUND",
        "opus: RATE_LIMITED",
        "comes back at",
    ):
        assert words in report.result.message, words


def test_one_model_ends_with_its_own_code(tmp_path: Path) -> None:
    """contract.md, Retries: a pool of one gives the task that model's code."""
    bench = Bench(tmp_path, settings(), sonnet=[fails(Code.AGENT_FAILED)])
    report = bench.call(SONNET)
    assert (report.result.code, report.result.message) == (Code.AGENT_FAILED, "it said AGENT_FAILED")
    assert bench.models.order == ["sonnet"] * 3


@pytest.mark.parametrize(
    ("result", "seconds"),
    [
        (fails(Code.RATE_LIMITED, 3600.0), 3600.0),
        (fails(Code.QUOTA_EXCEEDED), 3600.0),
        (fails(Code.QUOTA_EXCEEDED, 86_400.0), 86_400.0),
    ],
)
def test_when_only_limits_stand_in_the_way_the_call_is_deferred_at_once(
    tmp_path: Path, result: CallResult, seconds: float
) -> None:
    """No wait in a loop: one call, and the time at which it makes sense again."""
    bench = Bench(tmp_path, settings(), sonnet=[result])
    began = bench.clock.now()
    report = bench.call(SONNET)
    assert report.result.code is result.code
    assert report.resumes_at == pytest.approx(began + seconds)
    assert len(bench.models.calls) == 1 and bench.clock.monotonic() == 0.0


def test_a_closed_window_stops_everyone_and_one_probe_opens_it(tmp_path: Path) -> None:
    """X1: after the first limit nobody calls until the reset, then one call does, then all do."""
    bench = Bench(tmp_path, settings(), sonnet=[ok(), fails(Code.RATE_LIMITED, 600.0), ok()])

    async def forty() -> list[Report]:
        first = await bench.carry(SONNET, key="a")
        limited = [await bench.carry(SONNET, task=f"t-{n}", key=f"b{n}") for n in range(40)]
        assert first.result.ok
        return limited

    limited = asyncio.run(forty())
    assert [one.result.code for one in limited] == [Code.RATE_LIMITED] * 40
    assert len({one.resumes_at for one in limited}) == 1
    assert len(bench.models.calls) == 2
    bench.clock.advance(601.0)

    async def again() -> list[Report]:
        return list(
            await asyncio.gather(*(bench.carry(SONNET, task=f"t-{n}", key=f"c{n}") for n in range(40)))
        )

    assert all(one.result.ok for one in asyncio.run(again()))
    assert len(bench.models.calls) == 42


def test_a_model_that_refuses_the_key_is_off_for_the_run(tmp_path: Path) -> None:
    """AUTH_FAILED: the walk goes on, and the next call does not try it again."""
    bench = Bench(tmp_path, settings(), sonnet=[fails(Code.AUTH_FAILED)], gpt=[ok()])
    assert bench.call(SONNET, GPT, key="a").result.ok
    assert bench.call(SONNET, GPT, key="b").result.ok
    assert bench.models.order == ["sonnet", "gpt", "gpt"]


def test_a_model_that_failed_three_times_rests(tmp_path: Path) -> None:
    """C43: the breaker opens after three failures, is skipped for ten minutes, then one call tries it."""
    bench = Bench(tmp_path, settings(), sonnet=[fails(Code.OVERLOADED)], gpt=[ok()])
    assert bench.call(SONNET, GPT, key="a").result.ok
    assert bench.call(SONNET, GPT, key="b").result.ok
    assert bench.models.order == ["sonnet"] * 3 + ["gpt", "gpt"]
    bench.clock.advance(601.0)
    bench.models.scripts["sonnet"] = [ok()]
    assert bench.call(SONNET, GPT, key="c").result.ok
    assert bench.models.order[-1] == "sonnet"


def test_the_model_that_holds_the_session_goes_first(tmp_path: Path) -> None:
    """Round-robin does not tear a phase's session apart."""
    bench = Bench(tmp_path, settings(strategy="round-robin"), sonnet=[ok()], gpt=[ok()])
    for key in "abc":
        bench.call(SONNET, GPT, key=key, preferred="gpt")
    assert bench.models.order == ["gpt"] * 3


def test_a_budget_is_overrun_by_one_call_at_most(tmp_path: Path) -> None:
    """X8: the dearer fallback is not started any more when the money is gone."""
    bench = Bench(
        tmp_path,
        settings(RetrySettings(max_retries=1, jitter=0.0)),
        sonnet=[fails(Code.OVERLOADED, cost=0.4)],
        opus=[fails(Code.OVERLOADED, cost=0.9)],
    )
    report = bench.call(SONNET, OPUS, budget_usd=1.0)
    assert report.result.code is Code.BUDGET_EXCEEDED
    assert bench.models.order == ["sonnet", "sonnet", "opus"]
    assert sum(one.cost_usd or 0.0 for one in bench.diary.attempts) == pytest.approx(1.7)


@pytest.mark.parametrize(
    "said", ["API Error: Request rejected (429) · slow down", "You've hit your session limit · resets 3pm"]
)
def test_an_error_that_is_said_as_text_opens_no_window(tmp_path: Path, said: str) -> None:
    """A probe of claude that meets the limit again has said something, but the model has not."""
    limit = CallResult(Code.RATE_LIMITED, "limit", text=said, retry_after_seconds=600.0, duration_seconds=5.0)
    bench = Bench(tmp_path, settings(), sonnet=[limit, limit, ok()])
    assert bench.call(SONNET, key="a").resumes_at is not None
    bench.clock.advance(601.0)
    assert bench.call(SONNET, key="b").resumes_at is not None
    assert not [one for one in bench.diary.notices if isinstance(one, ModelWoke)]
    bench.clock.advance(601.0)
    assert bench.call(SONNET, key="c").result.ok
    assert len([one for one in bench.diary.notices if isinstance(one, ModelWoke)]) == 1
    assert bench.ledger.limits(bench.clock.now()) == []


def test_an_answer_without_a_word_on_the_way_opens_the_window(tmp_path: Path) -> None:
    """An agent that tells nothing before its end has shown with its success that calls get through."""
    silent = CallResult(None, text="", session_id="s")
    bench = Bench(tmp_path, settings(), sonnet=[fails(Code.RATE_LIMITED, 600.0), silent])
    bench.call(SONNET, key="a")
    bench.clock.advance(601.0)
    assert bench.call(SONNET, key="b").result.ok
    assert bench.ledger.limits(bench.clock.now()) == []


def test_short_limits_that_others_probe_do_not_add_calls(tmp_path: Path) -> None:
    """Three calls share a limit of a second: each one makes at most 1 + max_retries calls, as is printed."""
    retry = RetrySettings(max_retries=1, jitter=0.0)
    bench = Bench(tmp_path, settings(retry), sonnet=[fails(Code.RATE_LIMITED, 1.0)])
    bench.models.seconds = 0.5

    async def together() -> list[Report]:
        names = ("t-a", "t-b", "t-c")
        return list(await asyncio.gather(*(bench.carry(SONNET, task=name, key=name) for name in names)))

    reports = asyncio.run(together())
    assert {report.result.code for report in reports} == {Code.RATE_LIMITED}
    assert all(report.resumes_at is not None for report in reports)
    made = Counter(attempt.task for attempt in bench.diary.attempts)
    assert max(made.values()) <= 2
