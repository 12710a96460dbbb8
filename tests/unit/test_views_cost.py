"""The bill by group: nothing is counted twice, and an unknown cost is never zero."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from journal_values import OTHER, TASK, make_attempt
from ostler.config.settings import BudgetSettings
from ostler.model.attempt import Attempt
from ostler.model.usage import Usage
from ostler.store.spending import EndedAttempt, SpentAmount
from ostler.views.cost.summary import GROUPS, GroupBy, as_json, view_budget, view_cost

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC).timestamp()
DAY = 86400.0


def paid(usd: float | None, days_ago: float = 0, **fields: object) -> EndedAttempt:
    ended = replace(make_attempt(), status="succeeded", cost_usd=usd, **fields)
    return EndedAttempt(NOON - days_ago * DAY, ended)


def test_all_parts_of_a_bill() -> None:
    """Tokens by kind, dollars, and which of them are priced, hypothetical or reported by a proxy."""
    ended = [
        paid(1.0, usage=Usage(1, 2, 3, 4), billing="subscription", cost_source="reported"),
        paid(0.5, usage=Usage(10, 20, 30, 40), billing="proxy", cost_source="priced"),
        paid(None, usage=Usage(100, 0), cost_source="unknown"),
    ]
    total = view_cost(ended, "task").total
    assert (total.attempts, total.usage, total.cost_usd) == (3, Usage(111, 22, 33, 44), 1.5)
    assert (total.unknown_attempts, total.priced_usd) == (1, 0.5)
    assert (total.subscription_usd, total.proxy_usd) == (1.0, 0.5)


@pytest.mark.parametrize(
    ("by", "keys"),
    [
        ("task", [OTHER, TASK]),
        ("day", ["2026-11-14", "2026-11-15"]),
        ("model", ["gpt-5", ""]),
        ("executor", ["codex", "claude"]),
        ("phase", ["review", "implement"]),
    ],
)
def test_groups(by: GroupBy, keys: list[str]) -> None:
    """The most expensive group is first; days are in order."""
    dear = paid(9.0, 1, task=OTHER, model="gpt-5", executor="codex", phase="review")
    assert [line.key for line in view_cost([paid(1.0), dear], by, tz=UTC).lines] == keys


def test_a_day_is_that_of_the_place() -> None:
    """An attempt that ends at noon UTC counts for the next day where it is past midnight."""
    view = view_cost([paid(1.0)], "day", tz=timezone(timedelta(hours=13)))
    assert view.lines[0].key == "2026-11-16"


def test_unknown_is_null_and_never_zero() -> None:
    """A group without known costs has no sum; a group that cost nothing has the sum 0."""
    shown = as_json(view_cost([paid(None), paid(0.0, task=OTHER)], "task", NOON))
    lines = {line["key"]: line["cost_usd"] for line in shown["lines"]}  # type: ignore[attr-defined, index]
    assert lines == {TASK: None, OTHER: 0.0}
    assert (shown["schema"], shown["since"]) == ("ostler.cost/1", "2026-11-15T12:00:00.000Z")


def test_nothing_was_spent() -> None:
    """Without attempts there are no lines, and the sum is unknown."""
    view = view_cost([], "task")
    assert (view.lines, view.total.cost_usd, view.since) == ((), None, None)


def test_a_budget_is_shown_where_one_is_set() -> None:
    """Without limits no budget is shown."""
    assert view_budget(BudgetSettings(), SpentAmount(1.0)) is None
    shown = view_budget(BudgetSettings(day_usd=5.0), SpentAmount(1.0, 2))
    assert shown is not None
    assert (shown.today_usd, shown.day_usd, shown.today_unknown_attempts) == (1.0, 5.0, 2)


ATTEMPTS = st.builds(
    lambda usd, task, model, tokens: EndedAttempt(
        NOON, replace(make_attempt(task), cost_usd=usd, model=model, usage=Usage(tokens, 1, 2, 3))
    ),
    st.none() | st.floats(0, 10),
    st.sampled_from([TASK, OTHER]),
    st.sampled_from(["", "gpt-5", "claude-opus-5-5"]),
    st.integers(0, 1000),
)


@given(st.lists(ATTEMPTS, max_size=12), st.sampled_from(GROUPS))
def test_the_lines_add_up_to_the_total(ended: list[EndedAttempt], by: GroupBy) -> None:
    """For any grouping, every attempt, token and dollar is in one line and in the total."""
    view = view_cost(ended, by, tz=UTC)
    assert sum(line.attempts for line in view.lines) == view.total.attempts == len(ended)
    assert sum((line.usage for line in view.lines), Usage()) == view.total.usage
    assert sum(line.unknown_attempts for line in view.lines) == view.total.unknown_attempts
    assert sum(line.cost_usd or 0 for line in view.lines) == pytest.approx(view.total.cost_usd or 0)


def test_an_attempt_shows_the_source_of_its_cost() -> None:
    """Old rows have a cost and no source: the agent reported it."""
    old: Attempt = make_attempt()
    assert (old.known_cost_source, replace(old, cost_usd=1.0).known_cost_source) == ("unknown", "reported")
    assert replace(old, cost_usd=1.0, cost_source="priced").known_cost_source == "priced"
