"""Which plugins a run has: named in the settings, or offered by installed packages."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from ostler.config.settings import PluginSettings
from ostler.errors import UsageError
from ostler.model.ids import TaskId
from ostler.worker.hooks import Step
from ostler.worker.plugins import load_plugins, may_be_installed

CODE = """
told = []
class Note:
    capabilities = "Notes are kept."
    def on_step(self, step): told.append(step.step_id)
made = Note()
made.name = "made"
class Needy(Note):
    def __init__(self): raise RuntimeError("no network")
number = 7
"""


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for packages on the search path; what is imported from it is forgotten afterwards."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "ostler_note.py").write_text(CODE)
    (tmp_path / "ostler_wrong.py").write_text("def (")
    monkeypatch.delitem(sys.modules, "ostler_note", raising=False)
    return tmp_path


def install(packages: Path, *points: str, name: str = "note") -> None:
    folder = packages / f"{name}-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("\n".join(("[ostler.plugins]", *points)) + "\n")


def load(*paths: str) -> list[str]:
    return load_plugins(PluginSettings(paths)).list()


def test_a_class_is_made_and_an_object_is_taken(packages: Path) -> None:
    """Both shapes can be named in the settings, and are told what happens."""
    plugins = load_plugins(PluginSettings(("ostler_note:Note", "ostler_note:made")))
    assert plugins.list() == ["Note", "made"]
    plugins.tell(Step("model_selected", TaskId("t")))
    asyncio.run(plugins.close(20))
    assert sys.modules["ostler_note"].told == ["model_selected"] * 2


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("note", 'plugins.load: "note": this is not a module and a name in it'),
        (":Note", 'plugins.load: ":Note": this is not a module and a name in it'),
        ("nowhere.at.all:Note", "cannot be loaded: ModuleNotFoundError: No module named 'nowhere'"),
        ("ostler_note:Missing", "cannot be loaded: AttributeError: module 'ostler_note' has no attribute"),
        ("ostler_wrong:x", 'plugins.load: "ostler_wrong:x" cannot be loaded: SyntaxError: '),
        ("ostler_note:Needy", "cannot be loaded: RuntimeError: no network"),
        ("ostler_note:number", 'plugins.load: "ostler_note:number": plugin int has none of on_step'),
    ],
)
def test_a_mistake_names_the_setting_and_what_is_wrong(packages: Path, path: str, said: str) -> None:
    """One sentence, and no traceback of someone else's code."""
    with pytest.raises(UsageError) as raised:
        load(path)
    assert raised.value.message.startswith("plugins.load: ")
    assert said in raised.value.message


def test_a_plugin_named_twice_is_a_mistake(packages: Path) -> None:
    """The same plugin would be told everything twice."""
    with pytest.raises(UsageError, match="already registered"):
        load("ostler_note:Note", "ostler_note:Note")


def test_installed_packages_offer_plugins(packages: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Each by the name of its entry point; one that cannot be used is passed over with a word."""
    install(packages, "note = ostler_note:Note", "broken = ostler_note:Needy", "gone = nowhere:X")
    assert load() == ["note"]
    assert "plugin broken of an installed package is passed over: no network" in caplog.text
    assert "plugin gone of an installed package is passed over" in caplog.text


def test_what_the_settings_name_comes_first(packages: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A package's plugin of the same name gives way."""
    install(packages, "made = ostler_note:Note")
    assert load("ostler_note:made") == ["made"]
    assert "already registered" in caplog.text


def test_the_search_is_skipped_where_nothing_can_be_found(packages: Path) -> None:
    """No package of the path names our group: the slow search is not begun."""
    assert not may_be_installed([str(packages), str(packages / "missing"), "/nowhere.zip"])
    install(packages, name="other")
    assert may_be_installed([str(packages)])


def test_a_zip_on_the_path_is_not_looked_into(tmp_path: Path) -> None:
    """What cannot be told cheaply may be there."""
    (tmp_path / "all.zip").write_bytes(b"")
    assert may_be_installed([str(tmp_path / "all.zip")])
