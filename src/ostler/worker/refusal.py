"""Why a model of the pool was not used, or did not help; and what all of that means for the call."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from ostler.clock import local_time
from ostler.errors import Code
from ostler.model.choice import Choice, ModelPool

Kind = Literal["failed", "limited", "resting", "off", "missing", "disabled", "passed over"]
_COMES_BACK: tuple[Kind, ...] = ("limited", "resting")


class Refusal(Struct, frozen=True):
    """What stands between a call and one model."""

    kind: Kind
    code: Code
    message: str
    until: float | None = None  # when it may work again
    called: bool = False  # it was tried in this call

    @property
    def comes_back(self) -> bool:
        return self.kind in _COMES_BACK and self.until is not None

    def __str__(self) -> str:
        when = f" until {local_time(self.until, time.time())}" if self.comes_back and self.until else ""
        what = {
            "failed": str(self.code),
            "limited": f"{self.code}{when}",
            "resting": f"rests{when}",
            "off": f"{self.code}, off for this run",
            "missing": str(self.code),
        }
        said = what.get(self.kind, self.kind)
        return f"{said} ({self.message})" if self.message else said


class Exhaustion(Struct, frozen=True):
    """How a call ends that no model could carry."""

    code: Code
    message: str
    resumes_at: float | None = None  # set: only limits stand in the way


def exhaustion(pool: ModelPool, refusals: Mapping[str, Refusal], calls: int, bound: int) -> Exhaustion:
    """One model: its own reason. Several: one sentence that names them all."""
    known = [(one, refusals[one.name]) for one in pool.choices if one.name in refusals]
    back = [refusal for _, refusal in known if refusal.comes_back]
    only_limits = bool(back) and not any(refusal.kind == "failed" for _, refusal in known)
    first = min(back, key=lambda one: one.until or 0.0, default=None)
    resumes_at = first.until if first and only_limits else None
    if len(pool.choices) == 1:
        (_, refusal) = known[0]
        return Exhaustion(refusal.code, refusal.message, resumes_at)
    code = first.code if first and only_limits else Code.MODELS_EXHAUSTED
    return Exhaustion(code, _sentence(known, first, calls, bound), resumes_at)


def _sentence(known: list[tuple[Choice, Refusal]], first: Refusal | None, calls: int, bound: int) -> str:
    each = "; ".join(f"{choice.name}: {refusal}" for choice, refusal in known)
    back = (
        f"; the first comes back at {local_time(first.until, time.time())}" if first and first.until else ""
    )
    return f"no model is left after {calls} of at most {bound} calls: {each}{back}"
