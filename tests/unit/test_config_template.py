"""The ostler.toml that `ostler init` writes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ostler.config.load import load_settings
from ostler.config.settings import Settings
from ostler.config.template import starter_config


@pytest.mark.parametrize("executor", ["claude", "scripted", "command", "my agent", 'a"b\\', ""])
def test_the_starter_is_valid_and_sets_the_executor(tmp_path: Path, executor: str) -> None:
    """For any name of the agent, the file that init writes can be read."""
    (tmp_path / "ostler.toml").write_text(starter_config(executor))
    assert load_settings(tmp_path, {}).settings.run.executor == executor


def test_every_line_that_is_commented_out_shows_a_default(tmp_path: Path) -> None:
    """Removing a # changes nothing until the value is changed."""
    text = re.sub(r"^# (\w+ = )", r"\1", starter_config("claude"), flags=re.MULTILINE)
    assert text.count("\n#") < starter_config("claude").count("\n#")
    (tmp_path / "ostler.toml").write_text(text)
    loaded = load_settings(tmp_path, {})
    assert loaded.settings.run == Settings().run
    assert loaded.sources["run.jobs"].layer == "project file"
    assert loaded.sources["executors.claude.permissions"].layer == "project file"


def test_the_starter_names_every_section() -> None:
    """The starter file names every section."""
    found = set(re.findall(r"\[(\w+)", starter_config("claude")))
    assert found == set(Settings.__struct_fields__)


def test_the_starter_is_short() -> None:
    """It is about one screen."""
    lines = starter_config("claude").splitlines()
    assert len(lines) <= 26
    assert max(map(len, lines)) <= 100
