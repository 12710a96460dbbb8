"""The installed claude is the tested version, and reports an argument that it does not accept (A30)."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.errors import Code
from ostler.executors.claude.executor import ClaudeExecutor
from ostler.executors.discover import CLAUDE
from ostler.executors.health import Health, HealthState, probe_program
from ostler.executors.survey import find_drift, list_flags, read_help
from ostler.testing.fake_llm import FakeLlm, say
from real_claude import Seat, require_claude

pytestmark = pytest.mark.full


@pytest.mark.smoke
def test_version_is_the_tested_one() -> None:
    """The installed version is the tested version of discover.py."""
    assert probe_program(require_claude()) == Health(HealthState.HEALTHY, CLAUDE.tested_version)


@pytest.mark.smoke
def test_no_flag_of_ours_is_gone() -> None:
    """The real help lists every flag that the executor passes."""
    assert find_drift(require_claude(), ClaudeExecutor.spec) == []
    assert (read_help(require_claude()) or frozenset()) > list_flags(ClaudeExecutor.spec)[()]


def test_unknown_flag_names_the_version(tmp_path: Path) -> None:
    """An unknown flag is not retried, and the message names the version."""
    with FakeLlm([say("OK")]) as llm:
        result = Seat(tmp_path, llm, "--no-such-flag").spawn()
    assert result.code is Code.AGENT_INCOMPATIBLE
    assert "'--no-such-flag'" in result.message
    assert f"found {CLAUDE.tested_version}" in result.message
