"""The results of tests: JUnit XML of pytest, or the numbers that other runners print."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

from msgspec import Struct

from ostler.engine.steps.workspaces.shell import read_end
from ostler.text import strip_control_characters

TestOutcome = Literal["passed", "failed", "skipped", "expected failure"]

_MAX_REPORT_BYTES = 50_000_000
_LOG_BYTES = 2_000_000  # from the end of the output
_DECLARATION = re.compile(rb"<!(DOCTYPE|ENTITY)", re.IGNORECASE)
_PASSED = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"\b(\d+) pass(?:ed|ing)\b",  # pytest, jest, vitest, cargo, mocha
        r"^\S?\s*pass (\d+)$",  # node --test
        r"^Ran (\d+) tests? in",  # unittest
        r"\bTests run: (\d+),",  # Maven
    )
)
_NOT_PASSED = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"^\w+ \(.*\bskipped=(\d+)",
        r"^\w+ \(.*\bexpected failures=(\d+)",
        r"\bTests run:.* Skipped: (\d+)",
    )
)

_PASSED_LINES = re.compile(r"^\s*--- PASS:|^ok \d+(?!.*# (?:SKIP|TODO))", re.MULTILINE)  # go test -v, TAP


class TestResults(Struct, frozen=True):
    """The results of one run."""

    __test__ = False  # not a test itself
    outcomes: dict[str, TestOutcome]  # by the name of the test; empty: not reported one by one
    passed: int | None = None  # number of tests that passed; None: unknown


def report_tests(command: str, report: str) -> str:
    """Return the command with the request that pytest writes a report.

    `report` is relative to the directory of the command. Other runners ignore the request.
    """
    option = f"'--junitxml=$PWD/{report}'"
    return f'export PYTEST_ADDOPTS="${{PYTEST_ADDOPTS-}} {option}"\n{command}'


def read_results(report: Path, log: Path) -> TestResults:
    """Return the results from the report, and the number of passed tests from the output."""
    return TestResults(_read_report(report), count_passed(read_end(log, _LOG_BYTES)))


def count_passed(output: str) -> int | None:
    """Return the number of passed tests in the output; None if it has none."""
    text = strip_control_characters(output)
    totals = [_add_numbers(pattern, text) for pattern in _PASSED if pattern.search(text)]
    lines = len(_PASSED_LINES.findall(text))
    if not totals and not lines:
        return None
    others = sum(_add_numbers(pattern, text) for pattern in _NOT_PASSED)
    # A runner may print both a line per test and a total.
    return max(0, max((*totals, lines)) - others)


def _add_numbers(pattern: re.Pattern[str], text: str) -> int:
    return sum(int(number) for number in pattern.findall(text))


def _read_report(report: Path) -> dict[str, TestOutcome]:
    try:
        # The command can have put a link or a pipe there.
        with os.fdopen(os.open(report, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode) or facts.st_size > _MAX_REPORT_BYTES:
                return {}
            content = file.read(_MAX_REPORT_BYTES)
        if _DECLARATION.search(content):
            return {}
        root = ElementTree.fromstring(content)  # noqa: S314  (has no declarations of entities)
    except (OSError, ElementTree.ParseError):
        return {}
    found: dict[str, TestOutcome] = {}
    for case in root.iter("testcase"):
        name = "::".join(filter(None, (case.get("classname", ""), case.get("name", ""))))
        # A test with an error in its teardown is reported twice.
        found[name] = "failed" if found.get(name) == "failed" else _read_outcome(case)
    return found


def _read_outcome(case: ElementTree.Element) -> TestOutcome:
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    skipped = case.find("skipped")
    if skipped is None:
        return "passed"
    return "expected failure" if skipped.get("type") == "pytest.xfail" else "skipped"
