"""The price list: which price held when, what tokens cost by it, and when nobody can say."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.config.settings import PriceSettings
from ostler.errors import Code
from ostler.model.attempt import CostSource
from ostler.model.call import CallResult
from ostler.model.usage import Usage
from ostler.worker.price_list import CHECKED, LIST
from ostler.worker.prices import Price, cost_of, plain_name, price_of, settle


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
    """Provider, region, date and version stamp do not change what a model costs."""
    assert plain_name(model) == expected


@pytest.mark.parametrize(
    "model",
    [
        *("", "sonnet", "default", "my-local-model", "gpt-5.3-codex-spark", "claude-opus-9", "gpt-55"),
        *("gemini-2.5-pro-tts", "claude-sonnet", "anthropic/claude-sonnet-4.5:free", "gpt-5-chat-x"),
    ],
)
def test_an_unknown_model_has_no_price(model: str) -> None:
    """A relative of a known model is not that model: no price is guessed."""
    assert price_of(model, NOW) is None


def test_an_older_attempt_keeps_its_older_price() -> None:
    """The price is that of the day; before its first day a model has none."""
    assert price_of("gpt-5.6-luna", at("2026-07-29")) == Price(1.0, 6.0, 0.1, 1.25)
    assert price_of("gpt-5.6-luna", at("2026-07-30")) == Price(0.2, 1.2, 0.02, 0.25)
    assert price_of("gpt-5.6-luna", at("2026-07-08")) is None


def test_without_a_charge_for_writing_the_cache_it_is_input() -> None:
    """Where a provider has no price for cache writes, those tokens are ordinary input."""
    assert price_of("gpt-5", NOW) == Price(1.25, 10.0, 0.125, 1.25)


def test_settings_win_and_the_longest_pattern_wins() -> None:
    """A person's price stands above the list; one model can differ from its family."""
    own = {
        "claude-*": PriceSettings(1, 2),
        "claude-sonnet-4-5": PriceSettings(5, 6, 0.0, 7),
        "anthropic/claude-opus-5.5": PriceSettings(8, 9),
    }
    assert price_of("anthropic/claude-sonnet-4.5", NOW, own) == Price(5, 6, 0.0, 7)
    assert price_of("claude-opus-5-5", NOW, own) == Price(1, 2, 0.1, 1.25)
    assert price_of("anthropic/claude-opus-5.5", NOW, own) == Price(8, 9, 0.8, 10)
    assert price_of("gpt-5", NOW, own) == price_of("gpt-5", NOW)


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
    """With or without provider, with dots or dashes, in capitals or not."""
    assert price_of(model, NOW, {pattern: PriceSettings(1, 2)}) == Price(1, 2, 0.1, 1.25)
    assert price_of("another", NOW, {pattern: PriceSettings(1, 2)}) is None or pattern == "*"


def test_each_kind_of_token_has_its_price() -> None:
    """A million of each kind costs the sum of the four prices."""
    million = 1_000_000
    assert cost_of(Usage(million, million, million, million), Price(1, 2, 4, 8)) == 15
    assert cost_of(Usage(), Price(1, 2, 4, 8)) == 0


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
def test_who_says_what_it_cost(result: CallResult, expected: tuple[float | None, CostSource]) -> None:
    """The agent's word, else tokens by the list, else nobody; a zero for used tokens is no word."""
    assert settle(result, "claude-sonnet-4-5", NOW) == expected


def test_a_persons_price_settles_an_unknown_model() -> None:
    """[prices] makes a local model's cost known, and known to be nothing if they say so."""
    result = CallResult(None, model="local", usage=USED)
    assert settle(result, "", NOW, {"local": PriceSettings(0, 0)}) == (0.0, "priced")


def test_the_list_is_sound() -> None:
    """One price for each model and day, none from the future, none free, cached input never dearer."""
    assert len({(model, since) for model, since, *_ in LIST}) == len(LIST)
    for model, since, tokens_in, tokens_out, read, write in LIST:
        assert since <= CHECKED, model
        assert 0 < read < tokens_in < tokens_out, model
        assert write is None or tokens_in <= write <= 2 * tokens_in, model
        assert price_of(model, NOW) is not None


@given(st.text(max_size=60), st.floats(0, 4e9))
def test_no_name_breaks_it(model: str, moment: float) -> None:
    """Whatever an agent calls its model, there is a price or there is none."""
    price = price_of(model, moment)
    assert price is None or price.input > 0
