"""Reads `rate_limit_event`, which claude prints after each answer when it uses a subscription."""

from __future__ import annotations

from msgspec import Raw
from msgspec.json import Decoder

from ostler.executors.agent_json import decode_json
from ostler.model.limits.subscription import SubscriptionReport

_INFO = Decoder(SubscriptionReport)


def read_report(rate_limit_info: Raw) -> SubscriptionReport | None:
    """Return the report about the account; None if it is not one."""
    return decode_json(_INFO, rate_limit_info)
