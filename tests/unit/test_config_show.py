"""What `ostler config show` has to print."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from ostler.config.load import Loaded, load_settings
from ostler.config.settings import Settings
from ostler.config.show import as_json, rows


def example(folder: Path) -> Loaded:
    (folder / "ostler.toml").write_text(
        "[run]\njobs = 3\n[executors.'my agent']\nargs = ['a']\nenv.A = '\"'\n"
    )
    return load_settings(folder, {"OSTLER_RETRY__JITTER": "0"}, {"run.model": "opus"})


def test_every_value_with_its_source(tmp_path: Path) -> None:
    """Each row has the key, the value as TOML and the place to change it."""
    found = {row.key: (row.value, row.source) for row in rows(example(tmp_path))}
    assert found["run.jobs"] == ("3", "ostler.toml:2")
    assert found["run.model"] == ('"opus"', "--model")
    assert found["retry.jitter"] == ("0.0", "OSTLER_RETRY__JITTER")
    assert found["git.worktree"] == ("true", "default")
    assert found['executors."my agent".args'] == ('["a"]', "ostler.toml:4")
    assert found['executors."my agent".env.A'] == ('"\\""', "ostler.toml:5")


def test_the_rows_are_the_settings(tmp_path: Path) -> None:
    """Written to a file, the rows are the same settings again."""
    loaded = example(tmp_path)
    text = "\n".join(f"{row.key} = {row.value}" for row in rows(loaded))
    tomllib.loads(text)
    (tmp_path / "ostler.toml").write_text(text)
    assert load_settings(tmp_path, {}).settings == loaded.settings
    assert [row.key for row in rows(load_settings(None, {}))][:2] == ["run.executor", "run.model"]


def test_the_json_document_says_the_same(tmp_path: Path) -> None:
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


def test_an_empty_section_is_shown() -> None:
    """Nothing that can be set is missing from the list."""
    keys = [row.key for row in rows(load_settings(None, {}))]
    assert "executors" in keys
    assert {key.partition(".")[0] for key in keys} == set(Settings.__struct_fields__)


def test_a_secret_of_an_agents_environment_is_not_shown(tmp_path: Path) -> None:
    """A variable that is named like a key is hidden; others are not."""
    (tmp_path / "ostler.toml").write_text("[executors.mine.env]\nAPI_KEY = 's3cret'\nMODE = 'fast'\n")
    loaded = load_settings(tmp_path, {})
    found = {row.key: row.value for row in rows(loaded)}
    assert found["executors.mine.env.API_KEY"] == '"(hidden)"'
    assert found["executors.mine.env.MODE"] == '"fast"'
    assert "s3cret" not in json.dumps(as_json(loaded))
