"""A test of the tests: each mutant of a safety line is detected by the tests that the table names."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from mutants.run import run_control, run_mutant
from mutants.table import Mutant, load_table

TABLE = load_table()
LOCK_TEST = "unit/test_files_lock.py::test_one_owner"
PROGRAM_TEST = "acceptance/test_secrets.py::test_no_prompt_and_no_secret_is_an_argument"
SIGN = "this is the mutated copy"


def broken(module: str, tests: tuple[str, ...]) -> Mutant:
    """A module that ends every process that imports it."""
    return Mutant(module, "from __future__ import annotations", f"raise SystemExit({SIGN!r})", tests, "")


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize("name", TABLE)
def test_each_mutant_is_killed(name: str) -> None:
    """On a copy of the package with one expression replaced, at least one named test fails."""
    result = run_mutant(TABLE[name])
    if result.outcome == "skipped":
        pytest.skip("its tests do not run on this machine")
    assert result.outcome == "killed", f"{TABLE[name].reason}\n{result.output}"


def test_the_tests_run_on_the_copy() -> None:
    """Positive control: a package that cannot be imported is detected, and an unchanged one is not."""
    result = run_mutant(broken("ostler.errors", (LOCK_TEST,)))
    assert result.outcome == "failed" and SIGN in result.output, result.output
    assert run_control([LOCK_TEST]).outcome == "survived"


def test_programs_that_tests_start_run_on_the_copy() -> None:
    """Positive control: a change that only `python -m ostler` executes is detected."""
    start = '__name__ == "__main__"'
    mutant = Mutant("ostler.__main__", start, f"{start} and exit({SIGN!r})", (PROGRAM_TEST,), "")
    result = run_mutant(mutant)
    assert result.outcome == "killed" and SIGN in result.output, result.output


@pytest.mark.full
def test_a_mutant_that_no_test_detects_survives() -> None:
    """Negative control: a test that does not use the line passes on the copy."""
    mutant = replace(TABLE["no-sigcont-with-term"], tests=(LOCK_TEST,))
    assert run_mutant(mutant).outcome == "survived"
