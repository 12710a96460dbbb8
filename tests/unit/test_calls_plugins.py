"""The plugins of a run: from the settings and from installed packages."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from ostler.calls.hooks import CallStep
from ostler.calls.plugins import find_missing_module, load_plugins, may_have_plugins
from ostler.config.settings import PluginSettings
from ostler.errors import UsageError
from ostler.model.ids import TaskId

CODE = """
received = []
class Note:
    capabilities = "Notes are kept."
    def on_step(self, step): received.append(step.step_id)
made = Note()
made.name = "made"
class Needy(Note):
    def __init__(self): raise RuntimeError("no network")
number = 7
"""


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory for packages on the search path; modules imported from it are removed afterwards."""
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
    """Objects and classes can be named in the settings, and receive events."""
    plugins = load_plugins(PluginSettings(("ostler_note:Note", "ostler_note:made")))
    assert plugins.list() == ["Note", "made"]
    plugins.notify(CallStep("model_selected", TaskId("t")))
    asyncio.run(plugins.close(20))
    assert sys.modules["ostler_note"].received == ["model_selected"] * 2


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("note", 'plugins.load: "note": expected a module and a name in it'),
        (":Note", 'plugins.load: ":Note": expected a module and a name in it'),
        ("../../note:Note", 'plugins.load: "../../note:Note": expected a module and a name in it'),
        ("nowhere.at.all:Note", 'plugins.load: "nowhere.at.all:Note": no module nowhere in .agents/plugins/'),
        ("ostler_note:Missing", "cannot be loaded: AttributeError: module 'ostler_note' has no attribute"),
        ("ostler_wrong:x", 'plugins.load: "ostler_wrong:x" cannot be loaded: SyntaxError: '),
        ("ostler_note:Needy", "cannot be loaded: RuntimeError: no network"),
        ("ostler_note:number", 'plugins.load: "ostler_note:number": plugin int has none of on_step'),
    ],
)
def test_a_mistake_names_the_setting_and_what_is_wrong(packages: Path, path: str, message: str) -> None:
    """The error is one sentence, without a traceback of foreign code."""
    with pytest.raises(UsageError) as raised:
        load(path)
    assert raised.value.message.startswith("plugins.load: ")
    assert message in raised.value.message


def test_a_plugin_named_twice_is_a_mistake(packages: Path) -> None:
    """The same plugin would receive everything twice."""
    with pytest.raises(UsageError, match="already registered"):
        load("ostler_note:Note", "ostler_note:Note")


def test_installed_packages_offer_plugins(packages: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Each has the name of its entry point; one that cannot be used is skipped with a warning."""
    install(packages, "note = ostler_note:Note", "broken = ostler_note:Needy", "gone = nowhere:X")
    assert load() == ["note"]
    assert "plugin broken of an installed package is skipped: no network" in caplog.text
    assert "plugin gone of an installed package is skipped" in caplog.text


def test_what_the_settings_name_comes_first(packages: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A package's plugin with the same name is skipped."""
    install(packages, "made = ostler_note:Note")
    assert load("ostler_note:made") == ["made"]
    assert "already registered" in caplog.text


def test_the_search_is_skipped_where_nothing_can_be_found(packages: Path) -> None:
    """No package of the path names the group: the slow search is not started."""
    assert not may_have_plugins([str(packages), str(packages / "missing"), "/nowhere.zip"])
    install(packages, name="other")
    assert may_have_plugins([str(packages)])


def test_a_zip_on_the_path_is_not_looked_into(tmp_path: Path) -> None:
    """Archives cannot be checked cheaply, so they may have plugins."""
    (tmp_path / "all.zip").write_bytes(b"")
    assert may_have_plugins([str(tmp_path / "all.zip")])


def test_a_plugin_beside_the_project_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module in .agents/plugins needs no PYTHONPATH, and cannot replace an installed module (A7)."""
    folder = tmp_path / ".agents" / "plugins"
    folder.mkdir(parents=True)
    (folder / "ostler_beside.py").write_text(CODE)
    (folder / "msgspec.py").write_text("raise RuntimeError('not this one')")
    monkeypatch.setattr(sys, "path", [*sys.path])
    settings = PluginSettings(("ostler_beside:Note",))
    assert find_missing_module("ostler_beside:Note", tmp_path) == ""
    for name, text in {"wrong": "x = (", "empty": ""}.items():
        (tmp_path / ".agents" / "plugins" / f"{name}.py").write_text(text)
    for entry, message in {
        "other": "expected a module and a name in it",
        "": "expected a module and a name in it",
        "../x:Note": "expected a module and a name in it",
        "wrong:x": ".agents/plugins/wrong.py:1: '(' was never closed",
        "empty:Note": ".agents/plugins/empty.py has no Note",
    }.items():
        assert message in find_missing_module(entry, tmp_path)
    assert "create .agents/plugins/other.py" in find_missing_module("other.part:Note", tmp_path)
    assert load_plugins(settings, root=tmp_path).list() == ["Note"]
    monkeypatch.delitem(sys.modules, "ostler_beside")
    assert sys.path[-1] == str(folder)
