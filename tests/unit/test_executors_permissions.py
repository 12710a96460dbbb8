"""No way to start an agent omits the guard against skipped permission checks (A10, A11)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ostler.calls.cli_executor import CliExecutor
from ostler.config.settings import ExecutorSettings, HostSettings, ModelSettings, RunSettings, Settings
from ostler.errors import Code
from ostler.executors.command import PRESETS
from ostler.executors.permissions import find_skipped_checks, resolve_permissions
from ostler.executors.registry import ALIASES, BUILT_IN, ExecutorRegistry
from ostler.model.call import AgentCall, PermissionSetting
from ostler.model.command import Exit
from ostler.testing.mocks import MockCommandRunner

PROGRAMS = [name for name in (*BUILT_IN, *ALIASES) if name not in ("scripted", "model_api")]


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "agent"
    path.touch(0o755)
    return str(path)


def spawn(
    name: str, settings: ExecutorSettings, section: str = "", allowed: bool = False
) -> tuple[Code | None, int]:
    """Return the code of a call and the number of programs that it started."""
    runner = MockCommandRunner(exit=Exit(1, 0.1))
    executor = ExecutorRegistry().make(name, {section or name: settings}, runner)
    call = AgentCall("implementer", "the prompt", session_id="s", allow_unsandboxed_skip=allowed)
    result = asyncio.run(executor.spawn(call, lambda _: None))
    return result.code, len(runner.commands)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_executor_that_starts_a_program_refuses_to_skip(name: str, program: str) -> None:
    """Each executor refuses permissions = "skip" where it builds its command line."""
    settings = ExecutorSettings(command=program, permissions="skip")
    assert spawn(name, settings) == (Code.SANDBOX_UNAVAILABLE, 0)
    assert spawn(name, settings, allowed=True)[1] >= 1


@pytest.mark.parametrize("alias", ALIASES)
def test_an_alias_has_the_settings_of_its_executor(alias: str, program: str) -> None:
    """The alias claude-code is refused by the section [executors.claude]."""
    settings = ExecutorSettings(command=program, permissions="skip")
    assert spawn(alias, settings, ALIASES[alias]) == (Code.SANDBOX_UNAVAILABLE, 0)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("claude", ("--dangerously-skip-permissions",)),
        ("claude", ("--permission-mode", "bypassPermissions")),
        ("claude", ("--permission-mode=bypassPermissions",)),
        ("codex", ("--dangerously-bypass-approvals-and-sandbox",)),
        ("codex", ("--sandbox", "danger-full-access")),
        ("codex", ("-c", 'sandbox_mode="danger-full-access"')),
        ("gemini", ("--yolo",)),
        ("gemini-acp", ("--yolo",)),
        ("gemini", ("--approval-mode", "yolo")),
        ("qwen", ("-y",)),
        ("copilot", ("--allow-all-tools",)),
        ("cursor", ("--force",)),
        ("opencode", ("--auto",)),
        ("amp", ("--dangerously-allow-all",)),
        ("droid", ("--auto", "high")),
    ],
)
def test_arguments_that_skip_the_checks_are_refused(name: str, args: tuple[str, ...], program: str) -> None:
    """The flags of an agent in `args` are the same as permissions = "skip"."""
    assert spawn(name, ExecutorSettings(command=program, args=args)) == (Code.SANDBOX_UNAVAILABLE, 0)


@pytest.mark.parametrize("name", PROGRAMS)
def test_default_settings_are_not_refused(name: str) -> None:
    """No executor skips the checks by default."""
    assert find_skipped_checks(ExecutorSettings(args=PRESETS.get(name, ())), name) == ""


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("name", ["claude", "claude-code"])
def test_the_library_is_refused_too(name: str, pooled: bool, program: str, tmp_path: Path) -> None:
    """CliExecutor starts no agent that skips its checks, named directly or by a model."""
    settings = Settings(
        run=RunSettings(executor=name),
        host=HostSettings(min_free_memory_mb=0),
        executors={"claude": ExecutorSettings(command=program, permissions="skip")},
        models=(ModelSettings("one", name),) if pooled else (),
    )
    runner = MockCommandRunner()
    library = CliExecutor(settings, runner, home=tmp_path / "home", environ={})
    outcome = asyncio.run(library.execute("the prompt", cwd=str(tmp_path)))
    library.close()
    assert (outcome.result.code, runner.commands) == (Code.SANDBOX_UNAVAILABLE, [])


@pytest.mark.parametrize("verified", [False, True])
@pytest.mark.parametrize("setting", ["ask", "accept-edits", "skip"])
def test_only_auto_depends_on_the_sandbox(setting: PermissionSetting, verified: bool) -> None:
    """An explicit setting always wins; auto skips checks only where the self-test of the sandbox passed."""
    call = AgentCall("i", "p", in_verified_sandbox=verified)
    assert resolve_permissions(setting, call) == setting
    assert resolve_permissions("auto", call) == ("skip" if verified else "accept-edits")
