"""The variables that an executor declares."""

from __future__ import annotations

import pytest

from ostler.executors.claude.executor import CAPABILITIES
from ostler.executors.protocol import select_environment

OURS = {
    "ANTHROPIC_API_KEY": "k",
    "CLAUDE_CONFIG_DIR": "/c",
    "CLAUDE_CODE_OAUTH_TOKEN": "t",
    "CLAUDECODE": "1",
    "CLAUDE_CODE_SESSION_ID": "outer",
    "SSH_AUTH_SOCK": "/s",
    "AWS_PROFILE": "p",
    "GOOGLE_APPLICATION_CREDENTIALS": "/g",
    "GITHUB_TOKEN": "g",
}
ALWAYS = {"ANTHROPIC_API_KEY", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN"}


@pytest.mark.parametrize(
    ("switches", "more"),
    [
        ({}, set()),
        ({"CLAUDE_CODE_USE_BEDROCK": "1"}, {"CLAUDE_CODE_USE_BEDROCK", "AWS_PROFILE"}),
        ({"CLAUDE_CODE_USE_VERTEX": "true"}, {"CLAUDE_CODE_USE_VERTEX", "GOOGLE_APPLICATION_CREDENTIALS"}),
        ({"CLAUDE_CODE_USE_BEDROCK": "0"}, {"CLAUDE_CODE_USE_BEDROCK"}),
    ],
)
def test_claude_gets_what_it_declares(switches: dict[str, str], more: set[str]) -> None:
    """Credentials are passed, those of a cloud on request; variables of an outer claude are not (C24)."""
    assert set(select_environment(CAPABILITIES, {**OURS, **switches})) == ALWAYS | more
