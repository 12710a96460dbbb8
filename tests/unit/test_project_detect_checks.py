"""The test command that `ostler init` finds and that claude may run (T6)."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.calls.attempts.base_call import create_base_call
from ostler.config.load import load_settings
from ostler.config.settings import GateSettings, Settings
from ostler.config.template import starter_config
from ostler.executors.claude.tool_rules import extra_arguments
from ostler.executors.protocol import Capabilities
from ostler.project.inspection.detect_checks import detect_test_command

PYTEST = "[tool.pytest.ini_options]\n"


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({}, None),
        ({"pyproject.toml": PYTEST}, "pytest -q"),
        ({"pyproject.toml": "[project]\nname = 'a'\n"}, None),
        ({"pyproject.toml": "[dependency-groups]\ndev = ['pytest>=8']\n"}, "pytest -q"),
        ({"pyproject.toml": "[project]\n", "tests/conftest.py": ""}, "pytest -q"),
        ({"pyproject.toml": PYTEST, "uv.lock": ""}, "uv run pytest -q"),
        ({"pyproject.toml": PYTEST, "poetry.lock": ""}, "poetry run pytest -q"),
        ({"pyproject.toml": "broken ["}, None),
        ({"pytest.ini": "[pytest]\n"}, "pytest -q"),
        ({"package.json": '{"scripts": {"test": "vitest run"}}'}, "npm test"),
        ({"package.json": '{"scripts": {"test": "jest"}}', "pnpm-lock.yaml": ""}, "pnpm test"),
        ({"package.json": '{"scripts": {"test": "jest"}}', "yarn.lock": ""}, "yarn test"),
        ({"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'}, None),
        ({"package.json": "{}"}, None),
        ({"package.json": "[1"}, None),
        ({"Makefile": "all:\n\ntest: all\n\tcheck\n"}, "make test"),
        ({"Makefile": "tests:\n\ttest:\nTEST := 1\ntest := 2\n"}, None),
        ({"Cargo.toml": "[package]\n"}, "cargo test"),
        ({"go.mod": "module a\n"}, "go test ./..."),
        ({"package.json": "{}", "Makefile": "test:\n"}, "make test"),
    ],
)
def test_the_command_of_a_project(files: dict[str, str], command: str | None, tmp_path: Path) -> None:
    """Each kind of project has its usual command."""
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = detect_test_command(tmp_path)
    assert (found.command if found else None) == command


def test_the_virtual_environment_of_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its pytest is used, with a link in the worktrees; an active one needs neither."""
    program = tmp_path / ".venv/bin/pytest"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    monkeypatch.setenv("PATH", "/nowhere")
    found = detect_test_command(tmp_path)
    assert found is not None
    assert (found.command, found.link) == (".venv/bin/pytest -q", ".venv")
    (tmp_path / "ostler.toml").write_text(starter_config("claude", found.command, found.link))
    settings = load_settings(tmp_path, {}).settings
    assert (settings.gates.commands["implement"], settings.workspace.link) == (found.command, (".venv",))
    monkeypatch.setenv("PATH", str(program.parent))
    found = detect_test_command(tmp_path)
    assert found is not None
    assert (found.command, found.link) == ("pytest -q", "")


def test_it_is_the_gate_of_implement(tmp_path: Path) -> None:
    """The settings that init writes are valid and have the gate."""
    (tmp_path / "ostler.toml").write_text(starter_config("claude", 'make "test"'))
    assert load_settings(tmp_path, {}).settings.gates.commands == {"implement": 'make "test"'}


@pytest.mark.parametrize(
    ("commands", "rules"),
    [
        ({}, ()),
        ({"implement": "pytest -q"}, ("--allowedTools=Bash(pytest -q)",)),
        (
            {"test": "ruff check && pytest -q", "implement": "pytest -q"},
            (
                "--allowedTools=Bash(ruff check && pytest -q)",
                "--allowedTools=Bash(ruff check)",
                "--allowedTools=Bash(pytest -q)",
            ),
        ),
        ({"implement": "pytest tests/*"}, ()),
        ({"implement": "a\nb"}, ()),
    ],
)
def test_claude_may_run_exactly_the_gates(
    commands: dict[str, str], rules: tuple[str, ...], tmp_path: Path
) -> None:
    """One rule per command, without wildcards."""
    settings = Settings(gates=GateSettings(commands=commands))
    call = create_base_call(settings, Capabilities(), {}, {"OSTLER_PROJECT": str(tmp_path)})
    assert extra_arguments(call, ()).arguments == rules
