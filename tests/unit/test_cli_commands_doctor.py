"""The output of doctor: aligned, short, with complete commands."""

from __future__ import annotations

import pytest

from ostler.cli.commands.setup.doctor import _format_screen
from ostler.project.inspection.doctor import Check

LONG = "/a/very/long/path/to/some/place/where/agents/are/kept/node_modules/.bin/gemini"
CHECKS = [
    Check("python", True, "3.11.7"),
    Check("tasks", False, "cannot write in /x: read-only file system", "make it writable, then run again"),
    Check("agent claude", True, "2.1.325 at /usr/bin/claude", state="healthy"),
    Check("agent gemini", False, f"version 1.0.0 has no --resume ({LONG})", f"npm i {LONG}", False, "drift"),
    Check("agent codex", False, "not found", "npm install -g @openai/codex", False, "not_found"),
    Check("agent qwen", False, "no answer to --version within 5 s", "ask it yourself", False, "timeout"),
]


def test_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Details are truncated, commands are not; a missing agent takes one line."""
    monkeypatch.setenv("COLUMNS", "72")
    assert _format_screen(CHECKS) == [
        "ok      python  3.11.7",
        "broken  tasks   cannot write in /x: read-only file system",
        "                make it writable, then run again",
        "",
        "Agents: 1 of 4 usable; one is enough.",
        "ok      claude  2.1.325 at /usr/bin/claude",
        "DRIFT   gemini  version 1.0.0 has no --resume (/a/very/long/path/to/som…",
        f"                npm i {LONG}",
        "missing codex   npm install -g @openai/codex",
        "slow    qwen    no answer to --version within 5 s",
        "                ask it yourself",
    ]


def test_no_agent_at_all() -> None:
    """A machine without agents shows this above the list."""
    assert "Agents: none usable yet; install one." in _format_screen(
        [check for check in CHECKS if not check.ok]
    )


def test_output_of_a_program_is_escaped() -> None:
    """The output of a program is escaped and printed on one line."""
    check = Check("agent x", False, "boom \x1b[2J\nok  all is well", "fix", False, "unhealthy")
    assert not [line for line in _format_screen([check]) if "\x1b" in line or line.startswith("ok")]
