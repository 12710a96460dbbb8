"""Random histories of the ledger against models with other implementations, with clocks that jump."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ostler.errors import Code
from ostler.model.limits.limit import Closed, Open, Probe
from ostler.model.limits.window import Window
from ostler.store.accounts.file import FILE_NAME
from ostler.store.accounts.sqlite import SqliteAccounts
from ostler.store.sqlite.schema import empty_store
from ostler.store.sqlite.store import SqliteStore

CALLERS = ("ada", "bob")
CODE = Code.RATE_LIMITED
DAY = 86_400
CALLER = st.sampled_from(CALLERS)
BOUNDED = settings(max_examples=30, stateful_step_count=40, deadline=None)


class Machine(RuleBasedStateMachine):
    """The ledgers of two callers on one store, and a clock in whole seconds."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        path = Path(self.directory.name, "ostler.db")
        path.write_bytes(empty_store())
        self.ledgers = {caller: SqliteStore(path).open_ledger() for caller in CALLERS}
        self.accounts = {caller: SqliteAccounts(path.with_name(FILE_NAME)) for caller in CALLERS}
        self.now = 1_700_000_000

    def teardown(self) -> None:
        for ledger in (*self.ledgers.values(), *self.accounts.values()):
            ledger.close()
        self.directory.cleanup()

    @rule(seconds=st.sampled_from([1, 4, 59, 60, 600]))
    def time_passes(self, seconds: int) -> None:
        self.now += seconds

    @rule(seconds=st.sampled_from([-10 * DAY, -61, -30, 3600, 10 * DAY]))
    def the_clock_jumps(self, seconds: int) -> None:
        self.now += seconds

    def void(self, at: float) -> bool:
        return at - self.now > 60

    def leased(self, until: float | None) -> bool:
        return until is not None and 0 < until - self.now <= 120


class LimitMachine(Machine):
    """Windows that are closed, probed and opened."""

    REQUEST = Window("p", "a", "m")
    WINDOWS = (Window("p", "a"), Window("p", "a", "m", "hour"), Window("p", "b"))

    def __init__(self) -> None:
        super().__init__()
        self.ends: dict[Window, int] = {}
        self.noted: dict[Window, int] = {}
        self.leases: dict[Window, tuple[str, int]] = {}

    @rule(caller=CALLER, window=st.sampled_from(WINDOWS), seconds=st.sampled_from([0, 1, 60, 20 * DAY]))
    def meet_a_limit(self, caller: str, window: Window, seconds: int) -> None:
        self.accounts[caller].close_window(window, self.now + seconds, CODE, "", self.now)
        until = self.now + min(seconds, 8 * DAY)
        if window in self.ends and not self.void(self.noted[window]):
            until = max(until, self.ends[window])
        self.ends[window], self.noted[window] = until, self.now
        self.leases.pop(window, None)

    @rule(caller=CALLER)
    def ask(self, caller: str) -> None:
        result = self.accounts[caller].admit([self.REQUEST], caller, self.now)
        met = [one for one in self.WINDOWS[:2] if one in self.ends]
        # A limit from the future has no reliable end, so it is probed.
        last = max((self.ends[window] for window in met if not self.void(self.noted[window])), default=0)
        taken = [window for window in met if self.is_taken(window, caller)]
        if not met:
            assert result == Open()
        elif last > self.now:
            assert result == Closed(last, CODE, "")
        elif taken:
            assert isinstance(result, Closed)
            assert self.now < result.until <= self.now + 5
        else:
            assert result == Probe(tuple(sorted(met, key=lambda window: window.model)))
            self.leases |= dict.fromkeys(met, (caller, self.now + 60))

    def is_taken(self, window: Window, caller: str) -> bool:
        holder, until = self.leases.get(window, (caller, 0))
        return holder != caller and self.leased(until)

    def is_listed(self, window: Window) -> bool:
        is_outdated = max(self.ends[window], self.noted[window] + 8 * DAY) < self.now
        return not self.void(self.noted[window]) and not is_outdated

    @rule(caller=CALLER, window=st.sampled_from(WINDOWS))
    def find_it_open(self, caller: str, window: Window) -> None:
        assert self.accounts[caller].reopen(window) is (window in self.leases)
        if self.leases.pop(window, None):
            del self.ends[window]

    @invariant()
    def all_read_the_same(self) -> None:
        expected = {one: end for one, end in self.ends.items() if self.is_listed(one)}
        for ledger in self.accounts.values():
            assert {limit.window: limit.until for limit in ledger.limits(self.now)} == expected


class RestMachine(Machine):
    """Models that fail, are in cooldown, are tried and recover."""

    CHOICE = st.sampled_from(("x", "y"))

    def __init__(self) -> None:
        super().__init__()
        self.failures: dict[str, int] = {}
        self.failed_at: dict[str, int] = {}
        self.resting: dict[str, int] = {}
        self.trials: dict[str, int] = {}

    def forget(self, choice: str) -> None:
        for kept in (self.failures, self.failed_at, self.resting, self.trials):
            kept.pop(choice, None)

    @rule(caller=CALLER, choice=CHOICE, threshold=st.sampled_from([2, 3]))
    def fail(self, caller: str, choice: str, threshold: int) -> None:
        if choice in self.failures and self.void(self.failed_at[choice]):
            self.forget(choice)
        before = self.resting.get(choice)
        opens = False
        if before is None or before <= self.now:
            self.failures[choice] = self.failures.get(choice, 0) + 1
            self.failed_at[choice] = self.now
            self.trials.pop(choice, None)
            opens = before is not None or self.failures[choice] >= threshold
            if opens:
                self.resting[choice] = self.now + 60
        assert self.ledgers[caller].record_failure(choice, CODE, "", self.now, threshold, 60) is opens

    @rule(caller=CALLER, choice=CHOICE)
    def succeed(self, caller: str, choice: str) -> None:
        self.ledgers[caller].record_success(choice)
        if choice in self.resting or self.failures.get(choice, 0) <= 1:
            self.forget(choice)
        else:
            self.failures[choice] -= 1

    @rule(caller=CALLER, choice=CHOICE)
    def ask(self, caller: str, choice: str) -> None:
        result = self.ledgers[caller].check_cooldown(choice, self.now)
        until = self.resting.get(choice)
        if until is None or self.void(self.failed_at[choice]):
            assert result is None
        elif until > self.now:
            assert result is not None
            assert result.until == until
        elif self.leased(self.trials.get(choice)):
            assert result is not None
            assert result.until is not None
            assert self.now < result.until <= self.now + 5
        else:
            assert result is None
            self.trials[choice] = self.now + 60

    @invariant()
    def all_read_the_same(self) -> None:
        counted = [choice for choice in self.failures if not self.void(self.failed_at[choice])]
        expected = {choice: (self.failures[choice], self.resting.get(choice)) for choice in counted}
        for ledger in self.ledgers.values():
            assert {one.model: (one.failures, one.until) for one in ledger.cooldowns(self.now)} == expected


class RepeatMachine(Machine):
    """Retries per hour."""

    def __init__(self) -> None:
        super().__init__()
        self.spent: list[int] = []

    @rule(caller=CALLER)
    def spend(self, caller: str) -> None:
        counted = [at for at in self.spent if self.now - 3600 < at <= self.now + 60]
        granted = len(counted) < 3
        assert self.ledgers[caller].take_retry(self.now, 3) is granted
        if granted:
            self.spent = [*counted, self.now]


TestLimits, TestRests, TestRepeats = LimitMachine.TestCase, RestMachine.TestCase, RepeatMachine.TestCase
TestLimits.settings = TestRests.settings = TestRepeats.settings = BOUNDED
