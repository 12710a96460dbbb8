"""Validation with sections that Ostler does not have yet: new sections need no change of the loader."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import pytest
from msgspec import Meta, Struct

from ostler.config.layer import LayerValues
from ostler.config.load import build, gather
from ostler.config.source import format_key
from ostler.errors import SettingsInvalid


class Mode(StrEnum):
    SLOW = "slow"
    FAST = "fast"


class Model(Struct, frozen=True):
    name: str
    weight: Annotated[int, Meta(gt=0, lt=10)] = 1
    args: tuple[str, ...] = ()


class Budget(Struct, frozen=True):
    task_usd: Annotated[float, Meta(ge=0)] | None = None
    mode: Mode = Mode.SLOW
    size: int | Literal["auto"] = 1

    def __post_init__(self) -> None:
        if self.mode is Mode.FAST and self.task_usd == 0:
            raise ValueError("fast needs money")


class Pool(Struct, frozen=True):
    size: int


class Tree(Struct, frozen=True):
    models: tuple[Model, ...] = ()
    budget: Budget | None = None
    pools: dict[str, Pool] = {}
    words: dict[str, str] = {}


def read(folder: Path, text: str, environ: dict[str, str] | None = None) -> LayerValues:
    (folder / "ostler.toml").write_text(text)
    return gather(Tree, folder, environ or {}, {})


def mistakes(folder: Path, text: str) -> list[str]:
    with pytest.raises(SettingsInvalid) as caught:
        build(Tree, read(folder, text))
    return caught.value.mistakes


BAD = [
    ("[[models]]\n[[models]]\nname = 'a'\n", ["ostler.toml:1: models[0].name: must be set"]),
    (
        "[[models]]\nnam = 'a'\n",
        [
            "ostler.toml:1: models[0].name: must be set",
            "ostler.toml:2: models[0].nam: unknown setting; did you mean models[0].name?",
        ],
    ),
    (
        "[[models]]\nname = 1\n[[models]]\nname = ''\nweight = 10\nnam = 1\n",
        [
            "ostler.toml:2: models[0].name: expected str, got 1",
            "ostler.toml:5: models[1].weight: expected int > 0 and < 10, got 10",
            "ostler.toml:6: models[1].nam: unknown setting; did you mean models[1].name?",
        ],
    ),
    ("models = [{name = 'a'},\n 3]", ["ostler.toml:1: models[1]: expected a table, got 3"]),
    ("models = 3", ["ostler.toml:1: models: expected a list of tables, got 3"]),
    ("budget = 3", ["ostler.toml:1: budget: expected a table, got 3"]),
    ("[budget]\ntask_usd = -1", ["ostler.toml:2: budget.task_usd: expected float >= 0, got -1"]),
    ("budget.mode = 'x'", ['ostler.toml:1: budget.mode: expected one of "fast", "slow", got "x"']),
    ("budget.size = 'x'", ['ostler.toml:1: budget.size: expected int or "auto", got "x"']),
    ("[pools.a]\n[pools.b]\nsize = 1", ["ostler.toml:1: pools.a.size: must be set"]),
    ("words.a = {}", ["ostler.toml:1: words.a: expected str, got a table"]),
]


@pytest.mark.parametrize(("text", "lines"), BAD, ids=[text for text, _ in BAD])
def test_mistakes_in_any_section(tmp_path: Path, text: str, lines: list[str]) -> None:
    """Mistakes in lists of tables, optional sections, enums and choices are reported like all others."""
    found = mistakes(tmp_path, text)
    assert [line.replace('"slow", "fast"', '"fast", "slow"') for line in found] == lines


def test_two_settings_that_contradict_each_other_are_one_line(tmp_path: Path) -> None:
    """A section's own check is a mistake like any other, not a traceback."""
    found = mistakes(tmp_path, "[budget]\nmode = 'fast'\ntask_usd = 0\n")
    assert found == ["settings: fast needs money - at `$.budget`"]


def test_a_list_of_tables_is_replaced_as_a_whole(tmp_path: Path) -> None:
    """The list of a later layer replaces the earlier one, together with its sources."""
    (tmp_path / "ostler").mkdir()
    user = "[[models]]\nname = 'a'\nargs = ['x']\n[[models]]\nname = 'b'\n"
    (tmp_path / "ostler" / "config.toml").write_text(user)
    reading = read(tmp_path, "\n[[models]]\nname = 'c'\n", {"XDG_CONFIG_HOME": str(tmp_path)})
    assert build(Tree, reading).models == (Model("c"),)
    assert sorted(key for key in reading.sources if key.startswith("models[")) == [
        "models[0]",
        "models[0].name",
    ]
    assert reading.sources["models[0].name"].location == "ostler.toml:3"


def test_required_keys_may_come_from_different_layers(tmp_path: Path) -> None:
    """A section that is begun in one layer and completed in another is valid."""
    reading = read(tmp_path, "[pools.a]\n", {"OSTLER_POOLS__A__SIZE": "4", "OSTLER_BUDGET__SIZE": "auto"})
    tree = build(Tree, reading)
    assert tree.pools == {"a": Pool(4)}
    assert tree.budget == Budget(size="auto")


def test_keys_are_written_as_toml_writes_them() -> None:
    """A key in a message can be copied into the file."""
    assert format_key(("executors", "my agent", "env", "A", 0, "")) == 'executors."my agent".env.A[0].""'
