"""Whether someone is logged in to an agent, as its own program tells it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ostler.executors.known import CLAUDE, CODEX, GEMINI, KnownProgram
from ostler.executors.login import Login, check_login
from ostler.testing.fake_agent import fake_agent

ENVIRON = {"PATH": os.environ["PATH"]}


@pytest.mark.parametrize("known", [CLAUDE, CODEX], ids=lambda known: known.name)
def test_a_program_that_can_be_asked_is_believed(known: KnownProgram, tmp_path: Path) -> None:
    """Its yes is a yes and its no is a no; asking starts no work."""
    for logged_in, expected in ((True, Login.YES), (False, Login.NO)):
        path = fake_agent(tmp_path, known.name, logged_in=logged_in, ledger=str(tmp_path / "ledger"))
        assert check_login(known, str(path), ENVIRON) is expected
    assert not (tmp_path / "ledger").exists()


def test_a_pretty_printed_no_is_a_no(tmp_path: Path) -> None:
    """The real claude spreads its answer over lines."""
    path = tmp_path / "claude"
    path.write_text("#!/bin/sh\nprintf '{\\n  \"loggedIn\": false\\n}\\n'\nexit 1\n")
    path.chmod(0o755)
    assert check_login(CLAUDE, str(path), ENVIRON) is Login.NO


def test_nothing_is_claimed_without_an_answer(tmp_path: Path) -> None:
    """No way to ask, a key that the check passes over, a program that is gone or breaks: not known."""
    codex = fake_agent(tmp_path, "codex", logged_in=False)
    assert check_login(CODEX, str(codex), ENVIRON | {"OPENAI_API_KEY": "k"}) is Login.UNKNOWN
    assert check_login(GEMINI, str(fake_agent(tmp_path, "gemini")), ENVIRON) is Login.UNKNOWN
    assert check_login(CLAUDE, str(tmp_path / "gone"), ENVIRON) is Login.UNKNOWN
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho unknown command; exit 2\n")
    broken.chmod(0o755)
    assert check_login(CLAUDE, str(broken), ENVIRON) is Login.UNKNOWN
