"""The real codex, gemini, qwen, opencode and copilot in a sandbox, with a local model server."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.model.call import ToolReturned, WarningRaised
from ostler.testing.fake_llm import FakeLlm, say
from real_agents import ADAPTERS, AGENTS, KEY, Seat, turns
from sandboxed_seat import SandboxedSeat, texts

pytestmark = pytest.mark.full

PARTS = f"{KEY[:6]}'{KEY[6:]}'"  # so that the command itself is no match
# Without substitutions, which gemini refuses.
COMMAND = (
    f"cat /proc/*/environ 2>/dev/null | grep -a {PARTS}; "
    f"grep -rac {PARTS} $HOME | grep -v ':0$'; echo searched; "
    "git add -A && git commit -qm work && echo COMMITTED; "
    "curl -sS -m 5 https://foreign.example/; echo connect $?"
)


@pytest.mark.parametrize("name", AGENTS)
def test_a_real_agent_works_in_a_sandbox(name: str, tmp_path: Path) -> None:
    """It edits, runs a command, commits and resumes its session; its key stays outside."""
    wanted = [
        AGENTS[name].write(tmp_path / "workspace" / "hello.txt"),
        AGENTS[name].shell(COMMAND),
        say("Done."),
        say("Again."),
    ]
    with FakeLlm(turns([*wanted])) as llm:
        inner = Seat(name, tmp_path, llm, "auto")
        seat = SandboxedSeat(inner)
        seat.make_repository()
        first = seat.run("PROMPT-ONE")
        second = seat.run("PROMPT-TWO", first.session_id, resume=True)
    assert (first.code, first.text, second.code, second.text) == (None, "Done.", None, "Again."), (
        first.message
    )
    assert llm.prompts[-1].holds("PROMPT-ONE") and second.session_id == first.session_id
    output = texts(inner.events, ToolReturned, "text")
    assert "searched" in output and "COMMITTED" in output and "connect 56" in output, output
    assert ":1" not in output and KEY not in output, output
    assert seat.git("log", "--format=%s") == "work\nfirst"
    assert (inner.workspace / "hello.txt").read_text() == "hello\n"
    assert "foreign.example:443" in seat.refusals
    assert inner.received(WarningRaised) == [] and inner.processes() == []
    assert seat.opened[0].permissions == "skip"


@pytest.mark.parametrize("name", ADAPTERS)
def test_an_adapter_works_in_a_sandbox(name: str, tmp_path: Path) -> None:
    """The adapters of claude and codex call the model through the proxy and resume their session."""
    with FakeLlm([say("Done.")]) as llm:
        inner = Seat(name, tmp_path, llm, "auto", kind=name.replace("-agent", ""))
        seat = SandboxedSeat(inner)
        first = seat.run("PROMPT-ONE")
        second = seat.run("PROMPT-TWO", first.session_id, resume=True)
    assert [(one.code, one.text) for one in (first, second)] == [(None, "Done.")] * 2, first.message
    assert llm.prompts[-1].holds("PROMPT-ONE") and seat.refusals == []
