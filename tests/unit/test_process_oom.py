"""Evidence that the kernel killed something for want of memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.errors import Code
from ostler.executors.ending import ending_of
from ostler.model.command import Exit
from ostler.process import oom


@pytest.fixture
def counter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A counter of our own."""
    path = tmp_path / "memory.events"
    path.write_text("low 0\nmax 17\noom 3\noom_kill 2\noom_group_kill 9\n")
    monkeypatch.setattr(oom, "_counter", lambda: path)
    return path


def test_more_kills_than_before_are_evidence(counter: Path) -> None:
    """The count is that of oom_kill alone, and only a rise of it counts."""
    before = oom.count_oom_kills()
    assert before == 2
    assert not oom.oom_killed_since(before)
    counter.write_text("oom 4\noom_kill 3\n")
    assert oom.oom_killed_since(before)


@pytest.mark.parametrize("content", ["", "oom_kill_disable 0\nunder_oom 0\n", "oom_kill many\n"])
def test_a_counter_that_says_nothing_is_no_evidence(counter: Path, content: str) -> None:
    """Without a figure on both sides nothing is claimed."""
    counter.write_text(content)
    assert oom.count_oom_kills() is None
    assert not oom.oom_killed_since(2)
    counter.unlink()
    assert oom.count_oom_kills() is None
    assert not oom.oom_killed_since(None)


@pytest.mark.parametrize(
    ("status", "oom_killed", "code"),
    [
        (-9, True, Code.AGENT_OOM),
        (137, True, Code.AGENT_OOM),  # a shell around the agent tells it so
        (-9, False, Code.AGENT_KILLED),
        (137, False, Code.AGENT_KILLED),
        (-15, True, Code.AGENT_KILLED),
        (-11, True, Code.AGENT_KILLED),
        (1, True, Code.AGENT_FAILED),
    ],
)
def test_a_death_is_named_by_its_evidence(status: int, oom_killed: bool, code: Code) -> None:
    """Only KILL, and only when the kernel was killing for memory meanwhile, is AGENT_OOM."""
    ending = ending_of(Exit(status, 3.0, oom_killed=oom_killed, peak_memory_mb=700), "claude")
    assert ending.code is code
    assert ("after taking 700 MB" in ending.message) is (code is Code.AGENT_OOM)


def test_a_heap_that_is_used_up_is_want_of_memory() -> None:
    """Node aborts with these words; a program that only mentions them and exits has failed otherwise."""
    said = (
        "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n 1: 0xb8 node\n"
    )
    aborted = ending_of(Exit(134, 3.0, stderr_tail=said), "gemini")
    assert aborted.code is Code.AGENT_OOM
    assert "NODE_OPTIONS" in aborted.message
    assert ending_of(Exit(1, 3.0, stderr_tail=said), "gemini").code is Code.AGENT_FAILED
