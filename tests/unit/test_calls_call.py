"""One call over a pool of models: the order of the attempts, the waits, and the outcome."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest
from msgspec.structs import replace

from call_bench import Bench, fails, ok, settings
from ostler.calls.request import CallOutcome
from ostler.config.settings import RetrySettings
from ostler.errors import Code
from ostler.model.call import CallResult
from ostler.model.notice import ModelCooldown, ModelRecovered, WaitStarted
from ostler.model.policy.model_config import ModelConfig
from ostler.model.usage import Usage
from ostler.views.describe import describe_fields

SONNET = ModelConfig("sonnet", "claude", "claude-sonnet")
GPT = ModelConfig("gpt", "codex", "gpt-5")
FLASH = ModelConfig("flash", "gemini", "gemini-flash")
OPUS = ModelConfig("opus", "claude", "claude-opus", fallback=True)


def test_a_pool_of_four_models_of_three_programs_ends_with_the_good_one(tmp_path: Path) -> None:
    """529s and crashes are retried, a quota switches to the fallback, and the first success ends the call."""
    bench = Bench(
        tmp_path,
        settings(),
        sonnet=[fails(Code.OVERLOADED)],
        gpt=[fails(Code.AGENT_FAILED)],
        flash=[fails(Code.QUOTA_EXCEEDED)],
        opus=[fails(Code.RATE_LIMITED, 7.0), ok()],
    )
    outcome = bench.call(SONNET, GPT, FLASH, OPUS)
    assert outcome.result.ok
    assert bench.models.order == ["sonnet"] * 3 + ["gpt"] * 3 + ["flash"] + ["opus"] * 2
    assert [round(at, 3) for _, at in bench.models.calls] == [0, 1, 3, 3, 4, 6, 6, 6, 13]
    assert sum((one.usage for one in bench.journal.attempts), Usage()) == Usage(10, 5)
    assert len(bench.journal.attempts) == 9
    waits = [one for one in bench.journal.notices if isinstance(one, WaitStarted)]
    assert len(waits) == 5


def test_exhaustion_names_every_model_with_its_own_reason(tmp_path: Path) -> None:
    """D13, C32: tried or skipped, each model has its reason, and the number of attempts is bounded."""
    bench = Bench(
        tmp_path,
        settings(RetrySettings(max_retries=0)),
        sonnet=[fails(Code.OVERLOADED)],
        gpt=[fails(Code.AUTH_FAILED)],
        flash=[ok()],
        opus=[fails(Code.RATE_LIMITED, 600.0)],
    )
    bench.models.missing.add("flash")
    outcome = bench.call(SONNET, GPT, FLASH, OPUS)
    # Only limits and failures of the providers prevent the call: the task waits for the first of them.
    assert outcome.result.code is Code.OVERLOADED
    assert outcome.resumes_at == bench.clock.now() + RetrySettings().probe_delay_seconds
    assert bench.models.order == ["sonnet", "gpt", "opus"]
    for words in (
        "3 of at most 4",
        "sonnet: OVERLOADED",
        "gpt: AUTH_FAILED, not called",
        "flash: AGENT_NOT_FOUND",
        "opus: RATE_LIMITED",
        "is available again at",
    ):
        assert words in outcome.result.message, words


def test_one_model_ends_with_its_own_code(tmp_path: Path) -> None:
    """contract.md, Retries: a pool of one gives the task that model's code."""
    bench = Bench(tmp_path, settings(), sonnet=[fails(Code.AGENT_FAILED)])
    outcome = bench.call(SONNET)
    assert (outcome.result.code, outcome.result.message) == (Code.AGENT_FAILED, "it said AGENT_FAILED")
    assert bench.models.order == ["sonnet"] * 3


def test_a_disabled_model_does_not_count(tmp_path: Path) -> None:
    """C29: beside a disabled model, a model is the only one: its code, no cooldown, its bound."""
    off = replace(GPT, enabled=False)
    bench = Bench(tmp_path, settings(), sonnet=[fails(Code.TIMEOUT)])
    for _ in range(2):  # the second call would meet a cooldown
        outcome = bench.call(SONNET, off)
        assert (outcome.result.code, outcome.result.message) == (Code.TIMEOUT, "it said TIMEOUT")
    assert bench.models.order == ["sonnet"] * 6
    bench = Bench(tmp_path / "two", settings(RetrySettings(max_retries=0)), sonnet=[fails(Code.AGENT_FAILED)])
    bench.models.missing.add("flash")
    assert "1 of at most 2 attempts" in bench.call(SONNET, off, FLASH).result.message


@pytest.mark.parametrize(
    ("result", "seconds"),
    [
        (fails(Code.RATE_LIMITED, 3600.0), 3600.0),
        (fails(Code.QUOTA_EXCEEDED), 3600.0),
        (fails(Code.QUOTA_EXCEEDED, 86_400.0), 86_400.0),
    ],
)
def test_when_only_limits_block_the_call_is_deferred_at_once(
    tmp_path: Path, result: CallResult, seconds: float
) -> None:
    """There is no waiting loop: one attempt, and the time at which the next one makes sense."""
    bench = Bench(tmp_path, settings(), sonnet=[result])
    began = bench.clock.now()
    outcome = bench.call(SONNET)
    assert outcome.result.code is result.code
    assert outcome.resumes_at == pytest.approx(began + seconds)
    assert len(bench.models.calls) == 1 and bench.clock.monotonic() == 0.0


def test_a_closed_window_stops_everyone_and_one_probe_opens_it(tmp_path: Path) -> None:
    """X1: after the first limit no call is made until the reset, then one call probes, then all continue."""
    bench = Bench(tmp_path, settings(), sonnet=[ok(), fails(Code.RATE_LIMITED, 600.0), ok()])

    async def forty() -> list[CallOutcome]:
        first = await bench.run(SONNET, key="a")
        limited = [await bench.run(SONNET, task=f"t-{n}", key=f"b{n}") for n in range(40)]
        assert first.result.ok
        return limited

    limited = asyncio.run(forty())
    assert [one.result.code for one in limited] == [Code.RATE_LIMITED] * 40
    assert len({one.resumes_at for one in limited}) == 1
    assert len(bench.models.calls) == 2
    bench.clock.advance(601.0)

    async def again() -> list[CallOutcome]:
        return list(await asyncio.gather(*(bench.run(SONNET, task=f"t-{n}", key=f"c{n}") for n in range(40))))

    assert all(one.result.ok for one in asyncio.run(again()))
    assert len(bench.models.calls) == 42


def test_a_model_that_refuses_the_key_is_off_for_the_run(tmp_path: Path) -> None:
    """AUTH_FAILED: the next model is tried, and the next call does not use the first one again."""
    bench = Bench(tmp_path, settings(), sonnet=[fails(Code.AUTH_FAILED)], gpt=[ok()])
    assert bench.call(SONNET, GPT, key="a").result.ok
    assert bench.call(SONNET, GPT, key="b").result.ok
    assert bench.models.order == ["sonnet", "gpt", "gpt"]


def test_a_model_that_failed_three_times_rests(tmp_path: Path) -> None:
    """C43: a cooldown starts after three failures, lasts ten minutes, then one call tries the model."""
    bench = Bench(tmp_path, settings(), sonnet=[fails(Code.OVERLOADED)], gpt=[ok()])
    assert bench.call(SONNET, GPT, key="a").result.ok
    assert bench.call(SONNET, GPT, key="b").result.ok
    assert bench.models.order == ["sonnet"] * 3 + ["gpt", "gpt"]
    bench.clock.advance(601.0)
    bench.models.scripts["sonnet"] = [ok()]
    assert bench.call(SONNET, GPT, key="c").result.ok
    assert bench.models.order[-1] == "sonnet"


def test_the_model_that_holds_the_session_goes_first(tmp_path: Path) -> None:
    """Round-robin does not interrupt the session of a phase."""
    bench = Bench(tmp_path, settings(strategy="round-robin"), sonnet=[ok()], gpt=[ok()])
    for key in "abc":
        bench.call(SONNET, GPT, key=key, preferred="gpt")
    assert bench.models.order == ["gpt"] * 3


def test_a_budget_is_overrun_by_one_call_at_most(tmp_path: Path) -> None:
    """X8: the more expensive fallback is not started when the budget is used up."""
    bench = Bench(
        tmp_path,
        settings(RetrySettings(max_retries=1, jitter=0.0)),
        sonnet=[fails(Code.OVERLOADED, cost=0.4)],
        opus=[fails(Code.OVERLOADED, cost=0.9)],
    )
    outcome = bench.call(SONNET, OPUS, budget_usd=1.0)
    assert outcome.result.code is Code.BUDGET_EXCEEDED
    assert bench.models.order == ["sonnet", "sonnet", "opus"]
    assert sum(one.cost_usd or 0.0 for one in bench.journal.attempts) == pytest.approx(1.7)


@pytest.mark.parametrize(
    "text", ["API Error: Request rejected (429) · slow down", "You've hit your session limit · resets 3pm"]
)
def test_an_error_that_is_printed_as_text_opens_no_window(tmp_path: Path, text: str) -> None:
    """A probe of claude that meets the limit again has output, but not from the model."""
    limit = CallResult(Code.RATE_LIMITED, "limit", text=text, retry_after_seconds=600.0, duration_seconds=5.0)
    bench = Bench(tmp_path, settings(), sonnet=[limit, limit, ok()])
    assert bench.call(SONNET, key="a").resumes_at is not None
    bench.clock.advance(601.0)
    assert bench.call(SONNET, key="b").resumes_at is not None
    assert not [one for one in bench.journal.notices if isinstance(one, ModelRecovered)]
    bench.clock.advance(601.0)
    assert bench.call(SONNET, key="c").result.ok
    assert len([one for one in bench.journal.notices if isinstance(one, ModelRecovered)]) == 1
    assert bench.accounts.limits(bench.clock.now()) == []


def test_an_answer_without_earlier_output_ends_the_limit(tmp_path: Path) -> None:
    """An agent without output before its end proves with its success that the limit has ended."""
    silent = CallResult(None, text="", session_id="s")
    bench = Bench(tmp_path, settings(), sonnet=[fails(Code.RATE_LIMITED, 600.0), silent])
    bench.call(SONNET, key="a")
    bench.clock.advance(601.0)
    assert bench.call(SONNET, key="b").result.ok
    assert bench.accounts.limits(bench.clock.now()) == []


def test_short_limits_that_others_probe_do_not_add_calls(tmp_path: Path) -> None:
    """Three calls share a limit of a second: each makes at most 1 + max_retries attempts, as printed."""
    retry = RetrySettings(max_retries=1, jitter=0.0)
    bench = Bench(tmp_path, settings(retry), sonnet=[fails(Code.RATE_LIMITED, 1.0)])
    bench.models.seconds = 0.5

    async def together() -> list[CallOutcome]:
        names = ("t-a", "t-b", "t-c")
        return list(await asyncio.gather(*(bench.run(SONNET, task=name, key=name) for name in names)))

    outcomes = asyncio.run(together())
    assert {outcome.result.code for outcome in outcomes} == {Code.RATE_LIMITED}
    assert all(outcome.resumes_at is not None for outcome in outcomes)
    made = Counter(attempt.task for attempt in bench.journal.attempts)
    assert max(made.values()) <= 2


def test_a_cooldown_is_recorded_when_it_starts_and_when_it_ends(tmp_path: Path) -> None:
    """One event each (C43, C44); a pool of one model has no cooldown."""
    failed = CallResult(Code.AGENT_FAILED, "broken", duration_seconds=5.0)
    bench = Bench(tmp_path, settings(), sonnet=[failed] * 3 + [ok()], opus=[ok()] * 2)
    assert bench.call(SONNET, OPUS, key="a").result.ok
    (started,) = [one for one in bench.journal.notices if isinstance(one, ModelCooldown)]
    assert (started.model, started.code) == ("sonnet", Code.AGENT_FAILED)
    assert started.message == "sonnet is skipped after failures in a row"
    assert describe_fields(
        {"type": "model_cooldown", "message": started.message, "code": started.code}
    ).endswith("one AGENT_FAILED")
    bench.clock.advance(601.0)
    assert bench.call(SONNET, OPUS, key="b").result.ok
    bench.clock.advance(1.0)
    assert bench.call(SONNET, OPUS, key="c").result.ok
    assert len([one for one in bench.journal.notices if isinstance(one, ModelRecovered)]) == 1
    limited = Bench(tmp_path / "limited", settings(), sonnet=[fails(Code.RATE_LIMITED, 1.0)] * 3, opus=[ok()])
    assert limited.call(SONNET, OPUS, key="a").result.ok
    (started,) = [one for one in limited.journal.notices if isinstance(one, ModelCooldown)]
    assert (started.model, started.code) == ("sonnet", Code.RATE_LIMITED)
    alone = Bench(tmp_path / "alone", settings(), sonnet=[failed] * 3)
    alone.call(SONNET, key="a")
    assert not [one for one in alone.journal.notices if isinstance(one, ModelCooldown)]
