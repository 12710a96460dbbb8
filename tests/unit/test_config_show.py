"""The rows that `ostler config show` prints."""

from __future__ import annotations

import json
import tomllib
from itertools import groupby
from pathlib import Path

from ostler.config.load import Loaded, load_settings
from ostler.config.settings import Settings
from ostler.config.show import UNSET, Row, as_json, rows


def example(folder: Path) -> Loaded:
    (folder / "ostler.toml").write_text(
        "[run]\njobs = 3\n[executors.'my agent']\nargs = ['a']\nenv.A = '\"'\n"
        "[[models]]\nname = 'a'\nexecutor = 'my agent'\n[models.env]\nMODE = 'fast'\n"
        "[[models]]\nname = 'b'\nexecutor = 'claude'\nfallback = true\n"
        "[prices.'gpt-5.1']\ninput = 1\noutput = 2.5\n"
    )
    return load_settings(folder, {"OSTLER_RETRY__JITTER": "0"}, {"run.model": "opus"})


def as_file(found: list[Row]) -> str:
    """Return the rows as a settings file: unset rows are left out, models[0] is the first [[models]]."""
    in_file = [row for row in found if row.value != UNSET]
    models = [row for row in in_file if row.key.startswith("models[")]
    lines = [f"{row.key} = {row.value}" for row in in_file if row not in models]
    for _, inside in groupby(models, lambda row: row.key.partition(".")[0]):
        lines += ["[[models]]", *(f"{row.key.partition('.')[2]} = {row.value}" for row in inside)]
    return "\n".join(lines)


def test_every_value_with_its_source(tmp_path: Path) -> None:
    """Each row has the key, the value as TOML and the place to change it."""
    found = {row.key: (row.value, row.source) for row in rows(example(tmp_path))}
    assert found["run.jobs"] == ("3", "ostler.toml:2")
    assert found["run.model"] == ('"opus"', "--model")
    assert found["retry.jitter"] == ("0.0", "OSTLER_RETRY__JITTER")
    assert found["git.worktree"] == ("true", "default")
    assert found['executors."my agent".args'] == ('["a"]', "ostler.toml:4")
    assert found['executors."my agent".env.A'] == ('"\\""', "ostler.toml:5")
    assert found["models[0].name"] == ('"a"', "ostler.toml:7")
    assert found["models[0].env.MODE"] == ('"fast"', "ostler.toml:10")
    assert found["models[1].fallback"] == ("true", "ostler.toml:14")
    assert found["models[1].cost_weight"] == ("50", "default")
    assert found['prices."gpt-5.1".output'] == ("2.5", "ostler.toml:17")


def test_the_rows_are_the_settings(tmp_path: Path) -> None:
    """Written to a file, the rows give the same settings."""
    loaded = example(tmp_path)
    text = as_file(rows(loaded))
    tomllib.loads(text)
    (tmp_path / "ostler.toml").write_text(text)
    assert load_settings(tmp_path, {}).settings == loaded.settings
    assert [row.key for row in rows(load_settings(None, {}))][:2] == ["run.executor", "run.model"]


def test_the_json_document_shows_the_same(tmp_path: Path) -> None:
    """A script gets each value as JSON, with its layer and its place."""
    loaded = example(tmp_path)
    document = json.loads(json.dumps(as_json(loaded)))
    assert document["schema"] == "ostler.config/1"
    assert [entry["key"] for entry in document["settings"]] == [row.key for row in rows(loaded)]
    assert document["settings"][2] == {
        "key": "run.jobs",
        "value": 3,
        "layer": "project file",
        "source": "ostler.toml:2",
    }


def test_a_value_that_is_not_set_is_shown_as_unset(tmp_path: Path) -> None:
    """TOML has no null: the text output has (unset), the JSON output has null."""
    loaded = example(tmp_path)
    found = {row.key: row for row in rows(loaded)}
    assert found["budget.day_usd"] == Row("budget.day_usd", "(unset)", "default")
    assert found["models[0].timeout_seconds"].value == "(unset)"
    assert found['prices."gpt-5.1".cache_read'].value == "(unset)"
    reported = {entry["key"]: entry["value"] for entry in as_json(loaded)["settings"]}
    assert reported["budget.day_usd"] is None


def test_an_empty_section_is_shown() -> None:
    """Every setting is in the list."""
    keys = [row.key for row in rows(load_settings(None, {}))]
    assert "executors" in keys
    assert {key.partition(".")[0] for key in keys} == set(Settings.__struct_fields__)


def test_a_secret_of_an_agents_environment_is_not_shown(tmp_path: Path) -> None:
    """A variable that is named like a key is hidden; others are not."""
    (tmp_path / "ostler.toml").write_text(
        "[executors.mine.env]\nAPI_KEY = 's3cret'\nMODE = 'fast'\n"
        "[[models]]\nname = 'a'\nexecutor = 'mine'\nenv.ACCOUNT_TOKEN = 's3cret'\n"
    )
    loaded = load_settings(tmp_path, {})
    found = {row.key: row.value for row in rows(loaded)}
    assert found["executors.mine.env.API_KEY"] == '"(hidden)"'
    assert found["executors.mine.env.MODE"] == '"fast"'
    assert found["models[0].env.ACCOUNT_TOKEN"] == '"(hidden)"'
    assert "s3cret" not in json.dumps(as_json(loaded))
