"""An agent's word in its state file, and in `ostler report`."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.errors import UsageError
from ostler.prompt.report import STATUSES, Reading, Word, read_report, read_state_word


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("status: completed\n", Word("complete")),
        ('status: "complete"\n', Word("complete")),
        ("status: done", Word("complete")),
        ("status: Completed", Word("complete")),
        ("status: blocked\nreason: no key\n", Word("blocked", "no key")),
        ("status: blocked\nmessage: no key\n", Word("blocked", "no key")),
        ("status: blocked\nreason: null\nmessage: null\n", Word("blocked")),
        ("status: failed\nreason: it burns\n", Word("blocked", "it burns")),
        ("status: paused\nreason: |\n  which colour?\n  red?\n", Word("paused", "which colour?\nred?")),
        ("status: needs_review\n", Word("needs_review")),
        ("status: needs-review\n", Word("needs_review")),
        ("status: in_review\n", Word("needs_review")),
        ("status: in-review\n", Word("needs_review")),
        ("id: x\ntitle: 2024-99-99\nphases: [{status: blocked}]\nstatus: paused\n", Word("paused")),
        ('{"status": "paused", "reason": "why"}', Word("paused", "why")),
    ],
)
def test_words(text: str, word: Word) -> None:
    """C85: the top status counts, in any spelling that the seeds used."""
    assert read_state_word(text) == Reading(word)


@pytest.mark.parametrize(
    "status", ["in_progress", "in-progress", "running", "pending", "assigned", "revision"]
)
def test_a_status_of_work_that_goes_on_is_no_word(status: str) -> None:
    """What Ostler itself wrote there says nothing, and nothing is to be warned of."""
    assert read_state_word(f"status: {status}\n") == Reading()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not a list"),
        ("\0", "cannot be read"),
        ("status", "not a list"),
        ("- status: completed", "not a list"),
        ("title: x", "no status"),
        ("status:\n", "no status"),
        ("status: [completed]", "no status"),
        ("status: true", "cannot give: 'true'"),
        ("status: approved", "cannot give: 'approved'"),
        ("status: cancelled", "cannot give"),
        ("status: finished!", "cannot give"),
        ("status: paused\nstatus: completed", "given twice"),
        ("status: paused\n---\nstatus: completed", "cannot be read"),
        ("status: &a paused\nreason: *a", "aliases and tags"),
        ("status: !!python/object:os.system paused", "aliases and tags"),
        ("status: {", "cannot be read"),
        ("x: " + "[" * 5000, "nested too deeply"),
        ("- " * 5000, "nested too deeply"),
        ("status: paused\nreason: " + "x" * 70_000, "larger than 64 KiB"),
        ("status: " + "x" * 60_000, "cannot give"),
    ],
)
def test_garbage_is_no_word_but_a_warning(text: str, words: str) -> None:
    """A file that means nothing never ends a phase, and is spoken of shortly."""
    reading = read_state_word(text)
    assert reading.word is None and words in reading.warning
    assert len(reading.warning) < 300 and "\n" not in reading.warning


@given(st.text(alphabet="status:completd \n-[]{}&*!|>'\"#%?,0"))
def test_nothing_that_an_agent_writes_raises(text: str) -> None:
    """Any text is a word, a warning, or the status of work that goes on."""
    reading = read_state_word(text)
    assert reading.word is None or not reading.warning


@pytest.mark.parametrize(
    "piece", ["[", "{", "- ", "? ", "a: ", '"', "'", "#\n", "a: b\n", "|\n", "%", "\t", ", ", "{a: "]
)
def test_the_worst_file_is_read_soon(piece: str) -> None:
    """The largest file that is read at all costs little."""
    begun = time.monotonic()
    read_state_word(("x: " + piece * 65_000)[:65_000])
    assert time.monotonic() - begun < 20


def test_a_report_takes_four_statuses_and_says_so() -> None:
    """What an agent may say, and what it is told when it says something else."""
    assert [read_report(status, " why ") for status in STATUSES] == [Word(s, "why") for s in STATUSES]
    for status in ("", "approved", "in_progress", "x" * 999):
        with pytest.raises(UsageError, match="cannot report") as caught:
            read_report(status)
        assert "needs_review" in caught.value.hint and len(caught.value.message) < 200
