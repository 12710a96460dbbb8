"""Settings that are reloaded when their files change."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.config.live import LiveSettings
from ostler.errors import SettingsInvalid


def write(root: Path, text: str) -> None:
    (root / "new").write_text(text)
    (root / "new").rename(root / "ostler.toml")


def test_a_changed_file_is_read_and_reported_once(tmp_path: Path) -> None:
    """The next use has the new value; the message names the setting."""
    write(tmp_path, "[run]\njobs = 1\n")
    live, messages = LiveSettings(tmp_path, {}, {}), list[str]()
    live.print_message = messages.append
    assert live.read().settings.run.jobs == 1 and messages == []
    write(tmp_path, '[run]\njobs = 3\n[gates.commands]\ntest = "pytest"\n')
    assert [live.read().settings.run.jobs for _ in range(3)] == [3, 3, 3]
    assert messages == ["the settings changed: run.jobs, gates.commands.test"]


def test_an_invalid_file_keeps_the_old_values(tmp_path: Path) -> None:
    """The mistake is reported once with its line; the corrected file is used."""
    write(tmp_path, "[run]\njobs = 1\n")
    live, messages = LiveSettings(tmp_path, {}, {}), list[str]()
    live.print_message = messages.append
    live.read()
    write(tmp_path, '[run]\njobs = "two"\n')
    assert [live.read().settings.run.jobs for _ in range(2)] == [1, 1]
    assert len(messages) == 1 and "ostler.toml:2: run.jobs" in messages[0]
    write(tmp_path, "[run]\njobs = 1  # corrected\n")
    assert [live.read().settings.run.jobs for _ in range(2)] == [1, 1]
    assert messages[1:] == ["the settings are valid again; none of them changed"]
    write(tmp_path, "[run]\njobs = 2\n")
    assert live.read().settings.run.jobs == 2 and len(messages) == 3


def test_flags_and_environment_still_win(tmp_path: Path) -> None:
    """A changed file does not replace an option of the run."""
    write(tmp_path, "[run]\njobs = 1\n")
    live = LiveSettings(tmp_path, {"OSTLER_RUN__MODEL": "m"}, {"run.jobs": 7})
    write(tmp_path, '[run]\njobs = 4\nmodel = "x"\n')
    assert (live.read().settings.run.jobs, live.read().settings.run.model) == (7, "m")


def test_the_users_file_is_followed_too(tmp_path: Path) -> None:
    """A file that did not exist before counts as changed."""
    live = LiveSettings(tmp_path / "project", {"XDG_CONFIG_HOME": str(tmp_path)}, {})
    assert live.read().settings.budget.task_usd is None
    (tmp_path / "ostler").mkdir()
    (tmp_path / "ostler" / "config.toml").write_text("[budget]\ntask_usd = 2.5\n")
    assert live.read().settings.budget.task_usd == 2.5


def test_the_first_file_must_be_valid(tmp_path: Path) -> None:
    write(tmp_path, "jobs = [")
    with pytest.raises(SettingsInvalid):
        LiveSettings(tmp_path, {}, {}).read()


@pytest.mark.parametrize(
    ("text", "environ", "flags"),
    [
        ('[store]\nschema = "shop"\n', {}, {}),
        ('store.schema = "shop"\n', {}, {}),
        ('store = { schema = "shop" }\n', {}, {}),
        ('["store"]\nschema = "shop"\n', {}, {}),
        ("", {"OSTLER_STORE__SCHEMA": "shop"}, {}),
        ("", {}, {"store.schema": "shop"}),
    ],
)
def test_the_store_is_found_wherever_it_is_set(
    tmp_path: Path, text: str, environ: dict[str, str], flags: dict[str, object]
) -> None:
    """In each form of TOML, in a variable, or in a flag."""
    write(tmp_path, text)
    found = LiveSettings(tmp_path, environ, flags).read_store()
    assert found is not None and found.schema == "shop"


def test_settings_without_a_store_are_not_loaded_for_it(tmp_path: Path) -> None:
    """A list of tasks works with settings that are invalid elsewhere."""
    write(tmp_path, '# [store]\n[run]\njobs = "two"\n')
    assert LiveSettings(tmp_path, {}, {}).read_store() is None
