"""The settings of one executor, by its name."""

from __future__ import annotations

import pytest

from ostler.config.executor import executor_settings
from ostler.config.settings import ExecutorSettings, Settings
from ostler.errors import UsageError

MINE = ExecutorSettings(type="command", command="my-agent")
CLAUDE = ExecutorSettings(args=("--verbose",))


@pytest.mark.parametrize(
    ("sections", "name", "found"),
    [
        ({}, "claude", ExecutorSettings(type="claude")),
        ({}, "claude-code", ExecutorSettings(type="claude")),
        ({}, "command", ExecutorSettings(type="command")),
        ({}, "scripted", ExecutorSettings(type="scripted")),
        ({"mine": MINE}, "mine", MINE),
        ({"mine": ExecutorSettings()}, "mine", ExecutorSettings(type="mine")),
        ({"mine": ExecutorSettings(type="claude-code")}, "mine", ExecutorSettings(type="claude")),
        ({"claude": CLAUDE}, "claude-code", ExecutorSettings(type="claude", args=("--verbose",))),
        ({"claude-code": CLAUDE}, "claude", ExecutorSettings(type="claude", args=("--verbose",))),
        ({"claude": MINE, "claude-code": CLAUDE}, "claude", MINE),
    ],
)
def test_the_section_of_a_name(
    sections: dict[str, ExecutorSettings], name: str, found: ExecutorSettings
) -> None:
    """A built-in needs no section, an alias finds the other's, and the type is always filled in."""
    assert executor_settings(Settings(executors=sections), name) == found


def test_an_unknown_name_is_told_with_the_known_ones() -> None:
    """A misspelled executor ends with exit 2 and the list to choose from."""
    with pytest.raises(UsageError) as caught:
        executor_settings(Settings(executors={"mine": MINE}), "cloude")
    assert caught.value.message == "unknown executor: cloude"
    assert caught.value.hint == "known executors: claude, command, mine, scripted"
    assert caught.value.exit == 2
