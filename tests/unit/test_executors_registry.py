"""Executors by name."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from ostler.config.settings import ExecutorSettings
from ostler.errors import UsageError
from ostler.executors.claude.executor import ClaudeExecutor
from ostler.executors.protocol import Executor
from ostler.executors.registry import BUILT_IN, ExecutorRegistry
from ostler.process.protocol import CommandRunner
from ostler.testing.mocks import MockCommandRunner, MockExecutor


def make_mock(name: str, settings: ExecutorSettings, runner: CommandRunner) -> Executor:
    return MockExecutor(name)


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_name_makes_an_executor(name: str) -> None:
    """Every built-in name makes an executor with a name and capabilities."""
    executor = ExecutorRegistry().get(name)(name, ExecutorSettings(command="true"), MockCommandRunner())
    assert executor.name == name
    assert isinstance(executor.capabilities.resumes, bool)


def test_alias_is_the_same_type() -> None:
    """claude-code is claude."""
    assert ExecutorRegistry().get("claude-code") is ClaudeExecutor


def test_unknown_name_lists_the_available_ones() -> None:
    """The error lists the available names (C3)."""
    with pytest.raises(UsageError, match=r"^unknown executor: clod$") as caught:
        ExecutorRegistry().get("clod")
    reported = caught.value.hint.removeprefix("available: ").split(", ")
    assert reported == ExecutorRegistry().list()
    assert {*BUILT_IN, "claude-code"} <= set(reported)
    assert set(reported) - set(ExecutorRegistry().list(aliases=False)) == {"claude-code"}


def test_duplicate_is_refused() -> None:
    """A name can be registered once."""
    registry = ExecutorRegistry()
    registry.register("mine", make_mock)
    with pytest.raises(UsageError, match="mine is already registered"):
        registry.register("mine", make_mock)
    assert registry.get("mine") is make_mock
    assert "mine" in registry.list()


def test_an_executor_is_registered_as_it_is() -> None:
    """A15: an instance is returned for every model that names it; the settings do not change it."""
    registry, mine = ExecutorRegistry(), MockExecutor("mine")
    registry.register("mine", mine)
    settings = {"other": ExecutorSettings(type="mine", args=("--x",))}
    made = [registry.make(name, settings, MockCommandRunner()) for name in ("mine", "other")]
    assert made == [mine, mine] and made[0] is mine


@pytest.mark.parametrize(
    ("name", "factory", "message"),
    [
        ("mine", None, "cannot register NoneType as executor mine"),
        ("mine", 7, "cannot register int as executor mine"),
        ("mine", lambda: None, "cannot register function as executor mine"),
        (7, MockExecutor(), "the name of an executor is not a text: 7"),
        ("mine", {"spawn": print}, "cannot register dict as executor mine"),
        (" ", make_mock, "the name of an executor is empty"),
        ("claude-code", make_mock, "executor claude is already registered"),
    ],
)
def test_what_cannot_be_registered_is_refused(name: str, factory: Any, message: str) -> None:
    """One sentence at once, not a TypeError when the executor is made."""
    registry = ExecutorRegistry()
    with pytest.raises(UsageError, match=f"^{message}$") as caught:
        registry.register(name, factory)
    assert caught.value.hint and registry.list() == ExecutorRegistry().list()


def test_a_built_in_type_can_be_replaced_on_purpose() -> None:
    """A replacement affects only this registry."""
    registry = ExecutorRegistry()
    registry.register("claude", make_mock, replaces=True)
    assert registry.get("claude-code") is make_mock
    assert ExecutorRegistry().get("claude") is not make_mock


def test_dotted_path_is_imported_on_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The module of a path is imported on first use."""
    (tmp_path / "lazy_executor.py").write_text("def make(name, settings, runner): return name\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    registry = ExecutorRegistry()
    registry.register("lazy", "lazy_executor:make")
    assert "lazy_executor" not in sys.modules
    assert registry.get("lazy")("lazy", ExecutorSettings(), MockCommandRunner()) == "lazy"


@pytest.mark.parametrize("path", ["no_such_module:make", "json:no_such_name", "json"])
def test_broken_path_is_one_sentence(path: str) -> None:
    """The error names the invalid path."""
    registry = ExecutorRegistry()
    registry.register("broken", path)
    with pytest.raises(UsageError, match=f"executor broken cannot be loaded from {path}"):
        registry.get("broken")


@pytest.mark.parametrize("path", ["json:loads", "json:decoder", "json:__name__"])
def test_a_path_to_something_else_is_refused_before_it_is_called(path: str) -> None:
    """A function with other parameters, a module and a text are no executors."""
    registry = ExecutorRegistry()
    registry.register("other", path)
    with pytest.raises(UsageError, match="executor other") as caught:
        registry.make("other", {}, MockCommandRunner())
    assert caught.value.hint.startswith("pass a factory (name, settings, runner)")


def test_a_path_may_name_an_executor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a module offers is used as if it were registered itself."""
    (tmp_path / "made_executor.py").write_text(
        "from ostler.testing.mocks import MockExecutor\nMADE = MockExecutor('made')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    registry = ExecutorRegistry()
    registry.register("made", "made_executor:MADE")
    assert registry.make("made", {}, MockCommandRunner()).name == "made"


def test_module_that_breaks_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of another package may raise any exception on import."""
    (tmp_path / "bad_executor.py").write_text("raise RuntimeError('no licence')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    registry = ExecutorRegistry()
    registry.register("bad", "bad_executor:make")
    with pytest.raises(UsageError, match=r"executor bad cannot be loaded from bad_executor:make: no licence"):
        registry.get("bad")


def test_installed_package_offers_an_executor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry point is found and listed, and cannot replace a built-in name."""
    package = tmp_path / "third-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: third\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text(
        "[ostler.executors]\nthird = third_executor:make\nclaude = x:y\n"
    )
    (tmp_path / "third_executor.py").write_text("def make(name, settings, runner): return name\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    registry = ExecutorRegistry()
    assert "third" in registry.list()
    assert registry.get("third")("third", ExecutorSettings(), MockCommandRunner()) == "third"
    assert registry.get("claude") is ClaudeExecutor


def test_several_instances_share_a_type() -> None:
    """Two names in the settings may have the same type with different options."""
    settings = {"work": ExecutorSettings(type="claude"), "home": ExecutorSettings(type="claude")}
    registry = ExecutorRegistry()
    made = [registry.make(name, settings, MockCommandRunner()) for name in ("work", "home", "claude")]
    assert [executor.name for executor in made] == ["work", "home", "claude"]
    assert {type(executor) for executor in made} == {ClaudeExecutor}
