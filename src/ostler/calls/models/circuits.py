"""The circuits of a provider: which failures stop all calls to it, for whom, and what a person can do."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from ostler.config.settings import RetrySettings
from ostler.errors import Code, needs_account_fix
from ostler.executors.protocol import Executor
from ostler.model.limits.limit import route_for
from ostler.model.limits.window import Window
from ostler.model.policy.model_config import ModelConfig

LONGEST_DELAY_SECONDS = 900.0  # between two probes of a provider that keeps failing


class Circuit(Struct, frozen=True):
    """A failure that is a property of the provider and not of a task."""

    window: str  # in the ledger; one per account and cause
    is_per_model: bool = False  # other models of the account are not affected


CIRCUITS: dict[Code, Circuit] = {
    Code.AUTH_FAILED: Circuit("login"),
    Code.BILLING: Circuit("billing"),
    Code.NETWORK: Circuit("network"),
    Code.STREAM_BROKEN: Circuit("network"),
    Code.OVERLOADED: Circuit("overloaded", is_per_model=True),
}
ACCOUNT_CODES = tuple(code for code in CIRCUITS if needs_account_fix(code))
OUTAGE_CODES = tuple(code for code in CIRCUITS if not needs_account_fix(code))


def circuit_window(model: ModelConfig, code: Code) -> Window:
    """Return the window that a failure of this model closes."""
    circuit = CIRCUITS[code]
    route = route_for(model, circuit.window)
    return replace(route, model=model.model) if circuit.is_per_model else route


def describe_fix(code: Code, executor: Executor) -> str:
    """Return what a person has to do before the provider answers again; empty if nothing."""
    if code is Code.BILLING:
        return "check the billing of its account"
    if code is not Code.AUTH_FAILED:
        return ""
    # The survey is large, and only a failure needs it.
    from ostler.executors.survey import get_spec  # noqa: PLC0415

    spec = get_spec(executor)
    login = spec.program.login_command if spec else ""
    return f"log in with: {login}" if login else f"log in to {executor.name}, or correct its key"


def first_delay(retry: RetrySettings) -> float:
    """Return the delay before the first probe."""
    return min(retry.probe_delay_seconds, LONGEST_DELAY_SECONDS)
