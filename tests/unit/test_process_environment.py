"""The environment variables of a child."""

from __future__ import annotations

import pytest

from ostler.process.environment import build_child_environment


@pytest.mark.parametrize(
    ("name", "allow", "passes"),
    [
        ("PATH", (), True),
        ("LC_CTYPE", (), True),
        ("https_proxy", (), True),
        ("XDG_CONFIG_HOME", (), True),
        ("AWS_SECRET_ACCESS_KEY", (), False),
        ("PYTHONPATH", (), False),
        ("ANTHROPIC_API_KEY", ("ANTHROPIC_*",), True),
        ("ANTHROPIC_API_KEY", ("anthropic_*",), False),
        ("CLAUDECODE", ("CLAUDECODE", "*"), False),
        ("SSH_AUTH_SOCK", ("SSH_AUTH_SOCK",), False),
        ("CLAUDE_CODE_OAUTH_TOKEN", ("CLAUDE_CODE_OAUTH_TOKEN",), True),
        ("CLAUDE_CODE_USE_BEDROCK", ("CLAUDE_CODE_USE_*",), True),
        ("CLAUDE_CODE_SESSION_ID", ("CLAUDE_CODE_USE_*",), False),
        ("CLAUDE_CODE_SESSION_ID", ("*", "CLAUDE*", "CLAUDE_CODE_*"), False),
    ],
)
def test_inherited_variables_pass_only_when_listed(name: str, allow: tuple[str, ...], passes: bool) -> None:
    """The base list, variables allowed by name or pattern, and the few that are never passed."""
    assert build_child_environment({name: "x"}, allow, {}) == ({name: "x"} if passes else {})


def test_extra_wins_and_is_not_filtered() -> None:
    """Variables set by the executor are passed unchanged."""
    extra = {"PATH": "/opt/bin", "SSH_AUTH_SOCK": "mine"}
    assert build_child_environment({"PATH": "/bin", "HOME": "/h"}, (), extra) == {"HOME": "/h", **extra}
