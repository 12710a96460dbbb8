"""The other real agents continue their session on another machine, in another directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.errors import Code
from ostler.executors.sessions import SESSION_PLACES, read_session, write_session
from ostler.testing.fake_llm import FakeLlm, say
from real_agents import Seat, turns


@pytest.mark.parametrize("name", sorted(SESSION_PLACES.keys() - {"claude"}))
def test_the_session_continues_elsewhere(name: str, tmp_path: Path) -> None:
    """The model gets the history; without the files the agent finds no session."""
    with FakeLlm(turns([say("ANSWER-ONE"), say("ANSWER-TWO")])) as llm:
        a, b = Seat(name, tmp_path / "a.x", llm), Seat(name, tmp_path / "b_y" / "z", llm)
        first = a.spawn("PROMPT-ONE")
        missing = b.resume("PROMPT-TWO", first.session_id)
        before = len(llm.prompts)
        home = Path(a.environ["HOME"])
        saved = read_session(name, first.session_id, home, a.environ, a.workspace)
        assert saved
        write_session(name, saved, Path(b.environ["HOME"]), b.environ, b.workspace)
        second = b.resume("PROMPT-TWO", first.session_id)
    assert missing.code is Code.SESSION_NOT_FOUND, missing.message
    assert (second.code, second.text) == (None, "ANSWER-TWO"), second.message
    assert second.session_id == first.session_id
    assert all(llm.prompts[before].holds(text) for text in ("PROMPT-ONE", "ANSWER-ONE", "PROMPT-TWO"))
