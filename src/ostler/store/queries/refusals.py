"""What the sandbox of a task refused, from the notices of the feed."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from ostler.model.policy.sandbox import RefusalKind, RefusedAccess

SELECT_REFUSALS = """
    SELECT body FROM feed WHERE task = $1 AND seq IS NULL AND type = 'access_refused' ORDER BY position"""


class _Refusal(Struct, frozen=True):
    kind: RefusalKind
    target: str
    setting: str = ""


_decode = msgspec.json.Decoder(_Refusal).decode


def count_refusals(bodies: Iterable[bytes]) -> tuple[RefusedAccess, ...]:
    """Return each refused access once, with how many times it was refused."""
    counts: dict[_Refusal, int] = {}
    for body in bodies:
        refusal = _decode(body)
        counts[refusal] = counts.get(refusal, 0) + 1
    return tuple(RefusedAccess(one.kind, one.target, one.setting, n) for one, n in counts.items())
