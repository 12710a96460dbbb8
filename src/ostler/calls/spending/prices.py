"""Prices of models, and the cost of an attempt whose agent does not report one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from functools import cache

from msgspec import Struct

from ostler.config.settings import PriceSettings
from ostler.errors import Code
from ostler.lazy import lazy_pattern
from ostler.model.attempt import CostSource
from ostler.model.call import CallResult
from ostler.model.usage import Usage

Prices = Mapping[str, PriceSettings]
"""Prices of the settings, by model or by a pattern such as `claude-*`."""

_MILLION = 1_000_000
_CLOUD = lazy_pattern(r"^(?:[a-z]{2,6}\.)?(?:anthropic|openai)\.")  # us.anthropic.claude-...
_STAMP = lazy_pattern(r"(?:\[1m\]|-v\d+(?::\d+)?|[-@]20\d{6}|-20\d\d-\d\d-\d\d|[-@]latest|[-@]default)$")
_NO_MODEL_CALLED = (Code.AGENT_NOT_FOUND, Code.AGENT_INCOMPATIBLE, Code.SPAWN_FAILED)


class Price(Struct, frozen=True):
    """Dollars for a million tokens of each kind."""

    input: float
    output: float
    cache_read: float
    cache_write: float


class _DatedPrice(Struct, frozen=True):
    since: date
    price: Price


def find_price(model: str, at: float, overrides: Prices | None = None) -> Price | None:
    """Return the price of the model at this time; None if it is unknown."""
    override = _find_override(model.lower(), overrides or {})
    if override is not None:
        return _to_price(override)
    day = datetime.fromtimestamp(at, UTC).date()
    prices = _listed_prices().get(normalize_model_name(model), ())
    valid = [dated for dated in prices if dated.since <= day]
    return max(valid, key=lambda dated: dated.since).price if valid else None


def calculate_cost(usage: Usage, price: Price) -> float:
    """Return the cost in dollars; tokens that were read from the cache are not part of the input tokens."""
    dollars = (
        usage.input_tokens * price.input
        + usage.output_tokens * price.output
        + usage.cache_read_tokens * price.cache_read
        + usage.cache_write_tokens * price.cache_write
    )
    return dollars / _MILLION


@cache
def highest_price() -> Price:
    """Return the highest listed price of each kind of token, for tokens of a model without a price."""
    prices = [dated.price for listed in _listed_prices().values() for dated in listed]
    return Price(
        max(one.input for one in prices),
        max(one.output for one in prices),
        max(one.cache_read for one in prices),
        max(one.cache_write for one in prices),
    )


def resolve_cost(
    result: CallResult, model: str, at: float, overrides: Prices | None = None
) -> tuple[float | None, CostSource]:
    """Return the cost of an attempt and its source: the agent, else the price list, else unknown."""
    used = result.usage != Usage()
    # An agent without a price list reports zero dollars for the tokens that it used.
    if result.cost_usd is not None and (result.cost_usd > 0 or not used):
        return result.cost_usd, "reported"
    if result.code in _NO_MODEL_CALLED and not used:
        return 0.0, "none"
    price = find_price(result.model or model, at, overrides) if used else None
    return (calculate_cost(result.usage, price), "priced") if price else (None, "unknown")


def normalize_model_name(model: str) -> str:
    """Return the model's name in the list: without provider, cloud region, date and version."""
    name = _CLOUD.sub("", model.lower().rpartition("/")[2])
    while (shorter := _STAMP.sub("", name)) != name:
        name = shorter
    return name.replace(".", "-") if name.startswith("claude-") else name


def _find_override(model: str, overrides: Prices) -> PriceSettings | None:
    # The longest pattern applies, so that one model can differ from its family.
    matching = [pattern for pattern in overrides if _matches(model, pattern.lower())]
    return overrides[max(matching, key=len)] if matching else None


def _matches(model: str, pattern: str) -> bool:
    normalized = normalize_model_name(model)
    names = (model, model.rpartition("/")[2], normalized)
    # A price that names a provider is only for that provider.
    is_same = "/" not in pattern and normalize_model_name(pattern) == normalized
    return is_same or any(fnmatchcase(name, pattern) for name in names)


def _to_price(settings: PriceSettings) -> Price:
    return Price(
        settings.input,
        settings.output,
        settings.input / 10 if settings.cache_read is None else settings.cache_read,
        settings.input * 1.25 if settings.cache_write is None else settings.cache_write,
    )


@cache
def _listed_prices() -> dict[str, list[_DatedPrice]]:
    prices: dict[str, list[_DatedPrice]] = {}
    for model, since, tokens_in, tokens_out, read, write in PRICE_LIST:
        price = Price(tokens_in, tokens_out, read, tokens_in if write is None else write)
        prices.setdefault(normalize_model_name(model), []).append(_DatedPrice(since, price))
    return prices


PRICES_CHECKED = date(2026, 11, 15)
"""When the list was last compared with the providers' pages."""

_THIS_YEAR = date(2026, 1, 1)  # for models that are older than Ostler
_OPUS_5_5 = _GPT_6 = date(2026, 9, 22)
_GPT_5_6 = date(2026, 7, 9)
_GPT_5_6_CUT = date(2026, 7, 30)

# Dollars per million tokens, as the providers published them. A price is valid from its date until the next
# one of the same model. Where a provider charges more for long prompts, this is the lower price: no agent
# reports the length of each prompt, so a total is a minimum. Models whose price is uncertain are left out;
# [prices] in the settings adds them.
# fmt: off
# model, from, input, output, cache read, cache write (None: charged as input)
PRICE_LIST: tuple[tuple[str, date, float, float, float, float | None], ...] = (
    ("claude-fable-5",      _THIS_YEAR,        10.00,  50.00, 1.000, 12.50),
    ("claude-fable-5-1",    date(2026, 9, 1),  10.00,  50.00, 0.250, 12.50),
    ("claude-opus-5-5",     _OPUS_5_5,          4.00,  20.00, 0.200,  5.00),
    ("claude-opus-5",       date(2026, 7, 24),  5.00,  25.00, 0.500,  6.25),
    ("claude-opus-4-8",     _THIS_YEAR,         5.00,  25.00, 0.500,  6.25),
    ("claude-opus-4-7",     _THIS_YEAR,         5.00,  25.00, 0.500,  6.25),
    ("claude-opus-4-6",     _THIS_YEAR,         5.00,  25.00, 0.500,  6.25),
    ("claude-opus-4-5",     _THIS_YEAR,         5.00,  25.00, 0.500,  6.25),
    ("claude-opus-4-1",     _THIS_YEAR,        15.00,  75.00, 1.500, 18.75),
    ("claude-opus-4",       _THIS_YEAR,        15.00,  75.00, 1.500, 18.75),
    ("claude-sonnet-5-5",   _OPUS_5_5,          2.00,  10.00, 0.200,  2.50),
    ("claude-sonnet-5",     date(2026, 6, 30),  2.00,  10.00, 0.200,  2.50),
    ("claude-sonnet-4-6",   _THIS_YEAR,         3.00,  15.00, 0.300,  3.75),
    ("claude-sonnet-4-5",   _THIS_YEAR,         3.00,  15.00, 0.300,  3.75),
    ("claude-sonnet-4",     _THIS_YEAR,         3.00,  15.00, 0.300,  3.75),
    ("claude-haiku-4-5",    _THIS_YEAR,         1.00,   5.00, 0.100,  1.25),
    ("gpt-6-sol",           _GPT_6,             2.00,  10.00, 0.200,  2.50),
    ("gpt-6-luna",          _GPT_6,             0.10,   0.50, 0.010,  0.125),
    ("gpt-5.6",             _GPT_5_6,           5.00,  30.00, 0.500,  6.25),
    ("gpt-5.6-sol",         _GPT_5_6,           5.00,  30.00, 0.500,  6.25),
    ("gpt-5.6-terra",       _GPT_5_6,           2.50,  15.00, 0.250,  3.125),
    ("gpt-5.6-terra",       _GPT_5_6_CUT,       2.00,  12.00, 0.200,  2.50),
    ("gpt-5.6-luna",        _GPT_5_6,           1.00,   6.00, 0.100,  1.25),
    ("gpt-5.6-luna",        _GPT_5_6_CUT,       0.20,   1.20, 0.020,  0.25),
    ("gpt-5.5",             _THIS_YEAR,         5.00,  30.00, 0.500,  None),
    ("gpt-5.4",             _THIS_YEAR,         2.50,  15.00, 0.250,  None),
    ("gpt-5.4-mini",        _THIS_YEAR,         0.75,   4.50, 0.075,  None),
    ("gpt-5.4-nano",        _THIS_YEAR,         0.20,   1.25, 0.020,  None),
    ("gpt-5.3-codex",       _THIS_YEAR,         1.75,  14.00, 0.175,  None),
    ("gpt-5.2",             _THIS_YEAR,         1.75,  14.00, 0.175,  None),
    ("gpt-5.2-codex",       _THIS_YEAR,         1.75,  14.00, 0.175,  None),
    ("gpt-5.1",             _THIS_YEAR,         1.25,  10.00, 0.125,  None),
    ("gpt-5.1-codex",       _THIS_YEAR,         1.25,  10.00, 0.125,  None),
    ("gpt-5.1-codex-max",   _THIS_YEAR,         1.25,  10.00, 0.125,  None),
    ("gpt-5.1-codex-mini",  _THIS_YEAR,         0.25,   2.00, 0.025,  None),
    ("gpt-5",               _THIS_YEAR,         1.25,  10.00, 0.125,  None),
    ("gpt-5-codex",         _THIS_YEAR,         1.25,  10.00, 0.125,  None),
    ("gpt-5-mini",          _THIS_YEAR,         0.25,   2.00, 0.025,  None),
    ("gpt-5-nano",          _THIS_YEAR,         0.05,   0.40, 0.005,  None),
    ("gemini-3.1-pro-preview", _THIS_YEAR,      2.00,  12.00, 0.200,  None),
    ("gemini-2.5-pro",      _THIS_YEAR,         1.25,  10.00, 0.125,  None),
    ("gemini-2.5-flash",    _THIS_YEAR,         0.30,   2.50, 0.030,  None),
    ("gemini-2.5-flash-lite", _THIS_YEAR,       0.10,   0.40, 0.010,  None),
)
# fmt: on
