"""How each model stands: what the settings, this machine, this run and the shared ledger say of it."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from ostler.clock import Clock
from ostler.config.settings import RetrySettings
from ostler.errors import Code, OstlerError
from ostler.executors.protocol import Executor
from ostler.model.call import CallResult
from ostler.model.choice import Choice
from ostler.model.limit import ANY, Closed, Open, Probe, window_of
from ostler.store.ledger import Ledger
from ostler.worker.refusal import Refusal
from ostler.worker.retry import limit_seconds

_LIMITS = (Code.RATE_LIMITED, Code.QUOTA_EXCEEDED)


class Standing:
    """Asked before every attempt and told after it; shared by all calls of a run."""

    def __init__(self, ledger: Ledger, retry: RetrySettings, clock: Clock) -> None:
        self._ledger = ledger
        self._retry = retry
        self._clock = clock
        self._off: dict[str, Refusal] = {}

    def against(self, choice: Choice, make: Callable[[], Executor], alone: bool) -> Refusal | None:
        """What speaks against a model before anything is asked of its provider.

        A model that is the only one is never put to rest: the task's own failures would stop all others.
        """
        if not choice.enabled:
            return Refusal("disabled", Code.MODELS_EXHAUSTED, "")
        if choice.name in self._off:
            return self._off[choice.name]
        try:
            make().validate_availability()
        except OstlerError as error:
            return Refusal("missing", error.code, error.message)
        return self._limited(choice) or (None if alone else self._resting(choice))

    def _limited(self, choice: Choice) -> Refusal | None:
        """The closed window that is the last to open, as far as it is known without asking."""
        now, asked = self._clock.now(), window_of(choice)
        closed = [one for one in self._ledger.limits(now) if one.until > now and one.window.concerns(asked)]
        last = max(closed, key=lambda one: one.until, default=None)
        return None if last is None else Refusal("limited", last.code, last.message, last.until)

    def _resting(self, choice: Choice) -> Refusal | None:
        rest = self._ledger.rest(choice.name, self._clock.now())
        if rest is None:
            return None
        message = f"{rest.failures} failures in a row, the last one {rest.code}"
        return Refusal("resting", rest.code, message, rest.until)

    def admit(self, choice: Choice, who: str) -> Open | Probe | Refusal:
        """Whether the provider may be asked now; after a limit one caller asks for all."""
        admitted = self._ledger.admit([window_of(choice)], who, self._clock.now())
        if isinstance(admitted, Closed):
            return Refusal("limited", admitted.code, admitted.message, admitted.until)
        return admitted

    def answered(self, probe: Probe) -> bool:
        """The provider let a probe through: everyone may ask again; False when it was closed anew since."""
        reopened = [self._ledger.reopen(window) for window in probe.windows]
        return all(reopened)

    def succeeded(self, choice: Choice) -> bool:
        """True when that ends a rest of the model."""
        return self._ledger.succeed(choice.name)

    def failed(self, choice: Choice, result: CallResult) -> Refusal:
        """Write down what everyone should know of a failure; what it says of the model."""
        now, code = self._clock.now(), result.code or Code.UNKNOWN
        retry = self._retry
        self._ledger.fail(
            choice.name, code, result.message, now, retry.breaker_failures, retry.breaker_seconds
        )
        if code not in _LIMITS:
            return Refusal("failed", code, result.message, called=True)
        until = now + limit_seconds(result, retry)
        quota = code is Code.QUOTA_EXCEEDED
        window = replace(window_of(choice, "quota"), model=ANY) if quota else window_of(choice, "requests")
        self._ledger.close_window(window, until, code, result.message, now)
        known = self._limited(choice)  # another call may have heard of a later end
        return Refusal("limited", code, result.message, known.until if known else until, called=True)

    def switch_off(self, choice: Choice, result: CallResult) -> Refusal:
        """Not again in this run: a key that is refused now is refused in a minute too."""
        refusal = Refusal("off", result.code or Code.UNKNOWN, result.message, called=True)
        self._off[choice.name] = refusal
        return refusal

    def may_repeat(self) -> bool:
        """One more repeat, if the hour's are not used up."""
        return self._ledger.spend_repeat(self._clock.now(), self._retry.budget_per_hour)
