"""How the program of an agent is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.errors import AgentUnavailable, Code
from ostler.executors.discover import Search, find_program, path_variable, require_program


def program(path: Path, mode: int = 0o755) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return str(path)


def test_order_of_places(tmp_path: Path) -> None:
    """The order is: variable, settings, PATH, paths of installers (C25)."""
    known = program(tmp_path / "home" / ".local" / "agent")
    environ = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path / "home")}
    places = ("~/.missing/agent", "~/.local/agent")
    assert find_program("agent", "", environ, places).path == known
    on_path = program(tmp_path / "bin" / "agent")
    assert find_program("agent", "agent", environ, places).path == on_path
    configured = program(tmp_path / "opt" / "agent")
    assert find_program("agent", configured, environ, places).path == configured
    chosen = program(tmp_path / "own" / "agent")
    environ["OSTLER_AGENT_PATH"] = chosen
    assert find_program("agent", configured, environ, places).path == chosen


@pytest.mark.parametrize("mode", [0o644, None])
def test_explicit_choice_is_not_passed_over(mode: int | None, tmp_path: Path) -> None:
    """A configured path that is not executable is an error, even when PATH has a program."""
    program(tmp_path / "bin" / "agent")
    named = tmp_path / "own" / "agent"
    if mode:
        program(named, mode)
    environ = {"PATH": str(tmp_path / "bin"), "OSTLER_AGENT_PATH": str(named)}
    by_variable = find_program("agent", "", environ)
    by_settings = find_program("agent", str(named), {"PATH": str(tmp_path / "bin")})
    assert by_variable.searched == (f"OSTLER_AGENT_PATH={named}",) and by_settings.searched == (str(named),)
    why = f"{named} is not executable" if mode else ""
    assert (by_settings.path, by_settings.refused) == (None, why)
    assert by_settings.advice == (f"run chmod +x {named}" if mode else "")


def test_other_command_has_no_install_paths(tmp_path: Path) -> None:
    """Another command is not searched in the paths of installers."""
    known = program(tmp_path / "known" / "agent")
    assert find_program("agent", "wrapper", {"PATH": ""}, (known,)) == Search(None, ("wrapper on PATH",))


def test_the_path_has_no_parent_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sandbox has the directory of a program, and not the one before "..", nor the current one."""
    known = program(tmp_path / "bin" / "agent")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for path in ("../bin", f"{tmp_path}/here/../bin", "../here/../bin"):
        assert find_program("agent", "", {"PATH": path}).path == known
        assert find_program("agent", "", {"OSTLER_AGENT_PATH": f"{path}/agent", "PATH": ""}).path == known
        assert find_program("agent", f"{path}/agent", {"PATH": ""}).path == known


def test_directory_is_no_program(tmp_path: Path) -> None:
    """A directory is not a program, and the error names it."""
    with pytest.raises(AgentUnavailable, match=f"{tmp_path} is a directory"):
        require_program(find_program("agent", str(tmp_path), {}), "agent", "install it")


def test_missing_program_names_every_place() -> None:
    """The error lists the places that were searched and the command that installs the program."""
    search = find_program("agent", "", {"PATH": ""}, ("/a/agent", "/b/agent"))
    with pytest.raises(AgentUnavailable, match="agent on PATH, /a/agent, /b/agent") as caught:
        require_program(search, "agent", "install it with: get-agent")
    assert caught.value.code is Code.AGENT_NOT_FOUND
    assert caught.value.hint == "install it with: get-agent"


@pytest.mark.parametrize(
    ("name", "variable"), [("claude", "OSTLER_CLAUDE_PATH"), ("my-agent.2", "OSTLER_MY_AGENT_2_PATH")]
)
def test_variable_of_a_name(name: str, variable: str) -> None:
    """Every name has a valid variable."""
    assert path_variable(name) == variable
