"""[[notify]] and [telemetry]: valid values, and the place of each reported mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.config.load import load_settings
from ostler.config.settings import NotifySettings, Settings
from ostler.errors import SettingsInvalid


def load(root: Path, text: str) -> Settings:
    (root / "ostler.toml").write_text(text)
    return load_settings(root, {}).settings


def test_entries_are_read_in_order(tmp_path: Path) -> None:
    """Without `on` an entry receives every event."""
    text = '[[notify]]\ncommand = ["say", "{title}"]\non = ["failed"]\n[[notify]]\nurl = "https://a.b/c"\n'
    first, second = load(tmp_path, text).notify
    assert (first.command, first.on) == (("say", "{title}"), ("failed",))
    assert second == NotifySettings(url="https://a.b/c")
    assert second.on == ("needs_you", "completed", "failed", "limited", "back")


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ('[[notify]]\non = ["failed"]', "ostler.toml:1: notify[0]: set either command or url"),
        (
            '\n[[notify]]\nurl = "https://a"\ncommand = ["b"]',
            "ostler.toml:2: notify[0]: set either command or url",
        ),
        ("[[notify]]\ncommand = []", "ostler.toml:2: notify[0].command: expected list of str"),
        ('[[notify]]\ncommand = "say hi"', "ostler.toml:2: notify[0].command: expected list of str"),
        ('[[notify]]\nurl = "ftp://a"', "ostler.toml:2: notify[0].url: expected https://HOST"),
        (
            '[[notify]]\nurl = "https://a"\non = ["done"]',
            "ostler.toml:3: notify[0].on: expected list of one of",
        ),
        ('[[notify]]\nurl = "https://a"\non = []', "ostler.toml:3: notify[0].on: expected list of one of"),
        ('[[notify]]\nurl = "https://a"\nkey = "x"', "ostler.toml:3: notify[0].key: unknown setting"),
        ('[notify]\nurl = "https://a"', "ostler.toml:1: notify: expected a list of tables"),
        (
            '[telemetry]\notlp_endpoint = "localhost:4318"',
            "ostler.toml:2: telemetry.otlp_endpoint: expected http://HOST",
        ),
    ],
)
def test_a_mistake_is_reported_with_its_line(tmp_path: Path, text: str, reported: str) -> None:
    """Each mistake has its line and its message."""
    with pytest.raises(SettingsInvalid) as caught:
        load(tmp_path, text)
    assert reported in str(caught.value)


def test_nothing_is_sent_by_default(tmp_path: Path) -> None:
    """Neither has an effect before it is set; an empty endpoint counts as unset."""
    assert (load(tmp_path, "").notify, load(tmp_path, "").telemetry.otlp_endpoint) == ((), "")
    assert load(tmp_path, '[telemetry]\notlp_endpoint = ""').telemetry.otlp_endpoint == ""
