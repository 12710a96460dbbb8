"""Every way to start an agent that skips its permission checks is refused (A10)."""

from __future__ import annotations

import pytest

from journal_file import journal_path
from world import World

SKIP = '[executors.claude]\npermissions = "skip"\n'


@pytest.mark.parametrize(
    ("settings", "arguments"),
    [
        (SKIP, ("run", "TASK", "--executor", "claude-code")),
        (f'{SKIP}[agents]\nimplementer = "claude-code"\n', ("run", "TASK")),
        (f'{SKIP}[[models]]\nname = "one"\nexecutor = "claude-code"\n', ("run", "TASK")),
        (SKIP, ("agent", "spawn", "-p", "Fix it", "--executor", "claude-code")),
        (SKIP, ("run", "TASK", "--dry-run", "--executor", "claude-code")),
        ('[executors.claude]\nargs = ["--dangerously-skip-permissions"]\n', ("run", "TASK")),
        (
            """[executors.opencode]\nenv = {OPENCODE_PERMISSION = '{"*": "allow"}'}\n""",
            ("run", "TASK", "--executor", "opencode"),
        ),
        (
            '[[models]]\nname = "one"\nexecutor = "claude"\nargs = ["--permission-mode=bypassPermissions"]\n',
            ("run", "TASK"),
        ),
    ],
)
def test_no_entry_point_misses_the_guard(world: World, settings: str, arguments: tuple[str, ...]) -> None:
    """An alias, a role, a model of the pool and the agent's own flag start no agent."""
    task = world.new()
    (world.root / "ostler.toml").write_text(settings)
    refused = world.ostler(*(task if one == "TASK" else one for one in arguments), code=2)
    assert "lets the agent do anything on this machine" in refused.stdout + refused.stderr
    assert world.started() == []


def test_config_validate_reports_it(world: World) -> None:
    """`ostler config validate` prints file, line and key."""
    pool = "[[models]]\nname = 'one'\nexecutor = 'claude-code'\n"
    text = f"{SKIP}{pool}args = ['--dangerously-skip-permissions']\n"
    (world.root / "ostler.toml").write_text(text)
    refused = world.ostler("config", "validate", code=2)
    assert 'ostler.toml:2: executors.claude.permissions: "skip" lets the agent' in refused.stderr
    assert "ostler.toml:6: models[0].args:" in refused.stderr
    assert "models[0].executor" not in refused.stderr  # each setting is reported once
    world.ostler("config", "validate", OSTLER_SANDBOX__ALLOW_UNSANDBOXED_SKIP="true")


def test_an_agent_without_checks_is_refused_before_its_task_exists(world: World) -> None:
    """crush has no permission checks: without a sandbox `run -p` creates no task and names both settings."""
    refused = world.ostler("run", "-p", "Fix it", "--executor", "crush", code=2)
    assert "crush approves every tool" in refused.stderr
    assert 'executors.crush.permissions = "skip" and sandbox.allow_unsandboxed_skip' in refused.stderr
    assert not journal_path(world.root).exists()
