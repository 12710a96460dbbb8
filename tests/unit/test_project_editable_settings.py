"""The table of settings that the browser may change is complete, short, and denies by default."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ostler.config.checks.shape import Leaf, Map, Rows, Table, shape_of
from ostler.config.descriptions import describe
from ostler.config.load import load_settings
from ostler.config.settings import Settings
from ostler.config.source import KeyPath, format_key
from ostler.model.policy import protection
from ostler.project.settings_files.editable import EDITABLE, is_editable
from ostler.views.settings import view_settings

# What such a key may hold, by its name: a command, a path, an environment, an address, a permission.
DANGEROUS = re.compile(
    r"command|args|env|path|url|host|port|file|home|secret|permission|sandbox|tool|plugin|link|copy|setup"
    r"|executor|remote|branch|target|allow|accept|network|tier|image|gate|phase|prompt|merge|endpoint|label"
)


def leaves(kind: Any = Settings, path: KeyPath = ()) -> Iterator[KeyPath]:
    """Every setting, with the index 0 and the name `x` where there are several."""
    match shape_of(kind):
        case Table(fields=known):
            for name, field in known.items():
                yield from leaves(field.kind, (*path, name))
        case Map(entry=entry):
            yield from leaves(entry, (*path, "x"))
        case Rows(row=row):
            yield from leaves(row, (*path, 0))
        case Leaf():
            yield path


def test_every_entry_is_a_setting() -> None:
    """A renamed setting does not leave its old name in the table."""
    assert sum(is_editable(path) for path in leaves()) == len(EDITABLE)


def test_nothing_dangerous_is_editable() -> None:
    """By its name, in any section; and most settings are not editable at all."""
    editable = [format_key(path) for path in leaves() if is_editable(path)]
    assert [key for key in editable if DANGEROUS.search(key.replace("limits.rotate_accounts", ""))] == []
    assert len(editable) < sum(1 for _ in leaves()) / 4


def test_of_the_protecting_settings_only_the_budgets_are_editable() -> None:
    """A higher budget applies to open tasks after a command; everything else never loosens in a browser."""
    protecting = {setting for setting in protection._FIELDS if "." in setting}
    editable = {format_key(path) for path in leaves() if is_editable(path)}
    assert protecting & editable == {"budget.task_usd", "budget.day_usd"}
    assert not [
        key for key in editable if key.startswith(("sandbox", "gates", "git", "executors", "workspace"))
    ]


@pytest.mark.parametrize(
    "path",
    [
        (),
        ("run",),
        ("run", "jobs", "x"),
        ("models",),
        ("models", 0),
        ("models", 0, "args"),
        ("notify", 0, "url"),
    ],
)
def test_parts_and_neighbours_are_not(path: KeyPath) -> None:
    """Neither a whole table nor a value below or beside an editable one."""
    assert not is_editable(path)


def test_every_editable_setting_has_a_meaning_and_a_control(tmp_path: Path) -> None:
    """So that a page can show it; a value that a variable sets has none."""
    (tmp_path / "ostler.toml").write_text(
        '[pools.x]\nsize = 2\n[[models]]\nname = "a"\nexecutor = "claude"\n[[notify]]\ncommand = ["x"]\n'
    )
    loaded = load_settings(tmp_path, {"OSTLER_RUN__JOBS": "3"})
    views = {one.key: one for one in view_settings(loaded, is_editable)}
    shown = [one for one in views.values() if one.editable]
    assert len(shown) == len(EDITABLE) - 1
    assert all(one.control and one.control.type != "text" and one.meaning for one in shown)
    assert (views["run.jobs"].editable, views["run.jobs"].source) == (False, "OSTLER_RUN__JOBS")
    command = views["notify[0].command"]
    assert (command.editable, command.control) == (False, None)
    assert command.command == "ostler config set 'notify[0].command' x"
    assert describe(("gates", "commands", "anything")) == ""
