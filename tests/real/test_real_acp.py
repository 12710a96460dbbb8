"""The real ACP agents and both adapters with a local model server; only in make test-full."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest

from fresh_prompts import fresh
from ostler.errors import Code
from ostler.model.call import LineSkipped, SessionReplaced, ToolDenied, ToolUsed
from ostler.testing.fake_llm import FakeLlm, Turn, fail, say
from real_agents import ADAPTERS, AGENTS, Seat, turns

PROGRAMS = {
    "gemini": "gemini-acp",
    "qwen": "qwen-acp",
    "opencode": "opencode-acp",
    "copilot": "copilot-acp",
    "claude-agent-acp": "claude-acp",
    "codex-acp": "codex-acp",
}

pytestmark = [
    pytest.mark.parametrize("name", PROGRAMS),
]


def seat(name: str, directory: Path, llm: FakeLlm, permissions: Any = "accept-edits") -> Seat:
    return Seat(name, directory, llm, permissions, kind=PROGRAMS[name])


def answers(name: str, *expected: Turn) -> FakeLlm:
    """Return the answers for the adapter of codex, whose tools have other names."""
    return FakeLlm(list(expected) if name == "codex-acp" else turns(list(expected)))


def test_a_tool_edits_a_file_and_the_session_continues(name: str, tmp_path: Path) -> None:
    """An edit is allowed, the text and the tool are reported, and a second process resumes the session."""
    write = (AGENTS | ADAPTERS)[name].write(tmp_path / "workspace" / "hello.txt")
    with answers(name, write, say("ANSWER-ONE"), say("ANSWER-TWO")) as llm:
        bench = seat(name, tmp_path, llm)
        first = bench.spawn("PROMPT-ONE")
        assert first.code is None and first.text.endswith("ANSWER-ONE"), first.message
        assert (bench.workspace / "hello.txt").read_text() == "hello\n"
        assert (len(bench.received(ToolUsed)), bench.received(LineSkipped)) == (1, [])
        second = bench.resume("PROMPT-TWO", first.session_id)
        assert bench.processes() == []
    can = bench.executor.capabilities
    assert second.code is (None if can.resumes else Code.RESUME_UNSUPPORTED), second.message
    assert not can.resumes or (second.text, second.session_id) == ("ANSWER-TWO", first.session_id)
    assert (first.usage.total > 0) == can.reports_usage
    assert (first.cost_usd is not None) == can.reports_cost


def test_nothing_is_done_without_permission(name: str, tmp_path: Path) -> None:
    """With `ask` a command does not run."""
    shell = (AGENTS | ADAPTERS)[name].shell("echo hi > made.txt")
    with answers(name, shell, say("I could not.")) as llm:
        bench = seat(name, tmp_path, llm, "ask")
        result = bench.spawn()
    assert not (bench.workspace / "made.txt").exists()
    assert result.code is None, result.message
    decides_itself = name in ("opencode", "codex-acp")
    assert bool(bench.received(ToolDenied)) != decides_itself


def test_unknown_session_is_replaced_with_the_fresh_prompt(name: str, tmp_path: Path) -> None:
    """A lost session is replaced by a new one with the fresh prompt, and that is reported."""
    with answers(name, say("ANSWER")) as llm:
        bench = seat(name, tmp_path, llm)
        result = bench.resume("Go on.", str(uuid.uuid4()), fresh_prompt=fresh("THE-WHOLE-TASK"))
    if not bench.executor.capabilities.resumes:
        assert result.code is Code.RESUME_UNSUPPORTED
        return
    assert result.code is None and result.text.endswith("ANSWER"), result.message
    assert bench.received(SessionReplaced) == [SessionReplaced(result.session_id, resumed=False)]
    assert any(request.holds("THE-WHOLE-TASK") for request in llm.prompts)


def test_refused_key_is_reported(name: str, tmp_path: Path) -> None:
    """401 is AUTH_FAILED, except for opencode, which does not report the status."""
    with FakeLlm([fail(401, "bad key")]) as llm:
        result = seat(name, tmp_path, llm).spawn()
    assert result.code is (Code.API_ERROR if name == "opencode" else Code.AUTH_FAILED), result.message
