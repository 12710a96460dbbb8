"""`ostler cost`: what was spent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ostler.views.cost.summary import GROUPS
from world import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path, cost_usd=0.25)
    yield world
    world.close()


def test_an_empty_project_shows_a_message(world: World) -> None:
    """Before the first attempt there is one sentence, and an empty list for scripts."""
    world.new()
    assert world.ostler("cost").stdout == "No attempt has ended yet.\n"
    shown = world.json("cost")
    assert (shown["schema"], shown["lines"], shown["total"]["cost_usd"]) == ("ostler.cost/1", [], None)


def test_what_two_tasks_cost(world: World) -> None:
    """In each grouping the sum is that of all attempts; the screen fits into 80 columns."""
    tasks = [world.new("Add a greeting to the page"), world.new("Add a farewell to the page")]
    world.ostler("run", *tasks)
    for group in GROUPS:
        shown = world.json("cost", "--by", group)
        assert sum(line["attempts"] for line in shown["lines"]) == 2
        assert shown["total"]["cost_usd"] == pytest.approx(0.5)
        assert shown["total"]["usage"]["cache_read_tokens"] == 4
    printed = world.ostler("cost", COLUMNS="80", OSTLER_BUDGET__DAY_USD="0.6").stdout
    assert max(map(len, printed.splitlines())) <= 80
    assert all(task in printed for task in tasks)
    assert "$0.50, reported by the agents." in printed
    assert "Today: $0.50 of $0.60 (83 %); P3 to P4 wait until tomorrow." in printed
    assert world.ostler("cost", "--since", "2999-01-01").stdout == "No attempt has ended since 2999-01-01.\n"
    assert len(world.json("cost", "--since", "2026-01-01")["lines"]) == 2


@pytest.mark.parametrize("args", [("--since", "tomorrow"), ("--by", "weather")])
def test_what_cannot_be_asked(world: World, args: tuple[str, str]) -> None:
    """A mistake is one sentence and exit 2."""
    world.new()
    assert args[1] in world.ostler("cost", *args, code=2).stderr


@pytest.mark.parametrize("usd", ["0", "-1", "nan", "inf", "much"])
def test_a_budget_is_more_than_nothing(world: World, usd: str) -> None:
    """new refuses an invalid budget, and creates no task."""
    world.ostler("new", "Add a greeting", f"--budget-usd={usd}", code=2)
    assert world.json("status", code=None).get("tasks", []) == []


def test_a_tasks_budget_is_shown(world: World) -> None:
    """show has the task's budget, its cost and the source of the cost."""
    task = world.new("Add a greeting", "--budget-usd", "1.5")
    assert "Budget: $1.50." in world.ostler("show", task).stdout
    world.ostler("run", task)
    printed = world.ostler("show", task).stdout
    assert "$0.25, reported by the agents." in printed
    attempt = world.show(task)["attempts"][0]
    assert (attempt["cost_usd"], attempt["cost_source"]) == (pytest.approx(0.25), "reported")
