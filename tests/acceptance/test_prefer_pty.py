"""executors.NAME.prefer_pty: the agent runs in a pseudo-terminal, with and without a sandbox."""

from __future__ import annotations

import pytest

from ostler.executors import call_setup
from ostler.process.terminal import is_terminal_usable
from world import World

pytestmark = pytest.mark.skipif(not is_terminal_usable(), reason="no terminal can be opened here")
DESCRIBES = """#!/bin/sh
prompt=$(cat)
test -t 0 && test -t 1 && test -t 2 && echo tty > seen.txt
echo "$(stty size) $TERM" >> seen.txt
printf '%s' "$prompt" | grep -c "Add a greeting" >> seen.txt
printf '\\033[32mgreen\\033[0m\\n'
echo "on stderr" >&2
printf '\\033[1m<phase_complete>true</phase_complete>\\033[0m\\n'
"""


@pytest.fixture
def terminal(world: World) -> World:
    """An agent that describes its streams."""
    (world.root / "describes").write_text(DESCRIBES)
    (world.root / "describes").chmod(0o755)
    (world.root / "ostler.toml").write_text(
        '[run]\nexecutor = "mine"\n'
        f'[executors.mine]\ntype = "command"\ncommand = "{world.root}/describes"\nprefer_pty = true\n'
    )
    world.git("add", "-A")
    world.git("commit", "-qm", "agent")
    return world


@pytest.mark.parametrize("tier", ["supervised", "bubblewrap"])
def test_a_program_gets_a_terminal(terminal: World, tier: str) -> None:
    """120 by 30, xterm-256color; the prompt arrives, and colours are in the transcript only."""
    task = terminal.new()
    terminal.ostler("run", task, OSTLER_SANDBOX__TIER=tier)
    assert terminal.git("show", f"ostler/{task}:seen.txt") == "tty\n30 120 xterm-256color\n1\n"
    log = terminal.ostler("log", task).stdout
    assert "green" in log and "on stderr" in log and "\x1b" not in log


def test_a_known_agent_reads_its_prompt_and_prints_json_on_a_terminal(world: World) -> None:
    """Its prompt comes from a file: such agents read none from a terminal."""
    (world.root / "ostler.toml").write_text("[executors.claude]\nprefer_pty = true\n")
    task = world.new()
    world.ostler("run", task)
    assert [one["status"] for one in world.show(task)["attempts"]] == ["succeeded"]
    assert world.started()


@pytest.mark.one_machine("the test patches the process that runs the task")
def test_without_a_terminal_the_agent_runs_on_pipes_with_a_warning(
    terminal: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(call_setup, "can_open_terminal", lambda: False)
    task = terminal.new()
    terminal.ostler("run", task)
    assert not terminal.git("show", f"ostler/{task}:seen.txt").startswith("tty")
    assert "no pseudo-terminal can be opened here" in terminal.ostler("events", task).stdout
