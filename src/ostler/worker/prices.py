"""What tokens cost: the price of a model at a time, and the cost of an attempt where its agent named none."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from functools import cache

from msgspec import Struct

from ostler.config.settings import PriceSettings
from ostler.errors import Code
from ostler.model.attempt import CostSource
from ostler.model.call import CallResult
from ostler.model.usage import Usage
from ostler.worker.price_list import LIST

Prices = Mapping[str, PriceSettings]
"""A person's own prices, by model or by a pattern such as `claude-*`."""

_MILLION = 1_000_000
_CLOUD = re.compile(r"^(?:[a-z]{2,6}\.)?(?:anthropic|openai)\.")  # us.anthropic.claude-...
_STAMP = re.compile(r"(?:\[1m\]|-v\d+(?::\d+)?|[-@]20\d{6}|-20\d\d-\d\d-\d\d|[-@]latest|[-@]default)$")
_NEVER_ASKED = (Code.AGENT_NOT_FOUND, Code.AGENT_INCOMPATIBLE, Code.SPAWN_FAILED)


class Price(Struct, frozen=True):
    """Dollars for a million tokens of each kind."""

    input: float
    output: float
    cache_read: float
    cache_write: float


class _Dated(Struct, frozen=True):
    since: date
    price: Price


def price_of(model: str, at: float, overrides: Prices | None = None) -> Price | None:
    """The price that held for the model at this time; None when nobody told us."""
    plain = plain_name(model)
    own = _match(model.lower(), overrides or {})
    if own is not None:
        return _own_price(own)
    day = datetime.fromtimestamp(at, UTC).date()
    held = [dated for dated in _listed().get(plain, ()) if dated.since <= day]
    return max(held, key=lambda dated: dated.since).price if held else None


def cost_of(usage: Usage, price: Price) -> float:
    """The kinds are disjoint: what was read from the cache is not counted as input too."""
    dollars = (
        usage.input_tokens * price.input
        + usage.output_tokens * price.output
        + usage.cache_read_tokens * price.cache_read
        + usage.cache_write_tokens * price.cache_write
    )
    return dollars / _MILLION


def settle(
    result: CallResult, model: str, at: float, overrides: Prices | None = None
) -> tuple[float | None, CostSource]:
    """What an attempt cost, and who says so: its agent, else the price list, else nobody.

    Zero dollars for tokens that were used is what an agent says that knows no price.
    """
    used = result.usage != Usage()
    if result.cost_usd is not None and (result.cost_usd > 0 or not used):
        return result.cost_usd, "reported"
    if result.code in _NEVER_ASKED and not used:
        return 0.0, "none"
    price = price_of(result.model or model, at, overrides) if used else None
    return (cost_of(result.usage, price), "priced") if price else (None, "unknown")


def plain_name(model: str) -> str:
    """The model as the list calls it: without provider, cloud region, date and version stamp."""
    name = _CLOUD.sub("", model.lower().rpartition("/")[2])
    while (shorter := _STAMP.sub("", name)) != name:
        name = shorter
    return name.replace(".", "-") if name.startswith("claude-") else name


def _match(model: str, overrides: Prices) -> PriceSettings | None:
    """The longest pattern wins, so that one model can differ from its family."""
    fitting = [pattern for pattern in overrides if _fits(model, pattern.lower())]
    return overrides[max(fitting, key=len)] if fitting else None


def _fits(model: str, pattern: str) -> bool:
    """A price that names a provider is that provider's alone."""
    plain = plain_name(model)
    names = (model, model.rpartition("/")[2], plain)
    same = "/" not in pattern and plain_name(pattern) == plain
    return same or any(fnmatchcase(name, pattern) for name in names)


def _own_price(own: PriceSettings) -> Price:
    return Price(
        own.input,
        own.output,
        own.input / 10 if own.cache_read is None else own.cache_read,
        own.input * 1.25 if own.cache_write is None else own.cache_write,
    )


@cache
def _listed() -> dict[str, list[_Dated]]:
    known: dict[str, list[_Dated]] = {}
    for model, since, tokens_in, tokens_out, read, write in LIST:
        price = Price(tokens_in, tokens_out, read, tokens_in if write is None else write)
        known.setdefault(plain_name(model), []).append(_Dated(since, price))
    return known
