"""Calls at a limit: what a rejection closes, who probes, who continues, and what is recorded."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from call_bench import Bench, fails, ok, settings
from ostler.calls.request import CallOutcome
from ostler.config.settings import LimitsSettings, RetrySettings
from ostler.errors import Code
from ostler.model.limits.rejection import JITTER_SECONDS, find_jitter
from ostler.model.limits.window import Window
from ostler.model.notice import ModelRecovered, ProviderUnavailable, RetriesUsedUp
from ostler.model.policy.model_config import ModelConfig, ModelPool
from rejected_calls import GPT, HOME, HOUR, NOW, OPUS, RESET, SONNET, WORK, answers, rejected, window


class TestRejection:
    def test_the_named_window_is_closed_until_its_reset_and_a_jitter(self, tmp_path: Path) -> None:
        """The jitter is the same for each call of an account, and never before the reset."""
        bench = Bench(tmp_path, settings(RetrySettings()), sonnet=[rejected()])
        outcome = bench.call(SONNET)
        jitter = find_jitter(Window("claude@1"))
        assert 0.0 < jitter < JITTER_SECONDS
        assert outcome.resumes_at == pytest.approx(RESET + jitter)
        (limit,) = bench.accounts.limits(NOW)
        assert limit.window == Window("claude@1", "", "*", "five_hour")

    def test_the_task_continues_in_its_session_after_the_reset(self, tmp_path: Path) -> None:
        """The resumed call has the session id of the rejected one, and nothing was failed."""
        bench = Bench(tmp_path, settings(), sonnet=[replace(rejected(), session_id=""), ok()])
        outcome = bench.call(SONNET)
        assert outcome.result.code is Code.QUOTA_EXCEEDED and outcome.resumes_at == RESET
        bench.clock.advance(RESET - NOW)
        assert bench.call(SONNET, attempts=bench.journal.attempts).result.ok
        (_, first, was_resumed), (_, second, is_resumed) = bench.models.requests
        assert (first.session_id, was_resumed) == (second.session_id, False) and is_resumed

    def test_no_call_before_the_reset_and_then_one_probe(self, tmp_path: Path) -> None:
        """Three tasks of two projects: one probe, and the others continue when it was answered."""
        bench = Bench(tmp_path, settings(), sonnet=[rejected(), ok()])
        beside = Bench(tmp_path, settings(), clock=bench.clock, project="q2", sonnet=[ok()])
        outcomes = [one.call(SONNET, task=f"t-{n}") for n in range(3) for one in (bench, beside)]
        assert (len(bench.models.calls), len(beside.models.calls)) == (1, 0)
        assert {one.resumes_at for one in outcomes} == {RESET}
        bench.clock.advance(RESET - NOW)
        bench.models.seconds = beside.models.seconds = 7.0

        async def together() -> list[CallOutcome]:
            calls = (one.run(SONNET, task=f"t-{n}", key=f"{n}") for n in range(3) for one in (bench, beside))
            return list(await asyncio.gather(*calls))

        assert all(one.result.ok for one in asyncio.run(together()))
        times = sorted(at - (RESET - NOW) for one in (bench, beside) for _, at in one.models.calls)[1:]
        assert times[0] == 0.0 and min(times[1:]) >= 7.0

    @pytest.mark.parametrize("code", [Code.RESPONSE_EMPTY, Code.AGENT_FAILED])
    def test_a_probe_without_an_answer_delays_no_other_task(self, code: Code, tmp_path: Path) -> None:
        """The agent crashed or answered nothing: the next task probes at once, not after a minute."""
        once = settings(RetrySettings(max_retries=0, jitter=0.0))
        bench = Bench(tmp_path, once, sonnet=[rejected(), fails(code), ok()])
        bench.call(SONNET)
        bench.clock.advance(RESET - NOW)
        assert bench.call(SONNET, task="t-2").result.code is code
        started = bench.clock.now()
        assert bench.call(SONNET, task="t-3").result.ok
        assert bench.clock.now() == started

    @pytest.mark.parametrize(
        ("model", "is_closed"),
        [
            (OPUS, True),
            (replace(OPUS, model="opus"), True),
            (replace(OPUS, model="anthropic/claude-opus-4.5[1m]"), True),
            (replace(OPUS, login=HOME), False),
            (replace(OPUS, model=""), False),
            (SONNET, False),
        ],
        ids=lambda value: value.model if isinstance(value, ModelConfig) else str(value),
    )
    def test_a_weekly_window_of_a_family(self, tmp_path: Path, model: ModelConfig, is_closed: bool) -> None:
        """It closes the models of the family in that account, under any of their names."""
        bench = Bench(tmp_path, settings(), opus=[rejected(window("seven_day_opus"))])
        bench.call(OPUS)
        held = bench.caller._services.availability.find_hold
        assert (held(ModelPool((model,))) is not None) is is_closed

    def test_the_pool_switches_the_model_inside_the_account(self, tmp_path: Path) -> None:
        """Sonnet is next, although there is a fallback model for a used quota."""
        fallback = replace(GPT, fallback=True)
        bench = Bench(
            tmp_path, settings(), opus=[rejected(window("seven_day_opus"))], sonnet=[ok()], gpt=[ok()]
        )
        assert bench.call(OPUS, SONNET, fallback).result.ok
        assert bench.models.order == ["opus", "sonnet"]

    def test_the_default_model_of_an_agent_is_closed_by_its_own_rejection(self, tmp_path: Path) -> None:
        """Its name does not show its family, but each further call would be rejected too."""
        default = ModelConfig("claude", "claude", "", login=WORK)
        limit = replace(rejected(window("seven_day_opus")), model="claude-opus-4-6")
        bench = Bench(tmp_path, settings(), claude=[limit], opus=[ok()], sonnet=[ok()])
        for number in range(3):
            assert bench.call(default, task=f"t-{number}").resumes_at == RESET
            assert bench.call(OPUS, task=f"t-{number}").resumes_at == RESET
        assert bench.models.order == ["claude"]
        assert bench.call(SONNET).result.ok

    @pytest.mark.parametrize("name", ["claude-sonnet-5", ""])
    def test_a_family_beside_the_window_of_the_account(self, tmp_path: Path, name: str) -> None:
        """The model of no or another family waits for the window of the account, and opus for its own."""
        weekly = window("seven_day_opus", resets_at=RESET + 90 * HOUR)
        model = ModelConfig("m", "claude", name, login=WORK)
        bench = Bench(tmp_path, settings(), m=[rejected(window(), weekly)])
        assert bench.call(model).resumes_at == RESET
        closed = {limit.window.window: limit.window.model for limit in bench.accounts.limits(NOW)}
        assert closed == {"five_hour": "*", "seven_day_opus": "opus"}

    def test_extra_usage_is_probed_after_five_hours(self, tmp_path: Path) -> None:
        """Its reset is that of a month, but the windows of the plan are reset earlier."""
        bench = Bench(tmp_path, settings(), sonnet=[rejected(window("overage", resets_at=NOW + 500 * HOUR))])
        assert bench.call(SONNET).resumes_at == NOW + 5 * HOUR

    def test_an_account_window_closes_every_model_of_the_account(self, tmp_path: Path) -> None:
        """The other agent of the pool continues."""
        bench = Bench(tmp_path, settings(), opus=[rejected()], sonnet=[ok()], gpt=[ok()])
        assert bench.call(OPUS, SONNET, GPT).result.ok
        assert bench.models.order == ["opus", "gpt"]

    def test_without_a_reset_the_probes_get_rarer(self, tmp_path: Path) -> None:
        """After 1, 2, 4, 5, 5 hours: never later than the length of the window."""
        limit = rejected(window(resets_at=None))
        bench = Bench(tmp_path, settings(), sonnet=[limit])
        delays: list[float] = []
        for _ in range(5):
            resumes_at = bench.call(SONNET).resumes_at
            assert resumes_at is not None
            delays.append((resumes_at - bench.clock.now()) / HOUR)
            bench.clock.advance(resumes_at - bench.clock.now())
        assert delays == [1, 2, 4, 5, 5]
        assert len(bench.models.calls) == 5

    @pytest.mark.parametrize("resets_at", [NOW - HOUR, NOW, 0.0, -1.0])
    def test_a_reset_in_the_past_is_probed_soon_and_then_rarer(
        self, tmp_path: Path, resets_at: float
    ) -> None:
        """The clocks differ: no call follows at once, and the delay grows."""
        bench = Bench(tmp_path, settings(), sonnet=[rejected(window(resets_at=resets_at))])
        delays: list[float] = []
        for _ in range(3):
            resumes_at = bench.call(SONNET).resumes_at
            assert resumes_at is not None
            delays.append(resumes_at - bench.clock.now())
            bench.clock.advance(delays[-1])
        assert delays == [60, 120, 240]

    def test_a_reset_in_the_past_is_not_probed_at_once(self, tmp_path: Path) -> None:
        """Also without a wait for limits in the settings: the first probe follows after the usual delay."""
        retry = RetrySettings(jitter=0.0, rate_limit_wait_seconds=0.0)
        bench = Bench(tmp_path, settings(retry), sonnet=[rejected(window(resets_at=NOW))])
        assert bench.call(SONNET).resumes_at == NOW + retry.probe_delay_seconds

    @pytest.mark.parametrize(
        ("resets_at", "longest"), [(NOW + 900 * 86_400, 5 * HOUR), (1e308, 5 * HOUR), (float("inf"), HOUR)]
    )
    def test_a_nonsense_reset_is_cut_to_the_window(
        self, tmp_path: Path, resets_at: float, longest: float
    ) -> None:
        bench = Bench(tmp_path, settings(), sonnet=[rejected(window(resets_at=resets_at))])
        assert bench.call(SONNET).resumes_at == pytest.approx(NOW + longest)

    def test_notices_are_recorded_once_with_window_and_account(self, tmp_path: Path) -> None:
        """One when the window is closed, one when it is open again, whatever the number of tasks."""
        bench = Bench(tmp_path, settings(), sonnet=[rejected(), ok()])
        for number in range(3):
            bench.call(SONNET, task=f"t-{number}")
        bench.clock.advance(RESET - NOW)
        for number in range(3):
            bench.call(SONNET, task=f"t-{number}")
        (closed,) = [one for one in bench.journal.notices if isinstance(one, ProviderUnavailable)]
        assert (closed.account, closed.window, closed.until) == ("claude (~/.work)", "five_hour", RESET)
        assert "claude (~/.work): five-hour limit, no call until " in closed.message
        (opened,) = [one for one in bench.journal.notices if isinstance(one, ModelRecovered)]
        assert (opened.account, opened.window) == ("claude (~/.work)", "five_hour")
        assert "five-hour" in opened.reason


class TestProbe:
    def test_a_slow_answer_keeps_the_others_waiting(self, tmp_path: Path) -> None:
        """A probe of ten minutes without output is the only call, though its lease is a minute."""
        bench = Bench(tmp_path, settings(), sonnet=[rejected(), ok()])
        bench.call(SONNET)
        bench.clock.advance(RESET - NOW)
        bench.models.seconds = 600.0

        async def together() -> list[CallOutcome]:
            tasks = ("t-a", "t-b", "t-c")
            return list(await asyncio.gather(*(bench.run(SONNET, task=task, key=task) for task in tasks)))

        outcomes = asyncio.run(together())
        assert [one.result.ok for one in outcomes].count(True) == 1
        assert len(bench.models.calls) == 2

    def test_an_accepted_request_ends_the_limit_before_the_first_text(self, tmp_path: Path) -> None:
        """The windows that come with an answer prove that the provider accepts calls."""
        silent = replace(answers(resets_at=RESET + 5 * HOUR), text="")
        bench = Bench(tmp_path, settings(), sonnet=[rejected(), silent])
        bench.call(SONNET)
        bench.clock.advance(RESET - NOW)
        assert bench.call(SONNET).result.ok
        assert bench.accounts.limits(bench.clock.now()) == []

    def test_a_rejected_probe_closes_again(self, tmp_path: Path) -> None:
        """The report of a rejected window proves nothing."""
        again = rejected(window(resets_at=RESET + HOUR))
        bench = Bench(tmp_path, settings(), sonnet=[rejected(), again])
        bench.call(SONNET)
        bench.clock.advance(RESET - NOW)
        assert bench.call(SONNET).resumes_at == RESET + HOUR
        assert not [one for one in bench.journal.notices if isinstance(one, ModelRecovered)]


class TestClock:
    @pytest.mark.parametrize("jump", [-30 * 86_400.0, -6 * HOUR, -2 * HOUR])
    def test_after_a_jump_back_one_task_probes(self, tmp_path: Path, jump: float) -> None:
        """The recorded end is unreliable: of ten tasks one makes a call, and its report counts again."""
        bench = Bench(
            tmp_path, settings(), sonnet=[rejected(), rejected(window(resets_at=NOW + jump + HOUR))]
        )
        bench.call(SONNET)
        bench.clock.jump(jump)
        outcomes = [bench.call(SONNET, task=f"t-{number}") for number in range(10)]
        assert len(bench.models.calls) == 2
        assert {one.resumes_at for one in outcomes} == {NOW + jump + HOUR}

    def test_after_a_jump_over_the_reset_and_back(self, tmp_path: Path) -> None:
        """One early probe while the clock is wrong, and one when it is right again."""
        bench = Bench(tmp_path, settings(), sonnet=[rejected()])
        bench.call(SONNET)
        bench.clock.jump(10 * HOUR)
        for number in range(5):
            bench.call(SONNET, task=f"t-{number}")
        assert len(bench.models.calls) == 2
        bench.clock.jump(-10 * HOUR)
        resumes = {bench.call(SONNET, task=f"t-{number}").resumes_at for number in range(5)}
        assert (len(bench.models.calls), resumes) == (3, {RESET})


class TestNotes:
    def test_reports_of_an_attempt_are_recorded(self, tmp_path: Path) -> None:
        """With the account, the family and the name on screens."""
        weekly = window("seven_day_opus", 0.4, RESET, "allowed")
        bench = Bench(
            tmp_path, settings(), opus=[replace(answers(0.5), windows=(*answers(0.5).windows, weekly))]
        )
        bench.call(OPUS)
        found = {use.window: use for use in bench.accounts.windows(NOW)}
        assert found[Window("claude@1", "", "*", "five_hour")].reported.used == 0.5
        assert found[Window("claude@1", "", "opus", "seven_day_opus")].reported.used == 0.4
        assert {use.label for use in found.values()} == {"claude (~/.work)"}

    def test_a_rejection_is_recorded(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path, settings(), sonnet=[rejected()])
        bench.call(SONNET)
        (use,) = bench.accounts.windows(NOW)
        assert use.reported.status == "rejected"


class TestRetryBudget:
    def test_the_notice_is_recorded_once_per_hour_and_project(self, tmp_path: Path) -> None:
        """Each task has the reason in its message; the feed has one notice for all processes."""
        retry = RetrySettings(max_retries=1, jitter=0.0, budget_per_hour=0)
        benches = [Bench(tmp_path, settings(retry), sonnet=[fails(Code.AGENT_FAILED)]) for _ in range(2)]
        for bench in benches:
            outcomes = [bench.call(SONNET, task=f"t-{number}") for number in range(3)]
            assert all("retry.budget_per_hour" in one.result.message for one in outcomes)
        notices = [one for bench in benches for one in bench.journal.notices]
        assert len([one for one in notices if isinstance(one, RetriesUsedUp)]) == 1
        benches[0].clock.advance(HOUR)
        benches[0].call(SONNET)
        notices = benches[0].journal.notices
        assert len([one for one in notices if isinstance(one, RetriesUsedUp)]) == 2


class TestStart:
    """limits.stop_at: a task that has not begun does not start on an account that is nearly used."""

    def test_a_new_task_uses_another_model_of_the_pool(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path, settings(), sonnet=[answers(0.96)], gpt=[ok()])
        bench.call(SONNET, GPT, task="t-a")
        assert bench.call(SONNET, GPT, task="t-b").result.ok
        assert bench.models.order == ["sonnet", "gpt"]

    def test_a_task_that_has_begun_continues(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path, settings(), sonnet=[answers(0.96)])
        bench.call(SONNET)
        assert bench.call(SONNET, attempts=bench.journal.attempts).result.ok

    def test_a_new_task_waits_with_reason_and_time(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path, settings(), sonnet=[answers(0.96)])
        bench.call(SONNET)
        outcome = bench.call(SONNET, task="t-b")
        assert (outcome.result.code, outcome.resumes_at) == (Code.QUOTA_EXCEEDED, RESET)
        assert "five-hour window 96 % used, resets " in outcome.result.message
        assert "limits.stop_at = 0.95" in outcome.result.message
        bench.settings = settings(limits=LimitsSettings(stop_at=0.97))
        assert bench.call(SONNET, task="t-b").result.ok
