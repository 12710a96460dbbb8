"""Every code has a cure that a person can act on."""

from __future__ import annotations

import re

import pytest

from ostler.cli.app import COMMANDS
from ostler.errors import CODES, Code, Warn
from ostler.model.cure import CURES, WARNINGS


def test_no_code_is_without_a_cure() -> None:
    """The three tables have the same codes."""
    assert set(CURES) == set(CODES) == set(Code)
    assert set(WARNINGS) == set(Warn)


@pytest.mark.parametrize("code", list(Code))
def test_a_cure_is_one_phrase_with_commands_that_exist(code: Code) -> None:
    """What it tells to type can be typed."""
    cure = CURES[code]
    assert cure and "\n" not in cure and not cure.endswith(".")
    assert set(re.findall(r"\bostler (\w+)", cure)) <= set(COMMANDS)
