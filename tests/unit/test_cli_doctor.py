"""How doctor looks: aligned, short, and with commands that can be copied whole."""

from __future__ import annotations

import pytest

from ostler.cli.doctor import _screen
from ostler.project.doctor import Check

LONG = "/a/very/long/path/to/some/place/where/agents/are/kept/node_modules/.bin/gemini"
CHECKS = [
    Check("python", True, "3.11.7"),
    Check(
        "tasks", False, "cannot write in /x: it is on a read-only disk", "make it writable, then run again"
    ),
    Check("agent claude", True, "2.1.325 at /usr/bin/claude", state="healthy"),
    Check("agent gemini", False, f"version 1.0.0 has no --resume ({LONG})", f"npm i {LONG}", False, "drift"),
    Check("agent codex", False, "not found", "npm install -g @openai/codex", False, "not_found"),
    Check("agent qwen", False, "no answer to --version within 5 s", "ask it yourself", False, "timeout"),
]


def test_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path may be cut, a command never; what is missing needs no second line."""
    monkeypatch.setenv("COLUMNS", "72")
    assert _screen(CHECKS) == [
        "ok      python  3.11.7",
        "broken  tasks   cannot write in /x: it is on a read-only disk",
        "                make it writable, then run again",
        "",
        "Agents: 1 of 4 can be used; one is enough.",
        "ok      claude  2.1.325 at /usr/bin/claude",
        "DRIFT   gemini  version 1.0.0 has no --resume (/a/very/long/path/to/som…",
        f"                npm i {LONG}",
        "missing codex   npm install -g @openai/codex",
        "silent  qwen    no answer to --version within 5 s",
        "                ask it yourself",
    ]


def test_no_agent_at_all() -> None:
    """A machine without one is told so first."""
    assert "Agents: none works here yet." in _screen([check for check in CHECKS if not check.ok])


def test_what_a_program_says_cannot_steer_the_terminal() -> None:
    """Its version line is printed as text on one line."""
    check = Check("agent x", False, "boom \x1b[2J\nok  all is well", "fix", False, "unhealthy")
    assert not [line for line in _screen([check]) if "\x1b" in line or line.startswith("ok")]
