"""The circuits of a provider: what a failure closes, and for how long."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ostler.calls.models.availability import ModelAvailability, Unavailable
from ostler.calls.models.circuits import ACCOUNT_CODES, LONGEST_DELAY_SECONDS, OUTAGE_CODES
from ostler.config.settings import ExecutorSettings, RetrySettings
from ostler.errors import Code
from ostler.executors.claude.executor import ClaudeExecutor
from ostler.model.call import CallResult
from ostler.model.limits.limit import Open, Probe
from ostler.model.policy.model_config import ModelConfig, ModelPool
from ostler.process.runner import DefaultCommandRunner
from ostler.store.accounts.sqlite import SqliteAccounts
from ostler.store.sqlite.journal import SqliteJournal
from ostler.store.sqlite.store import SqliteStore
from ostler.testing.virtual_clock import VirtualClock

SONNET = ModelConfig("sonnet", "claude", "sonnet")
OPUS = ModelConfig("opus", "claude", "opus")
OTHER_KEY = ModelConfig("other", "claude", "sonnet", env={"ANTHROPIC_API_KEY": "x"})
OTHER_ACCOUNT = ModelConfig("work", "claude", "sonnet", account="work")
CLAUDE = ClaudeExecutor("claude", ExecutorSettings(), DefaultCommandRunner())


class Bench:
    """The availability of models on a virtual clock."""

    def __init__(self, directory: Path) -> None:
        SqliteJournal(directory / "ostler.db", create=True).close()
        self.clock = VirtualClock()
        self.ledger = SqliteStore(directory / "ostler.db").open_ledger()
        self.accounts = SqliteAccounts(directory / "limits.db")
        self.availability = ModelAvailability(self.ledger, self.accounts, RetrySettings(), self.clock)

    def fail(self, code: Code, model: ModelConfig = SONNET, *, is_retried: bool = False) -> Unavailable:
        result, now = CallResult(code, "no"), self.clock.now()
        return self.availability.record_failure(model, result, CLAUDE, now, is_retried=is_retried)

    def is_open(self, model: ModelConfig) -> bool:
        return self.availability.find_hold(ModelPool((model,))) is None


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.ledger.close()
    made.accounts.close()


def test_the_codes() -> None:
    """A person fixes the account; the others end by themselves."""
    assert set(ACCOUNT_CODES) == {Code.AUTH_FAILED, Code.BILLING}
    assert set(OUTAGE_CODES) == {Code.NETWORK, Code.STREAM_BROKEN, Code.OVERLOADED}


@pytest.mark.parametrize(
    ("code", "closed"),
    [
        (Code.AUTH_FAILED, [SONNET, OPUS]),
        (Code.NETWORK, [SONNET, OPUS]),
        (Code.OVERLOADED, [SONNET]),
        (Code.AGENT_FAILED, []),
    ],
)
def test_what_a_failure_closes(bench: Bench, code: Code, closed: list[ModelConfig]) -> None:
    """The account, or one model of it; never another account or key."""
    bench.fail(code)
    models = (SONNET, OPUS, OTHER_KEY, OTHER_ACCOUNT)
    assert [model for model in models if not bench.is_open(model)] == closed


def test_a_failure_that_is_retried_closes_nothing(bench: Bench) -> None:
    """The call itself tries again first."""
    bench.fail(Code.NETWORK, is_retried=True)
    assert bench.is_open(SONNET)


def test_the_delay_grows_until_a_probe_succeeds(bench: Bench) -> None:
    """15 s, 30 s, ... at most 15 minutes; the first answer ends it, and the next outage begins with 15 s."""
    delays: list[float] = []
    for _ in range(9):
        closed = bench.fail(Code.NETWORK)
        delays.append((closed.until or 0.0) - bench.clock.now())
        bench.clock.advance(delays[-1])
        admission = bench.availability.admit(SONNET, "task")
        assert isinstance(admission, Probe)
    assert delays == [15, 30, 60, 120, 240, 480, *[LONGEST_DELAY_SECONDS] * 3]
    assert bench.availability.reopen_windows(admission)
    assert bench.availability.admit(SONNET, "task") == Open()
    assert bench.fail(Code.NETWORK).until == bench.clock.now() + 15


def test_a_circuit_is_reported_once(bench: Bench) -> None:
    """One call reports it for all tasks, also after failed probes."""
    assert bench.availability.take_report(bench.fail(Code.AUTH_FAILED))
    bench.clock.advance(20)
    assert not bench.availability.take_report(bench.fail(Code.AUTH_FAILED))


def test_a_run_of_a_person_probes_at_once(bench: Bench) -> None:
    """make_due ends the delay of an account, and not that of other causes."""
    bench.fail(Code.AUTH_FAILED)
    bench.fail(Code.OVERLOADED, OTHER_ACCOUNT)
    bench.accounts.make_due(ACCOUNT_CODES, bench.clock.now())
    assert isinstance(bench.availability.admit(SONNET, "task"), Probe)
    assert not bench.is_open(OTHER_ACCOUNT)


def test_the_message_has_the_login_command(bench: Bench) -> None:
    """The person reads what to type."""
    assert bench.fail(Code.AUTH_FAILED).message == "no; log in with: claude auth login"
    assert "billing" in bench.fail(Code.BILLING).message


def test_turns_are_kept(bench: Bench) -> None:
    """Round-robin continues where another process stopped."""
    names = ("a", "b", "c")
    assert bench.ledger.next_turn(names) == 0
    bench.ledger.take_turn(names, "a")
    bench.ledger.take_turn(("x", "y"), "y")
    assert (bench.ledger.next_turn(names), bench.ledger.next_turn(("x", "y"))) == (1, 0)
    bench.ledger.reset_turns()
    assert bench.ledger.next_turn(names) == 0


def test_changed_settings_apply_to_the_next_call(bench: Bench) -> None:
    """A model that was switched off for a wrong id is tried again; waits have their new length."""
    program = ExecutorSettings(command=sys.executable)
    claude = ClaudeExecutor("claude", program, DefaultCommandRunner())

    def check() -> Unavailable | None:
        return bench.availability.check(SONNET, lambda: claude, is_only_model=True)

    bench.availability.disable_for_run(SONNET, CallResult(Code.MODEL_NOT_FOUND, "no such model"))
    assert check() is not None
    bench.availability.apply(RetrySettings(rate_limit_wait_seconds=700))
    assert check() is None
    until = bench.fail(Code.RATE_LIMITED).until
    assert until is not None and until >= bench.clock.now() + 700
