"""sandbox.allow_hosts is checked when the settings are loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.config.load import load_settings
from ostler.errors import Code, SettingsInvalid


def test_entry_that_is_no_host_is_a_mistake(tmp_path: Path) -> None:
    """Each bad entry has the place, the reason and the forms that are valid."""
    (tmp_path / "ostler.toml").write_text(
        '[sandbox]\nallow_hosts = ["https://example.com/", "ok.example", "*"]\n'
    )
    with pytest.raises(SettingsInvalid) as caught:
        load_settings(tmp_path, {})
    assert caught.value.code is Code.CONFIG_INVALID
    assert caught.value.mistakes == [
        'ostler.toml:2: sandbox.allow_hosts: "https://example.com/" is not an allowed host: '
        "it is not only a host; write HOST, HOST:PORT or *.DOMAIN",
        'ostler.toml:2: sandbox.allow_hosts: "*" is not an allowed host: '
        'to allow every host, set sandbox.network = "on"; write HOST, HOST:PORT or *.DOMAIN',
    ]


def test_variable_is_checked_too() -> None:
    """The value of an environment variable is named as its source."""
    with pytest.raises(SettingsInvalid) as caught:
        load_settings(None, {"OSTLER_SANDBOX__ALLOW_HOSTS": '["localhost"]'})
    assert "localhost:5432" in caught.value.mistakes[0]


def test_good_entries_and_a_refused_value(tmp_path: Path) -> None:
    """Valid entries are kept as written; a value of another type is one mistake, not two."""
    (tmp_path / "ostler.toml").write_text('[sandbox]\nallow_hosts = ["Ok.example", "localhost:5432"]\n')
    assert load_settings(tmp_path, {}).settings.sandbox.allow_hosts == ("Ok.example", "localhost:5432")
    (tmp_path / "ostler.toml").write_text("[sandbox]\nallow_hosts = [1]\n")
    with pytest.raises(SettingsInvalid) as caught:
        load_settings(tmp_path, {})
    assert len(caught.value.mistakes) == 1
