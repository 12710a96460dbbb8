"""Which model comes next: strategies, fallback, skipped models, and a rotation that calls share."""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ostler.calls.models.selector import ModelSelector, Selection
from ostler.config.settings import Strategy
from ostler.model.policy.model_config import ModelConfig, ModelPool

STRATEGIES: list[Strategy] = ["round-robin", "priority", "cost-aware", "random"]


def pool(text: str) -> ModelPool:
    """`a b:30 c- +d` is a, b with the weight 30, c disabled, and d for fallback."""
    return ModelPool(tuple(choice(word) for word in text.split()))


def choice(word: str) -> ModelConfig:
    name, _, weight = word.strip("+-").partition(":")
    made = ModelConfig(name, "claude", fallback=word.startswith("+"), enabled=not word.endswith("-"))
    return replace(made, cost_weight=int(weight)) if weight else made


def selector(strategy: Strategy = "priority") -> ModelSelector:
    return ModelSelector(strategy, Random(7))


def names(walk: Selection, unusable: str = "") -> str:
    """Return all that the selection still offers when the models of these names cannot be used."""
    found: list[str] = []
    while one := walk.next(lambda model: "missing" if model.name in unusable else ""):
        found.append(one.name)
    return " ".join(found)


ORDERS: list[tuple[Strategy, str, list[str]]] = [
    ("priority", "a b c", ["a b c", "a b c"]),
    ("priority", "+x a +y b", ["a b x y", "a b x y"]),
    ("priority", "a- b +x- +y", ["b y", "b y"]),
    ("round-robin", "a b c", ["a b c", "a b c"]),
    ("cost-aware", "a:90 b:10 c", ["b c a", "b c a"]),
    ("cost-aware", "a b:50 c:49 d", ["c a b d", "c a b d"]),
    ("cost-aware", "+x:1 a:90 +y:2 b:80", ["b a x y", "b a x y"]),
    ("random", "a", ["a", "a"]),
    ("priority", "+x +y", ["x y", "x y"]),
    ("priority", "a- +x-", ["", ""]),
    ("round-robin", "", ["", ""]),
]


@pytest.mark.parametrize(("strategy", "text", "walks"), ORDERS)
def test_the_order_of_whole_walks(strategy: Strategy, text: str, walks: list[str]) -> None:
    """Each strategy skips tried models; fallback models come last, disabled ones never."""
    chooser = selector(strategy)
    assert [names(chooser.select_from(pool(text))) for _ in walks] == walks


FIRSTS: list[tuple[Strategy, str, str]] = [
    ("round-robin", "a b c", "a b c a b c a"),
    ("round-robin", "a b- c +x", "a c a c a c a"),
    ("round-robin", "+x +y", "x y x y x y x"),
    ("priority", "a b c", "a a a a a a a"),
    ("cost-aware", "a b:1 c", "b b b b b b b"),
]


@pytest.mark.parametrize(("strategy", "text", "firsts"), FIRSTS)
def test_with_which_model_one_execution_after_another_begins(
    strategy: Strategy, text: str, firsts: str
) -> None:
    """Round-robin starts with the next model each time; the other strategies always with the same."""
    chooser = selector(strategy)
    found = [chooser.get_next(pool(text)) for _ in firsts.split()]
    assert [one and one.name for one in found] == firsts.split()


def test_random_follows_the_given_chance() -> None:
    """The same seed gives the same order, and over many selections each model is first about as often."""
    text = "a b c d"
    assert names(selector("random").select_from(pool(text))) == names(
        selector("random").select_from(pool(text))
    )
    chooser = selector("random")
    firsts = Counter(one.name for _ in range(400) if (one := chooser.get_next(pool(text))))
    assert len(firsts) == 4
    assert min(firsts.values()) > 60


def test_turns_of_primary_and_fallback_are_apart() -> None:
    """A call that needs no fallback does not advance the rotation of the fallback models."""
    chooser, models = selector("round-robin"), pool("a b +x +y")
    assert names(chooser.select_from(models), unusable="ab") == "x y"
    first = chooser.select_from(models, force_fallback=True).next()
    assert first is not None
    assert first.name == "x"
    assert [chooser.get_next(models) for _ in range(3)] == [choice("a"), choice("b"), choice("a")]
    second = chooser.select_from(models, force_fallback=True).next()
    assert second is not None
    assert second.name == "y"


def test_each_pool_has_its_own_turns() -> None:
    """Two pools with different models have separate rotations."""
    chooser = selector("round-robin")
    found = [chooser.get_next(pool(text)) for text in ("a b", "c d", "a b", "c d", "a b")]
    assert [one and one.name for one in found] == ["a", "c", "b", "d", "a"]


def test_a_model_that_fails_does_not_double_the_load_of_its_neighbour() -> None:
    """The rotation follows the latest model that was offered, so b and c share what a cannot do."""
    chooser, used = selector("round-robin"), Counter[str]()
    for _ in range(60):
        walk = chooser.select_from(pool("a b c"))
        while (one := walk.next()) and one.name == "a":
            walk.set_reason(one, "rate limit")
        used[one.name if one else ""] += 1
    assert used == {"b": 30, "c": 30}


def test_every_model_has_its_reason_in_the_end() -> None:
    """Tried, skipped or disabled: the reasons name all models, in the order of the pool."""
    walk = selector().select_from(pool("a b- c d +x"))
    first = walk.next()
    assert first is not None
    walk.set_reason(first, "HTTP 500 three times")
    assert walk.reasons["d"] == "not tried"
    tried = walk.next(lambda one: "gemini is not installed" if one.name == "c" else "")
    assert tried is not None
    walk.set_reason(tried, "no credit")
    walk.switch_to_fallback()
    last = walk.next(lambda _: "rests until 14:05")
    assert last is None
    assert list(walk.reasons.items()) == [
        ("a", "HTTP 500 three times"),
        ("b", "disabled"),
        ("c", "gemini is not installed"),
        ("d", "no credit"),
        ("x", "rests until 14:05"),
    ]


def test_a_quota_moves_to_the_fallback_at_once() -> None:
    """The remaining primary models are skipped, and the reason names the model without quota."""
    walk = selector().select_from(pool("a b c +x +y"))
    walk.next()
    walk.switch_to_fallback()
    assert names(walk) == "x y"
    assert [walk.reasons[name] for name in "bc"] == ["quota of a"] * 2


def test_a_quota_in_the_fallback_pool_goes_on_there() -> None:
    """There is no third pool; the other fallback models are still tried."""
    walk = selector().select_from(pool("a +x +y"), force_fallback=True)
    walk.next()
    walk.switch_to_fallback()
    assert names(walk) == "y"
    assert walk.reasons["a"] == "only the fallback models were requested"


@pytest.mark.parametrize("text", ["a b", "a b +x-"])
def test_without_a_fallback_pool_nothing_is_passed_over(text: str) -> None:
    """A second account is tried after the first one's quota when there is no fallback."""
    walk = selector().select_from(pool(text))
    walk.next()
    walk.switch_to_fallback()
    assert names(walk) == "b"
    assert names(selector().select_from(pool(text), force_fallback=True)) == "a b"


def test_a_switch_lasts_until_it_is_reset() -> None:
    """Calls start in the fallback pool until the reset; then the rotation starts again."""
    chooser, models = selector("round-robin"), pool("a b +x")
    assert chooser.get_next(models) == choice("a")
    chooser.switch_to_fallback()
    assert names(chooser.select_from(models)) == "x"
    chooser.reset()
    assert names(chooser.select_from(models)) == "a b x"


def test_the_total_leaves_out_what_is_disabled() -> None:
    """Primary and fallback models are counted together."""
    assert ModelSelector.get_total_model_count(pool("a b- +x +y-")) == 2


def test_a_skip_that_raises_consumes_no_model() -> None:
    """A check that raises does not advance the selection."""
    walk = selector().select_from(pool("a b"))

    def broken(_: ModelConfig) -> str:
        raise OSError("probe")

    with pytest.raises(OSError, match="probe"):
        walk.next(broken)
    assert names(walk) == "a b"


MODELS = st.lists(st.tuples(st.booleans(), st.integers(0, 4), st.integers(1, 100)), max_size=8).map(
    lambda rows: ModelPool(
        tuple(
            ModelConfig(f"m{index}", "claude", cost_weight=weight, fallback=fallback, enabled=luck > 0)
            for index, (fallback, luck, weight) in enumerate(rows)
        )
    )
)


@given(
    models=MODELS,
    strategy=st.sampled_from(STRATEGIES),
    force=st.booleans(),
    others=st.lists(st.integers(0, 3), max_size=6),
    skips=st.lists(st.sets(st.integers(0, 7)), max_size=10),
)
def test_every_usable_model_is_offered_once(
    models: ModelPool, strategy: Strategy, force: bool, others: list[int], skips: list[set[int]]
) -> None:
    """For any skipped models in any order: each is offered once or has a reason, primaries first."""
    chooser = selector(strategy)
    for steps in others:
        other = chooser.select_from(models)
        for _ in range(steps):
            other.next()
    walk, offered, skipped = chooser.select_from(models, force), list[ModelConfig](), list[str]()

    def skip(one: ModelConfig) -> str:
        unusable = skips[len(offered)] if len(offered) < len(skips) else set[int]()
        if int(one.name[1:]) not in unusable:
            return ""
        skipped.append(one.name)
        return "resting"

    while one := walk.next(skip):
        offered.append(one)
        chooser.get_next(models)
    seen = [one.name for one in offered] + skipped
    forced = force and any(one.enabled for one in models.fallback)
    expected = [one.name for one in models.models if one.enabled and (one.fallback or not forced)]
    assert sorted(seen) == sorted(expected)
    assert [one.fallback for one in offered] == sorted(one.fallback for one in offered)
    assert list(walk.reasons) == [one.name for one in models.models]
    assert {name for name, reason in walk.reasons.items() if reason == "resting"} == set(skipped)
    assert walk.next() is None


@given(count=st.integers(1, 6), calls=st.integers(0, 60))
def test_calls_side_by_side_share_the_models_evenly(count: int, calls: int) -> None:
    """Many calls at once start with each model equally often, plus or minus one."""
    chooser = selector("round-robin")
    models = pool(" ".join(f"m{number}" for number in range(count)))
    begun = Counter[str]({one.name: 0 for one in models.models})

    async def call() -> None:
        walk = chooser.select_from(models)
        await asyncio.sleep(0)
        one = walk.next()
        assert one is not None
        begun[one.name] += 1
        await asyncio.sleep(0)

    async def run() -> None:
        await asyncio.gather(*(call() for _ in range(calls)))

    asyncio.run(run())
    assert max(begun.values()) - min(begun.values()) <= 1


def test_accounts_of_one_model_take_turns() -> None:
    """Several accounts are several rows, and round-robin rotates over them."""
    rows = tuple(
        ModelConfig(f"sonnet-{name}", "claude", "sonnet", account=name) for name in ("ann", "bob", "cy")
    )
    chooser = selector("round-robin")
    found = [chooser.get_next(ModelPool(rows)) for _ in range(6)]
    assert [one and one.account for one in found] == ["ann", "bob", "cy"] * 2
