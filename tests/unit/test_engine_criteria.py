"""The criteria of an auto gate."""

from __future__ import annotations

import time

import pytest

from ostler.engine.steps.gates.criteria import find_error_lines, list_unmet_criteria

MARK = "<phase_complete>true</phase_complete>"

REPORTED = (
    "Error: cannot find module 'x'",
    "error: expected `;`",
    "ERROR tests/test_a.py::test_b - ValueError",
    "[ERROR] the build failed",
    "fatal: not a git repository",
    "- **Error:** the login still fails",
    "> error: quoted output counts as well",
    "src/main.c:12:5: error: expected ';' before '}' token",
    "src/a.ts(3,4): error TS2304: Cannot find name 'x'.\nerror: 1 file",
    "error[E0308]: mismatched types",
    "npm ERR! code ELIFECYCLE",
    "Traceback (most recent call last):",
    "TypeError: x is not a function",
    "E   AssertionError: assert 1 == 2",
    "java.lang.NullPointerException: null",
    "Found 3 errors in 2 files",
    "1 error generated.",
    "2 failed, 1 error in 0.5s",
    "Errors: 4",
    "panic: runtime error: index out of range",
)
HARMLESS = (
    "0 errors",
    "0 errors, 0 warnings, 0 notes",
    "No errors found.",
    "no error",
    "Errors: 0",
    "error: none",
    "Error: no errors",
    "I improved the error handling in login.py.",
    "Added error messages for three cases.",
    "Fixed 3 errors in the parser",
    "All 2 errors were resolved.",
    "Handles 404 error pages",
    "Covers 3 error cases",
    "The `ValidationError` class now has a docstring",
    "raise ValueError when the name is empty",
    "the terror of errors",
    "10.0 errors per hour before, 0 now",
    "",
)


@pytest.mark.parametrize("line", REPORTED)
def test_a_line_that_reports_an_error_is_found(line: str) -> None:
    """The formats of compilers, test runners, shells and people are recognised."""
    assert find_error_lines(f"All good so far.\n{line}\nDone.")


@pytest.mark.parametrize("line", HARMLESS)
def test_a_line_that_only_mentions_errors_is_not(line: str) -> None:
    """`0 errors` and `error handling` are not errors (mistake 17 of the seed)."""
    assert find_error_lines(f"All good so far.\n{line}\nDone.") == []


@pytest.mark.parametrize(
    ("criteria", "text", "open_ones"),
    [
        ((), "", 0),
        (("has_output",), "something", 0),
        (("has_output",), " \n", 1),
        (("has_output",), MARK, 1),
        (("has_completion_marker",), f"done\n{MARK}", 0),
        (("has_completion_marker",), "done\n<test_complete>true</test_complete>", 0),
        (("has_completion_marker",), "done\n<spec_complete>true</spec_complete>", 1),
        (("has_completion_marker",), f"say `{MARK}` when done", 1),
        (("has_completion_marker",), f"{MARK}\n<phase_blocked>no</phase_blocked>", 1),
        (("has_completion_marker",), '{"status": "complete", "reason": "", "summary": "ok"}', 0),
        (("has_completion_marker",), '{"status": "blocked", "reason": "no", "summary": ""}', 1),
        (("no_errors",), "0 errors", 0),
        (("no_errors",), "Error: it broke", 1),
        (("All tests pass",), "All tests pass.", 0),
        (("All tests pass",), "all tests pass", 1),
        (("has_output", "no_errors", "coverage"), "Error: x", 2),
    ],
)
def test_each_criterion_is_held_against_the_text(
    criteria: tuple[str, ...], text: str, open_ones: int
) -> None:
    """Every unmet criterion is reported; unknown criteria have to occur literally."""
    found = list_unmet_criteria(criteria, text, "test")
    assert len(found) == open_ones
    assert all(any(criterion in one for criterion in criteria) for one in found)


@pytest.mark.parametrize(
    "text", ["a" * 300_000, "1 " * 150_000, "a." * 150_000 + "Error", "0" * 300_000, ": " * 150_000]
)
def test_a_long_line_takes_no_longer_than_it_is_long(text: str) -> None:
    """No pattern backtracks quadratically."""
    began = time.monotonic()
    find_error_lines(text)
    assert time.monotonic() - began < 10
