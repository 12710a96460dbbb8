"""The accounts of a pool take turns when the settings allow it."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from call_bench import Bench, fails, ok, settings
from ostler.config.settings import LimitsSettings
from ostler.errors import Code
from ostler.model.call import CallResult
from ostler.model.policy.model_config import ModelConfig, ModelPool
from rejected_calls import AT_HOME, GPT, NOW, RESET, SONNET, rejected


class TestRotation:
    def test_another_account_of_the_agent_is_not_used_by_default(self, tmp_path: Path) -> None:
        """The message names the setting, and the call is deferred to the reset."""
        bench = Bench(tmp_path, settings(), sonnet=[rejected()], **{"at-home": [ok()]})
        outcome = bench.call(SONNET, AT_HOME)
        assert (bench.models.order, outcome.resumes_at) == (["sonnet"], RESET)
        assert "limits.rotate_accounts = false" in outcome.result.message

    def test_the_next_call_does_not_use_it_either(self, tmp_path: Path) -> None:
        """A limit that another task met counts like one of its own."""
        bench = Bench(tmp_path, settings(), sonnet=[rejected()], **{"at-home": [ok()]})
        bench.call(SONNET, AT_HOME, task="t-a")
        assert bench.call(SONNET, AT_HOME, task="t-b").resumes_at == RESET
        assert bench.models.order == ["sonnet"]

    @pytest.mark.parametrize("failure", [rejected(), fails(Code.RATE_LIMITED, 600.0)])
    def test_with_the_setting_it_is_used(self, tmp_path: Path, failure: CallResult) -> None:
        """The setting is read at each call."""
        bench = Bench(tmp_path, settings(), sonnet=[failure], **{"at-home": [ok()]})
        assert not bench.call(SONNET, AT_HOME).result.ok
        bench.settings = settings(limits=LimitsSettings(rotate_accounts=True))
        assert bench.call(SONNET, AT_HOME).result.ok
        assert bench.models.order == ["sonnet", "at-home"]

    @pytest.mark.parametrize(
        ("strategy", "limited", "cost", "is_used"),
        [
            ("round-robin", AT_HOME, 50, True),
            ("round-robin", SONNET, 50, False),
            ("priority", AT_HOME, 50, True),
            ("cost-aware", AT_HOME, 1, False),
        ],
    )
    def test_only_the_limit_of_a_preceding_account_counts(
        self, tmp_path: Path, strategy: str, limited: ModelConfig, cost: int, is_used: bool
    ) -> None:
        """Each call and the search for tasks that wait give the same answer, whosever turn it is."""
        pool = (SONNET, replace(AT_HOME, cost_weight=cost))
        scripts = {limited.name: [rejected()]}
        bench = Bench(
            tmp_path, settings(strategy=strategy), **{"sonnet": [ok()], "at-home": [ok()]} | scripts
        )
        bench.call(limited, task="t-first")
        for number in range(3):
            hold = bench.caller._services.availability.find_hold(ModelPool(pool))
            assert (hold is None) is is_used
            assert bench.call(*pool, task=f"t-{number}").result.ok is is_used
        assert bench.models.order.count(limited.name) == 1

    def test_a_limit_that_the_call_has_met_counts(self, tmp_path: Path) -> None:
        """The turn is at the second account, which rejects the call."""
        bench = Bench(
            tmp_path, settings(strategy="round-robin"), sonnet=[ok()], **{"at-home": [rejected(), ok()]}
        )
        outcomes = [bench.call(SONNET, AT_HOME, task=f"t-{number}") for number in range(3)]
        assert [one.result.ok for one in outcomes] == [True, False, True]
        assert bench.models.order == ["sonnet", "at-home", "sonnet"]

    def test_a_task_stays_on_the_account_of_its_session(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path, settings(), sonnet=[rejected()], **{"at-home": [ok()]})
        bench.call(SONNET, task="t-first")
        find_hold = bench.caller._services.availability.find_hold
        assert find_hold(ModelPool((SONNET, AT_HOME))) is not None
        assert find_hold(ModelPool((SONNET, AT_HOME)), preferred="at-home") is None
        assert bench.call(SONNET, AT_HOME, preferred="at-home").result.ok

    def test_another_agent_is_used(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path, settings(), sonnet=[rejected()], gpt=[ok()], **{"at-home": [ok()]})
        assert bench.call(SONNET, AT_HOME, GPT).result.ok
        assert bench.models.order == ["sonnet", "gpt"]

    def test_a_failure_that_is_no_limit_lets_it_continue(self, tmp_path: Path) -> None:
        """A refused login is not a limit."""
        bench = Bench(tmp_path, settings(), sonnet=[fails(Code.AUTH_FAILED)], **{"at-home": [ok()]})
        assert bench.call(SONNET, AT_HOME).result.ok

    def test_another_login_starts_a_new_session(self, tmp_path: Path) -> None:
        """It gets the fresh prompt and another id, and each login resumes its own session later."""
        limits = LimitsSettings(rotate_accounts=True)
        limit = replace(rejected(), session_id="")
        bench = Bench(tmp_path, settings(limits=limits), sonnet=[limit, ok()], **{"at-home": [ok()]})
        assert bench.call(SONNET, AT_HOME).result.ok
        (_, first, _), (name, second, is_resumed) = bench.models.requests
        assert (name, is_resumed) == ("at-home", False)
        assert second.session_id != first.session_id and second.prompt.startswith("anew")
        bench.clock.advance(RESET - NOW)
        attempts = [
            replace(one, session_id=ids) for one, ids in zip(bench.journal.attempts, "ab", strict=True)
        ]
        bench.call(SONNET, AT_HOME, attempts=attempts, key="k2")
        bench.call(AT_HOME, SONNET, attempts=attempts, key="k3")
        later = [(name, call.session_id, resumed) for name, call, resumed in bench.models.requests[2:]]
        assert later == [("sonnet", "a", True), ("at-home", "b", True)]
