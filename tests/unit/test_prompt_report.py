"""An agent's report in its state file and in `ostler report`."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.errors import UsageError
from ostler.prompt.report import STATUSES, AgentReport, StateFileReport, parse_report, parse_state_file


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("status: completed\n", AgentReport("complete")),
        ('status: "complete"\n', AgentReport("complete")),
        ("status: done", AgentReport("complete")),
        ("status: Completed", AgentReport("complete")),
        ("status: blocked\nreason: no key\n", AgentReport("blocked", "no key")),
        ("status: blocked\nmessage: no key\n", AgentReport("blocked", "no key")),
        ("status: blocked\nreason: null\nmessage: null\n", AgentReport("blocked")),
        ("status: failed\nreason: it burns\n", AgentReport("blocked", "it burns")),
        (
            "status: paused\nreason: |\n  which colour?\n  red?\n",
            AgentReport("paused", "which colour?\nred?"),
        ),
        ("status: needs_review\n", AgentReport("needs_review")),
        ("status: needs-review\n", AgentReport("needs_review")),
        ("status: in_review\n", AgentReport("needs_review")),
        ("status: in-review\n", AgentReport("needs_review")),
        ("id: x\ntitle: 2024-99-99\nphases: [{status: blocked}]\nstatus: paused\n", AgentReport("paused")),
        ('{"status": "paused", "reason": "why"}', AgentReport("paused", "why")),
    ],
)
def test_words(text: str, word: AgentReport) -> None:
    """C85: the top status counts, in any spelling of the seeds."""
    assert parse_state_file(text) == StateFileReport(word)


@pytest.mark.parametrize(
    "status", ["in_progress", "in-progress", "running", "pending", "assigned", "revision"]
)
def test_a_status_of_work_that_goes_on_is_no_word(status: str) -> None:
    """The file as Ostler wrote it has no report and no warning."""
    assert parse_state_file(f"status: {status}\n") == StateFileReport()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not a mapping"),
        ("\0", "cannot be read"),
        ("status", "not a mapping"),
        ("- status: completed", "not a mapping"),
        ("title: x", "no status"),
        ("status:\n", "no status"),
        ("status: [completed]", "no status"),
        ("status: true", "cannot report: 'true'"),
        ("status: approved", "cannot report: 'approved'"),
        ("status: cancelled", "cannot report"),
        ("status: finished!", "cannot report"),
        ("status: paused\nstatus: completed", "given twice"),
        ("status: paused\n---\nstatus: completed", "cannot be read"),
        ("status: &a paused\nreason: *a", "aliases and tags"),
        ("status: !!python/object:os.system paused", "aliases and tags"),
        ("status: {", "cannot be read"),
        ("x: " + "[" * 5000, "nested too deeply"),
        ("- " * 5000, "nested too deeply"),
        ("status: paused\nreason: " + "x" * 70_000, "larger than 64 KiB"),
        ("status: " + "x" * 60_000, "cannot report"),
    ],
)
def test_garbage_is_a_warning(text: str, words: str) -> None:
    """A meaningless file never ends a phase, and its warning is short."""
    reading = parse_state_file(text)
    assert reading.report is None and words in reading.warning
    assert len(reading.warning) < 300 and "\n" not in reading.warning


@given(st.text(alphabet="status:completd \n-[]{}&*!|>'\"#%?,0"))
def test_nothing_that_an_agent_writes_raises(text: str) -> None:
    """Any text is a report, a warning, or the status of work in progress."""
    reading = parse_state_file(text)
    assert reading.report is None or not reading.warning


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "piece", ["[", "{", "- ", "? ", "a: ", '"', "'", "#\n", "a: b\n", "|\n", "%", "\t", ", ", "{a: "]
)
def test_the_worst_file_is_read_soon(piece: str) -> None:
    """The largest file that is read takes little time."""
    begun = time.monotonic()
    parse_state_file(("x: " + piece * 65_000)[:65_000])
    assert time.monotonic() - begun < 20


def test_a_report_takes_four_statuses_and_lists_them() -> None:
    """The statuses that an agent can report, and the error for others."""
    assert [parse_report(status, " why ") for status in STATUSES] == [AgentReport(s, "why") for s in STATUSES]
    for status in ("", "approved", "in_progress", "x" * 999):
        with pytest.raises(UsageError, match="invalid status") as caught:
            parse_report(status)
        assert "needs_review" in caught.value.hint and len(caught.value.message) < 200
