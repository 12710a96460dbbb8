"""Whether a model can be used now, and why not: settings, installed program, limits and cooldowns."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ostler.calls.models.circuits import (
    CIRCUITS,
    LONGEST_DELAY_SECONDS,
    circuit_window,
    describe_fix,
    first_delay,
)
from ostler.calls.models.retry import get_limit_seconds
from ostler.calls.models.rotation import explain_rotation, find_other_account
from ostler.calls.models.selector import list_preceding
from ostler.calls.models.start_policy import find_start_holds, has_start_holds, leave_out_closed
from ostler.calls.models.window_notes import WindowNotes
from ostler.clock import Clock, format_local_time
from ostler.config.settings import RetrySettings, Settings
from ostler.errors import Code, OstlerError, is_provider_limit, needs_account_fix
from ostler.executors.exit_status import result_from_error
from ostler.executors.protocol import Executor
from ostler.model.call import CallResult
from ostler.model.limits.limit import (
    Closed,
    Cooldown,
    Limit,
    Open,
    Probe,
    check_admission,
    window_for,
    windows_for,
)
from ostler.model.limits.rejection import Closing, find_closings
from ostler.model.limits.window import ReportedWindow, Window
from ostler.model.policy.model_config import ModelConfig, ModelPool
from ostler.model.task import Priority
from ostler.store.accounts.ledger import AccountLedger
from ostler.store.ledger import Ledger

Reason = Literal["failed", "limited", "held", "down", "cooldown", "off", "missing", "disabled", "skipped"]
"""limited: the provider refuses calls; held: calls are possible, but the settings let no new task start."""

_RECOVERING: tuple[Reason, ...] = ("limited", "held", "down", "cooldown")


class Unavailable(Struct, frozen=True):
    """Why a model cannot be used now."""

    reason: Reason
    code: Code
    message: str
    until: float | None = None  # when it may work again
    called: bool = False  # it was tried in this call
    window: Window | None = None  # that this call has closed
    is_probed: bool = False  # another call is probing it
    cooldown_until: float | None = None  # end of the cooldown that this failure has started

    @property
    def recovers(self) -> bool:
        return self.reason in _RECOVERING and self.until is not None

    @property
    def is_limit(self) -> bool:
        """Whether a limit of its account prevents the call, and not a failure."""
        return self.reason in ("limited", "held")

    def __str__(self) -> str:
        until = f" until {format_local_time(self.until, time.time())}" if self.recovers and self.until else ""
        texts = {
            "failed": str(self.code),
            "limited": f"{self.code}{until}",
            "held": f"not started{until}",
            "down": f"{self.code}, not called{until}",
            "cooldown": f"in cooldown{until}",
            "off": f"{self.code}, off for this run",
            "missing": str(self.code),
        }
        text = texts.get(self.reason, self.reason)
        return f"{text} ({self.message})" if self.message else text


class ModelAvailability:
    """Checks models before an attempt and records its result; shared by all calls of a run."""

    def __init__(
        self,
        ledger: Ledger,
        accounts: AccountLedger,
        retry: RetrySettings,
        clock: Clock,
        *,
        project: str = "",  # with a task's id, the name of a caller for all projects of the user
        has_circuits: bool = True,
        read_settings: Callable[[], Settings] = Settings,  # [limits] and [executors] of this moment
    ) -> None:
        self._ledger = ledger
        self._accounts = accounts
        self._project = project
        self._has_circuits = has_circuits  # false: no task can wait for a provider
        self._retry = retry
        self._clock = clock
        self._read_settings = read_settings
        self._notes = WindowNotes(accounts)
        self._disabled: dict[str, Unavailable] = {}

    def apply(self, retry: RetrySettings) -> None:
        """Use changed settings; models that were switched off are tried again, with what was corrected."""
        self._retry = retry
        self._disabled.clear()

    def check(
        self, model: ModelConfig, make_executor: Callable[[], Executor], is_only_model: bool
    ) -> Unavailable | None:
        """Return why a model cannot be used, without a request to its provider; None if it can.

        The only model of a pool has no cooldown: the failures of one task would stop all other tasks.
        """
        if not model.enabled:
            return Unavailable("disabled", Code.MODELS_EXHAUSTED, "")
        if model.name in self._disabled:
            return self._disabled[model.name]
        try:
            make_executor().validate_availability()
        except OstlerError as error:
            return Unavailable("missing", error.code, result_from_error(error).message)
        return self._check_limits(model) or (None if is_only_model else self._check_cooldown(model))

    def _check_limits(self, model: ModelConfig) -> Unavailable | None:
        """Return the known limit of the model that ends last."""
        now, windows = self._clock.now(), windows_for(model)
        limits = self._accounts.limits(now)
        closed = [one for one in limits if one.until > now and any(map(one.window.applies_to, windows))]
        last = max(closed, key=lambda one: one.until, default=None)
        return None if last is None else _closed(last.code, last.message, last.until)

    def _check_cooldown(self, model: ModelConfig) -> Unavailable | None:
        cooldown = self._ledger.check_cooldown(model.name, self._clock.now())
        return None if cooldown is None else _in_cooldown(cooldown)

    def find_cooldown(self, model: ModelConfig) -> Unavailable | None:
        """Return the cooldown of a model; unlike `check`, this never takes the trial after a cooldown."""
        now = self._clock.now()
        active = (one.find_active(now) for one in self._ledger.cooldowns(now) if one.model == model.name)
        cooldown = next(active, None)
        return None if cooldown is None else _in_cooldown(cooldown)

    def admit(self, model: ModelConfig, caller: str) -> Open | Probe | Unavailable:
        """Return whether the provider may be called now; after a limit one caller probes for all."""
        admission = self._accounts.admit(windows_for(model), f"{self._project}:{caller}", self._clock.now())
        if isinstance(admission, Closed):
            unavailable = _closed(admission.code, admission.message, admission.until)
            return replace(unavailable, is_probed=admission.is_probed)
        return admission

    def release_probe(self, probe: Probe, caller: str) -> None:
        """Let others probe at once: this caller ended without an answer of the provider."""
        self._accounts.release_probe(probe.windows, f"{self._project}:{caller}")

    def find_hold(
        self, pool: ModelPool, priority: Priority = "P2", *, has_begun: bool = True, preferred: str = ""
    ) -> Unavailable | None:
        """Return why no model of the pool may be called now; None when one may, or may be probed.

        No new task starts on an account whose windows are nearly used; one that has begun continues.
        """
        blocked = self.find_blocked(pool, priority, has_begun=has_begun)
        free = (one for one in pool.models if one.enabled and one.name not in blocked)
        if any(self.check_rotation(one, pool, blocked, preferred) is None for one in free):
            return None
        holds = [hold for hold in blocked.values() if hold.recovers]
        # A model that needs a login comes last, as in explain_exhaustion.
        return min(holds, key=lambda hold: (needs_account_fix(hold.code), hold.until or 0.0), default=None)

    def find_blocked(self, pool: ModelPool, priority: Priority, *, has_begun: bool) -> dict[str, Unavailable]:
        """Return the models that may not be called now because of their account, by name."""
        now = self._clock.now()
        limits = self._accounts.limits(now)
        held = {} if has_begun else self.find_start_holds(pool, priority)
        enabled = (one for one in pool.models if one.enabled)
        found = {one.name: _find_closed(one, limits, now) or held.get(one.name) for one in enabled}
        return {name: blocked for name, blocked in found.items() if blocked is not None}

    def find_start_holds(self, pool: ModelPool, priority: Priority) -> dict[str, Unavailable]:
        """Return the models on which no new task starts because of the use of their windows, by name."""
        now, settings = self._clock.now(), self._read_settings().limits
        uses = leave_out_closed(self._accounts.windows(now), self._accounts.limits(now))
        if not has_start_holds(uses, settings):
            return {}
        found = find_start_holds(pool, uses, settings, priority, now)
        return {
            name: Unavailable("held", Code.QUOTA_EXCEEDED, hold.message, hold.until)
            for name, hold in found.items()
        }

    def check_rotation(
        self,
        model: ModelConfig,
        pool: ModelPool,
        unavailable: Mapping[str, Unavailable],
        preferred: str = "",  # the model that has the session of the task
    ) -> Unavailable | None:
        """Return why a model is not used after the limits of others: it is another account of their agent.

        Limits that this call has met count, and those of models that precede it; the limit of a later
        model is no reason to leave an account that is free.
        """
        settings = self._read_settings()
        if settings.limits.rotate_accounts:
            return None
        before = [] if model.name == preferred else list_preceding(model, pool, settings.selection)
        known = [(one, unavailable[one.name]) for one in pool.models if one.name in unavailable]
        limited = [one for one, why in known if why.is_limit and (why.called or one in before)]
        other = find_other_account(model, limited, settings.executors)
        return Unavailable("skipped", Code.QUOTA_EXCEEDED, explain_rotation(other)) if other else None

    def may_hold(self) -> bool:
        """Return whether find_hold may find a reason; cheap, for the common case that it finds none."""
        now = self._clock.now()
        if self._accounts.limits(now):
            return True
        return has_start_holds(self._accounts.windows(now), self._read_settings().limits)

    def note_windows(self, model: ModelConfig, windows: Sequence[ReportedWindow]) -> None:
        """Record how much of its windows the account of a model has used."""
        self._notes.note(model, windows, self._clock.now())

    def reopen_windows(self, probe: Probe) -> bool:
        """End the limits that a probe found open; return False when one was set again in the meantime."""
        reopened = [self._accounts.reopen(window) for window in probe.windows]
        return all(reopened)

    def record_success(self, model: ModelConfig) -> bool:
        """Record a successful attempt; return whether that ends a cooldown of the model."""
        return self._ledger.record_success(model.name)

    def record_failure(
        self,
        model: ModelConfig,
        result: CallResult,
        executor: Executor,
        now: float,
        *,
        is_retried: bool = False,
    ) -> Unavailable:
        """Record a failed attempt for all calls of the store; return what it means for the model.

        A failure of the provider opens its circuit when the call does not retry it.
        """
        code, retry = result.code or Code.UNKNOWN, self._retry
        if self.is_outage(code):
            if is_retried:
                return Unavailable("failed", code, result.message, called=True)
            return self._open_circuit(model, result, code, executor, now)
        if code is Code.QUOTA_EXCEEDED:
            return self._close_quota(model, result, now)
        starts_cooldown = self._ledger.record_failure(
            model.name, code, result.message, now, retry.breaker_failures, retry.breaker_seconds
        )
        cooldown = now + retry.breaker_seconds if starts_cooldown else None
        if not is_provider_limit(code):
            return Unavailable("failed", code, result.message, called=True, cooldown_until=cooldown)
        until, window = now + get_limit_seconds(result, retry), window_for(model, "requests")
        self._accounts.close_window(window, until, code, result.message, now)
        return replace(self._limited(model, result, until, window), cooldown_until=cooldown)

    def _close_quota(self, model: ModelConfig, result: CallResult, now: float) -> Unavailable:
        """Close the windows that rejected the call for all calls of all projects."""
        has_jitter = self._retry.jitter > 0
        soon = max(self._retry.rate_limit_wait_seconds, first_delay(self._retry))
        closings = find_closings(model, result, now, has_jitter=has_jitter, soon_seconds=soon)
        ends = [self._close(closing, result.message, now) for closing in closings]
        return self._limited(model, result, max(ends), closings[0].window)

    def _close(self, closing: Closing, message: str, now: float) -> float:
        code, window = Code.QUOTA_EXCEEDED, closing.window
        if closing.until is not None:
            self._accounts.close_window(window, closing.until, code, message, now)
            return closing.until
        delays = (closing.first_probe_seconds, closing.longest_probe_seconds)
        return self._accounts.open_circuit(window, code, message, now, *delays)

    def _limited(self, model: ModelConfig, result: CallResult, until: float, window: Window) -> Unavailable:
        # Another call may have recorded a limit that ends later.
        known = self._check_limits(model)
        until = known.until if known and known.until else until
        code = result.code or Code.UNKNOWN
        return Unavailable("limited", code, result.message, until, called=True, window=window)

    def _open_circuit(
        self, model: ModelConfig, result: CallResult, code: Code, executor: Executor, now: float
    ) -> Unavailable:
        """Stop all calls that would fail in the same way, until the next probe."""
        window = circuit_window(model, code)
        message = "; ".join(filter(None, (result.message, describe_fix(code, executor))))
        delay = first_delay(self._retry)
        until = self._accounts.open_circuit(window, code, message, now, delay, LONGEST_DELAY_SECONDS)
        return Unavailable("down", code, message, until, called=True, window=window)

    def is_outage(self, code: Code | None) -> bool:
        """Return whether a failure with this code stops all calls to the provider."""
        return self._has_circuits and code in CIRCUITS

    def take_report(self, unavailable: Unavailable) -> bool:
        """Return whether this call reports the closed window to the person: one call does, for all tasks."""
        return unavailable.window is not None and self._accounts.take_report(unavailable.window)

    def disable_for_run(self, model: ModelConfig, result: CallResult) -> Unavailable:
        """Do not use the model again in this run: a key that is rejected once is rejected again."""
        unavailable = Unavailable("off", result.code or Code.UNKNOWN, result.message, called=True)
        self._disabled[model.name] = unavailable
        return unavailable

    def take_retry(self) -> bool:
        """Take one of the retries per hour; return False when none is left."""
        return self._ledger.take_retry(self._clock.now(), self._retry.budget_per_hour)

    def take_retry_report(self) -> bool:
        """Return whether this call reports that the retries are used: one call per hour does."""
        return self._ledger.take_retry_report(self._clock.now())

    def describe_retries_used_up(self) -> str:
        return describe_retries(self._retry.budget_per_hour)


def describe_retries(per_hour: int) -> str:
    """Return why a failure is not retried."""
    if not per_hour:
        return "not retried: retry.budget_per_hour is 0"
    return f"not retried: all {per_hour} retries of the last hour are used (retry.budget_per_hour)"


def _find_closed(model: ModelConfig, limits: Sequence[Limit], now: float) -> Unavailable | None:
    windows = windows_for(model)
    met = [limit for limit in limits if any(map(limit.window.applies_to, windows))]
    admission = check_admission(met, "", now)
    if not isinstance(admission, Closed):
        return None
    return _closed(admission.code, admission.message, admission.until)


def _closed(code: Code, message: str, until: float) -> Unavailable:
    return Unavailable("down" if code in CIRCUITS else "limited", code, message, until)


def _in_cooldown(cooldown: Cooldown) -> Unavailable:
    message = f"{cooldown.failures} failures in a row, the last one {cooldown.code}"
    return Unavailable("cooldown", cooldown.code, message, cooldown.until)


class Exhaustion(Struct, frozen=True):
    """The end of a call that no model could complete."""

    code: Code
    message: str
    resumes_at: float | None = None  # set when only limits and cooldowns prevent the call


def explain_exhaustion(
    pool: ModelPool, unavailable: Mapping[str, Unavailable], attempts: int, max_attempts: int
) -> Exhaustion:
    """Return the reason of a single model, or one message that names all models."""
    known = [(model, unavailable[model.name]) for model in pool.models if model.name in unavailable]
    recovering = [reason for _, reason in known if reason.recovers]
    only_limits = bool(recovering) and not any(reason.reason == "failed" for _, reason in known)
    # A model that needs a login comes last: the others recover by themselves.
    first = min(
        recovering, key=lambda reason: (needs_account_fix(reason.code), reason.until or 0.0), default=None
    )
    resumes_at = first.until if first and only_limits else None
    single = pool.enabled or pool.models
    if len(single) == 1:
        reason = unavailable[single[0].name]
        return Exhaustion(reason.code, reason.message, resumes_at)
    code = first.code if first and only_limits else Code.MODELS_EXHAUSTED
    if all(reason.code is Code.BUDGET_EXCEEDED for _, reason in known):
        code = Code.BUDGET_EXCEEDED
    message = f"no model is left after {attempts} of at most {max_attempts} attempts: "
    message += "; ".join(f"{model.name}: {reason}" for model, reason in known)
    if first and first.until and not needs_account_fix(first.code):
        message += f"; the first is available again at {format_local_time(first.until, time.time())}"
    return Exhaustion(code, message, resumes_at)
