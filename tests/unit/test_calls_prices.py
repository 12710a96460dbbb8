"""The price list: which price was valid when, the cost of tokens, and unknown prices."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.calls.spending.prices import (
    PRICE_LIST,
    PRICES_CHECKED,
    Price,
    calculate_cost,
    find_price,
    normalize_model_name,
    resolve_cost,
)
from ostler.config.settings import PriceSettings
from ostler.errors import Code
from ostler.model.attempt import CostSource
from ostler.model.call import CallResult
from ostler.model.usage import Usage


def at(day: str) -> float:
    return datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()


NOW = at("2026-11-15")


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("claude-sonnet-4-5", "claude-sonnet-4-5"),
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("openrouter/anthropic/claude-opus-5.5", "claude-opus-5-5"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("global.anthropic.claude-opus-4-6-v1", "claude-opus-4-6"),
        ("anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5"),
        ("claude-opus-4-1@20250805", "claude-opus-4-1"),
        ("claude-sonnet-4-5[1m]", "claude-sonnet-4-5"),
        ("Claude-Haiku-4-5-latest", "claude-haiku-4-5"),
        ("openai/gpt-5.1-codex", "gpt-5.1-codex"),
        ("gpt-5-2025-08-07", "gpt-5"),
        ("models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("", ""),
    ],
)
def test_a_model_by_its_plain_name(model: str, expected: str) -> None:
    """Provider, region, date and version do not change the price of a model."""
    assert normalize_model_name(model) == expected


@pytest.mark.parametrize(
    "model",
    [
        *("", "sonnet", "default", "my-local-model", "gpt-5.3-codex-spark", "claude-opus-9", "gpt-55"),
        *("gemini-2.5-pro-tts", "claude-sonnet", "anthropic/claude-sonnet-4.5:free", "gpt-5-chat-x"),
    ],
)
def test_an_unknown_model_has_no_price(model: str) -> None:
    """A model with a similar name is another model: no price is guessed."""
    assert find_price(model, NOW) is None


def test_an_older_attempt_keeps_its_older_price() -> None:
    """The price is that of the day; before its first day a model has none."""
    assert find_price("gpt-5.6-luna", at("2026-07-29")) == Price(1.0, 6.0, 0.1, 1.25)
    assert find_price("gpt-5.6-luna", at("2026-07-30")) == Price(0.2, 1.2, 0.02, 0.25)
    assert find_price("gpt-5.6-luna", at("2026-07-08")) is None


def test_without_a_charge_for_writing_the_cache_it_is_input() -> None:
    """If a provider has no price for cache writes, those tokens are billed as input."""
    assert find_price("gpt-5", NOW) == Price(1.25, 10.0, 0.125, 1.25)


def test_settings_win_and_the_longest_pattern_wins() -> None:
    """A price of the settings takes precedence over the list; one model can differ from its family."""
    own = {
        "claude-*": PriceSettings(1, 2),
        "claude-sonnet-4-5": PriceSettings(5, 6, 0.0, 7),
        "anthropic/claude-opus-5.5": PriceSettings(8, 9),
    }
    assert find_price("anthropic/claude-sonnet-4.5", NOW, own) == Price(5, 6, 0.0, 7)
    assert find_price("claude-opus-5-5", NOW, own) == Price(1, 2, 0.1, 1.25)
    assert find_price("anthropic/claude-opus-5.5", NOW, own) == Price(8, 9, 0.8, 10)
    assert find_price("gpt-5", NOW, own) == find_price("gpt-5", NOW)


@pytest.mark.parametrize(
    ("model", "pattern"),
    [
        ("deepseek/deepseek-v3", "deepseek-v3"),
        ("deepseek/deepseek-v3", "deepseek/deepseek-v3"),
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4.5"),
        ("claude-sonnet-4-5[1m]", "claude-sonnet-4-5[1m]"),
        ("My-Model", "my-model"),
        ("anything/at-all", "*"),
    ],
)
def test_a_person_may_write_the_name_as_they_know_it(model: str, pattern: str) -> None:
    """Names match with or without provider, with dots or dashes, in any case."""
    assert find_price(model, NOW, {pattern: PriceSettings(1, 2)}) == Price(1, 2, 0.1, 1.25)
    assert find_price("another", NOW, {pattern: PriceSettings(1, 2)}) is None or pattern == "*"


def test_each_kind_of_token_has_its_price() -> None:
    """A million of each kind costs the sum of the four prices."""
    million = 1_000_000
    assert calculate_cost(Usage(million, million, million, million), Price(1, 2, 4, 8)) == 15
    assert calculate_cost(Usage(), Price(1, 2, 4, 8)) == 0


USED = Usage(1_000_000, 0)


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (CallResult(None, model="gpt-5", usage=USED, cost_usd=0.3), (0.3, "reported")),
        (CallResult(None, model="gpt-5", usage=USED), (1.25, "priced")),
        (CallResult(None, model="gpt-5", usage=USED, cost_usd=0.0), (1.25, "priced")),
        (CallResult(None, model="nobody-knows", usage=USED, cost_usd=0.0), (None, "unknown")),
        (CallResult(None, model="nobody-knows", usage=USED), (None, "unknown")),
        (CallResult(None, usage=USED), (3.0, "priced")),
        (CallResult(Code.RATE_LIMITED, model="gpt-5", cost_usd=0.0), (0.0, "reported")),
        (CallResult(Code.RATE_LIMITED, model="gpt-5"), (None, "unknown")),
        (CallResult(Code.TIMEOUT, model="gpt-5", usage=USED), (1.25, "priced")),
        (CallResult(Code.AGENT_NOT_FOUND), (0.0, "none")),
        (CallResult(None, model="gpt-5"), (None, "unknown")),
    ],
)
def test_the_cost_has_its_source(result: CallResult, expected: tuple[float | None, CostSource]) -> None:
    """The reported cost, else tokens times the list price, else unknown; zero for used tokens is not a
    report.
    """
    assert resolve_cost(result, "claude-sonnet-4-5", NOW) == expected


def test_a_persons_price_settles_an_unknown_model() -> None:
    """[prices] makes the cost of a local model known, also as zero."""
    result = CallResult(None, model="local", usage=USED)
    assert resolve_cost(result, "", NOW, {"local": PriceSettings(0, 0)}) == (0.0, "priced")


def test_the_list_is_sound() -> None:
    """One price per model and day, none in the future, none free, cached input never more expensive."""
    assert len({(model, since) for model, since, *_ in PRICE_LIST}) == len(PRICE_LIST)
    for model, since, tokens_in, tokens_out, read, write in PRICE_LIST:
        assert since <= PRICES_CHECKED, model
        assert 0 < read < tokens_in < tokens_out, model
        assert write is None or tokens_in <= write <= 2 * tokens_in, model
        assert find_price(model, NOW) is not None


@given(st.text(max_size=60), st.floats(0, 4e9))
def test_no_name_breaks_it(model: str, moment: float) -> None:
    """Every model name has a price or None."""
    price = find_price(model, moment)
    assert price is None or price.input > 0
