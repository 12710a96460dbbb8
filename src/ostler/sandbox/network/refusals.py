"""Records what the proxy refuses: each target once."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ostler.model.policy.sandbox import Refusal, describe_refusal
from ostler.sandbox.network.policy import OnRefusal
from ostler.sandbox.network.rules import Refused

_MAX_RECORDED = 200  # a program that tries every host does not fill the journal
_MAX_REPORTED = 50
MAX_TARGET = 300


class ReportedRefusal(Struct, frozen=True):
    """A refusal that a program inside the sandbox reports, such as the hook of a push."""

    kind: Literal["file", "push"]
    target: str


class Refusals:
    """Passes each refusal on once; `explain` is the sentence for the program."""

    def __init__(self, on_refusal: OnRefusal) -> None:
        self._on_refusal = on_refusal
        self._seen: set[tuple[str, str]] = set()
        self._reported = 0

    def record(self, refusal: Refusal) -> None:
        key = (refusal.kind, refusal.target)
        if key not in self._seen and len(self._seen) < _MAX_RECORDED:
            self._seen.add(key)
            self._on_refusal(refusal)

    def accept_report(self, report: ReportedRefusal) -> bool:
        """Record a refusal that was reported from inside; return whether it is a valid one."""
        target = report.target
        if not target or len(target) > MAX_TARGET or not target.isprintable():
            return False
        if self._reported < _MAX_REPORTED:
            self._reported += 1
            self.record(Refusal(report.kind, target))
        return True


def explain(refused: Refused) -> str:
    """Return the sentence for the program that was refused."""
    found = refused.refusal
    what = describe_refusal(found.kind, found.target)
    why = f": {refused.reason}" if refused.reason else ""
    return f"{what}{why}; to allow it: {found.setting}" if found.setting else f"{what}{why}"
