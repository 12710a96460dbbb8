"""The installed claude is the one that was proved, and says so where it does not understand us (A30)."""

from __future__ import annotations

from pathlib import Path

from ostler.errors import Code
from ostler.executors.claude import ClaudeExecutor
from ostler.executors.drift import find_drift, flags_used, read_help
from ostler.executors.health import Health, State, probe
from ostler.executors.known import CLAUDE
from ostler.testing.fake_llm import FakeLlm, say
from real_claude import Seat, require_claude


def test_version_is_the_proved_one() -> None:
    """What the tests drive is what known.py says was proved."""
    assert probe(require_claude()) == Health(State.HEALTHY, CLAUDE.proved)


def test_no_flag_of_ours_is_gone() -> None:
    """The real help is understood, and lists every flag that the adapter passes."""
    assert find_drift(require_claude(), ClaudeExecutor.dialect) == []
    assert (read_help(require_claude()) or frozenset()) > flags_used(ClaudeExecutor.dialect)[()]


def test_unknown_flag_names_the_version(tmp_path: Path) -> None:
    """As after an upgrade that dropped one: no retry, and the person learns which version it is."""
    with FakeLlm([say("OK")]) as llm:
        result = Seat(tmp_path, llm, "--no-such-flag").spawn()
    assert result.code is Code.AGENT_INCOMPATIBLE
    assert "'--no-such-flag'" in result.message
    assert f"found {CLAUDE.proved}" in result.message
