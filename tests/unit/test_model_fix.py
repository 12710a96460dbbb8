"""Every code has a fix that a person can apply."""

from __future__ import annotations

import re

import pytest

from ostler.cli.app import COMMANDS
from ostler.errors import CODES, Code, WarningCode
from ostler.model.fix import FIXES, WARNINGS


def test_every_code_has_a_fix() -> None:
    """The three tables have the same codes."""
    assert set(FIXES) == set(CODES) == set(Code)
    assert set(WARNINGS) == set(WarningCode)


@pytest.mark.parametrize("code", list(Code))
def test_a_fix_is_one_phrase_with_commands_that_exist(code: Code) -> None:
    """The commands in a fix exist."""
    fix = FIXES[code]
    assert fix and "\n" not in fix and not fix.endswith(".")
    assert set(re.findall(r"\bostler (\w+)", fix)) <= set(COMMANDS)
