"""The reason of a retry."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ostler.markdown import blank_code
from ostler.prompt.completion import check_phase_completion
from ostler.prompt.retry import (
    Retry,
    format_retry_file,
    format_retry_note,
    make_retry_file_name,
    shorten_retry_output,
)

MARK = "<phase_complete>true</phase_complete>"


def test_the_file_has_everything() -> None:
    """From, to, attempt, time, reason and the whole output (C106)."""
    output = "x" * 100_000 + "\n2 failed"
    text = format_retry_file("test", "implement", 2, 0.0, "the gate said no", output)
    for line in (
        "- From phase: test",
        "- Back to phase: implement",
        "- Attempt: 2",
        "- Time: 1970-01-01T00:00:00.000Z",
        "the gate said no",
        "2 failed",
    ):
        assert line in text.splitlines()
    assert output in text
    assert make_retry_file_name("test", 2) == "retry-context-test-2.md"


def test_missing_values_are_stated() -> None:
    """A missing reason or output is stated."""
    text = format_retry_file("test", "implement", 1, 0.0, " ", "")
    assert "None was given." in text and "There was none." in text
    assert "no reason was given" in format_retry_note(Retry("test", "implement", 1, ""), "implement")


def test_the_prompt_gets_the_end_of_a_long_output() -> None:
    """The end of the output, and the path of the rest."""
    retry = Retry("test", "implement", 1, "why " * 999, "BEGIN" + "x" * 100_000 + "2 failed", "/t/file.md")
    note = format_retry_note(retry, "implement")
    assert len(note) < 10_000 and "2 failed" in note and "BEGIN" not in note and "/t/file.md" in note
    assert len(shorten_retry_output(retry)) < 8_100


@given(st.text(alphabet="`~ax\n"))
def test_no_output_breaks_out_of_its_block(output: str) -> None:
    """No fence in the output closes the block."""
    note = format_retry_note(Retry("test", "implement", 1, "it failed", output, "/t/file.md"), "implement")
    assert "The full text is in /t/file.md." in blank_code(note)
    hidden = Retry("test", "implement", 1, "no", f"aax{output}aax")
    assert "aax" not in blank_code(format_retry_note(hidden, "implement"))


def test_marks_in_an_output_are_ignored() -> None:
    """An echoed note has no effect, and the agent's own mark beside it counts."""
    note = format_retry_note(Retry("test", "implement", 1, f"no {MARK}", f"Done.\n{MARK}"), "implement")
    assert check_phase_completion(note, "implement") is None
    own = check_phase_completion(f"Done.\n{MARK}", "implement", note)
    assert own is not None and own.kind == "complete"


def test_only_the_phase_that_repeats_the_work_corrects_it() -> None:
    """A phase after it, such as test, gets the reason, and must not be asked to fix the cause."""
    retry = Retry("test", "implement", 1, "2 failed", "", "/t/file.md")
    again = format_retry_note(retry, "implement")
    assert "the work is back in implement" in again and "Find the cause and fix it" in again
    for later in ("test", "validate"):
        note = format_retry_note(retry, later)
        assert "implement has repeated its work since. The reason: 2 failed" in note
        assert "fix" not in note and "back in" not in note and "/t/file.md" in note
