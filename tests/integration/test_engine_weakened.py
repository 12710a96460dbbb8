"""Work that passes a gate by weakening its checks is detected; ordinary changes of tests are not."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from gate_world import GateWorld
from isolation import FakeIsolation
from ostler.errors import WarningCode
from ostler.model.event import GateDecided
from ostler.model.plan import Gate

PYTEST = f"{sys.executable} -m pytest -q -p no:cacheprovider"
TEST = "from price import total\n\n\n"
FIRST = "def test_adds():\n    assert total([1, 2]) == 3\n\n\n"
SECOND = "def test_empty():\n    assert total([]) == 0\n"
PRICE = "def total(prices):\n    return sum(prices)\n"
BROKEN = "def total(prices):\n    return sum(prices) or None\n"  # test_empty fails
BASE = {
    "price.py": PRICE,
    "tests/test_price.py": TEST + FIRST + SECOND,
    "pyproject.toml": "[project]\nname = 'shop'\nversion = '1'\n\n"
    "[tool.pytest.ini_options]\npythonpath = ['.']\n",
    "check.sh": f"set -e\n{PYTEST}\n",
    "Makefile": f"test:\n\t{PYTEST}\n",
}
RESET = "def pytest_sessionfinish(session):\n    session.exitstatus = 0\n"
SKIP = "import pytest\n"
FOUND = (WarningCode.CHECKS_WEAKENED,)


def gate(
    directory: Path, files: dict[str, str | None], command: str = PYTEST, base: dict[str, str] | None = None
) -> tuple[GateWorld, GateDecided]:
    """Check the gate on a commit that changes these files; None deletes one."""
    world = GateWorld(directory, base or BASE)
    for name, text in files.items():
        if text is None:
            (world.root / name).unlink()
    world.commit = world.world.commit({name: text for name, text in files.items() if text is not None})
    world.state = replace(world.state, commit=world.commit)
    return world, world.command(command)


WEAKENED: dict[str, tuple[dict[str, str | None], str, str]] = {
    "deleted": ({"price.py": BROKEN, "tests/test_price.py": TEST + FIRST}, PYTEST, "test_empty"),
    "a passing one deleted": (
        {"tests/test_price.py": TEST + FIRST},
        PYTEST,
        "gone: tests.test_price::test_empty",
    ),
    "its file deleted": (
        {"price.py": BROKEN, "tests/test_price.py": None, "tests/test_new.py": "def test_new():\n    pass\n"},
        PYTEST,
        "test_empty",
    ),
    "skipped": (
        {"tests/test_price.py": SKIP + TEST + FIRST + "@pytest.mark.skip\n" + SECOND},
        PYTEST,
        "skipped: tests.test_price::test_empty",
    ),
    "expected to fail": (
        {"price.py": BROKEN, "tests/test_price.py": SKIP + TEST + FIRST + "@pytest.mark.xfail\n" + SECOND},
        PYTEST,
        "test_empty",
    ),
    "exit status reset": ({"price.py": BROKEN, "tests/conftest.py": RESET}, PYTEST, "test_empty"),
    "exit status reset at the root": ({"price.py": BROKEN, "conftest.py": RESET}, PYTEST, "test_empty"),
    "deselected in pyproject.toml": (
        {"price.py": BROKEN, "pyproject.toml": BASE["pyproject.toml"] + "addopts = '-k adds'\n"},
        PYTEST,
        "test_empty",
    ),
    "deselected in a new pytest.ini": (
        {"pytest.ini": "[pytest]\npythonpath = .\naddopts = -k adds\n"},
        PYTEST,
        "gone: tests.test_price::test_empty",
    ),
    "script replaced": ({"price.py": BROKEN, "check.sh": "exit 0\n"}, "sh ./check.sh", "test_empty"),
    "make target replaced": ({"price.py": BROKEN, "Makefile": "test:\n\ttrue\n"}, "make test", "test_empty"),
    "another makefile": ({"price.py": BROKEN, "GNUmakefile": "test:\n\ttrue\n"}, "make test", "test_empty"),
    "renamed so that it is not collected": (
        {"tests/test_price.py": TEST + FIRST + SECOND.replace("test_empty", "check_empty")},
        PYTEST,
        "gone: tests.test_price::test_empty",
    ),
    "file renamed so that it is not collected": (
        {"tests/test_price.py": None, "tests/price_checks.py": TEST + FIRST + SECOND}
        | {"tests/test_new.py": "def test_new():\n    pass\n"},
        PYTEST,
        "gone: tests.test_price::test_adds",
    ),
    "assertion removed": (
        {"price.py": BROKEN, "tests/test_price.py": TEST + FIRST + "def test_empty():\n    total([])\n"},
        PYTEST,
        "test_empty",
    ),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", WEAKENED)
def test_weakened_checks_are_reported(tmp_path: Path, case: str) -> None:
    """The gate passes on the commit, a person is asked, and the list names the test."""
    files, command, line = WEAKENED[case]
    world, event = gate(tmp_path, files, command)
    assert (event.verdict, event.warnings) == ("pass", FOUND), world.output(event)
    assert event.review in event.reason and "gates/test-1.weakened.txt" in event.review
    assert event.check is not None and any(line in one for one in event.check.weakened)
    text = (world.home / "gates/test-1.weakened.txt").read_text()
    assert line in text and all(name in text for name in files if name != "price.py")
    assert world.leftovers() == []


HONEST: dict[str, tuple[dict[str, str | None], str]] = {
    "no test changed": ({"price.py": PRICE + "# more\n"}, PYTEST),
    "a test added": (
        {"price.py": PRICE + "\n\ndef tax(price):\n    return price / 5\n"}
        | {"tests/test_tax.py": "from price import tax\n\n\ndef test_tax():\n    assert tax(5) == 1\n"},
        PYTEST,
    ),
    "a test added to its file": (
        {
            "tests/test_price.py": BASE["tests/test_price.py"]
            + "\n\ndef test_more():\n    assert total([5]) == 5\n"
        },
        PYTEST,
    ),
    "a test moved": (
        {"tests/test_price.py": TEST + FIRST, "tests/test_other.py": TEST + SECOND},
        PYTEST,
    ),
    "a test rewritten": (
        {"tests/test_price.py": TEST + FIRST + "def test_empty():\n    assert total(()) == 0\n"},
        PYTEST,
    ),
    "a fixture added": (
        {"tests/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef three():\n    return 3\n"}
        | {"tests/test_three.py": "def test_three(three):\n    assert three == 3\n"},
        PYTEST,
    ),
    "a dependency added": (
        {
            "pyproject.toml": BASE["pyproject.toml"].replace(
                "version = '1'", "version = '2'\ndependencies = []"
            )
        },
        PYTEST,
    ),
    "a make target added": ({"Makefile": BASE["Makefile"] + "\nclean:\n\ttrue\n"}, "make test"),
    "tests formatted under a linter": (
        {"tests/test_price.py": TEST + SECOND},
        f"{sys.executable} -m compileall -q .",
    ),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("case", HONEST)
def test_honest_changes_are_not_reported(tmp_path: Path, case: str) -> None:
    """The gate passes without a warning."""
    files, command = HONEST[case]
    world, event = gate(tmp_path, files, command)
    assert (event.verdict, event.warnings, event.review) == ("pass", (), ""), event.reason
    assert not [*(world.home / "gates").glob("*.weakened.txt")]


@pytest.mark.full
def test_the_first_tests_of_a_project_are_no_difference(tmp_path: Path) -> None:
    """There was nothing to weaken, with or without a directory for tests."""
    for number, base in enumerate(({"price.py": PRICE}, {"price.py": PRICE, "tests/__init__.py": ""})):
        new: dict[str, str | None] = {"tests/test_price.py": TEST + FIRST, "tests/conftest.py": ""}
        _, event = gate(tmp_path / str(number), new, PYTEST, base)
        assert (event.verdict, event.warnings) == ("pass", ()), event.reason


@pytest.mark.full
def test_the_second_run_needs_a_changed_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of the sources alone runs the command once; so does the gate before publishing."""
    isolation = FakeIsolation(monkeypatch, "none")
    world, _ = gate(tmp_path, {"price.py": PRICE + "\n"})
    assert [log for log, _ in isolation.runs] == ["test-1.log"]
    world.commit = world.world.commit({"tests/test_price.py": TEST + FIRST})
    world.check(Gate("command", command=PYTEST), phase="merge")
    assert [log for log, _ in isolation.runs] == ["test-1.log", "merge-1.log"]


@pytest.mark.full
def test_the_task_or_the_settings_can_allow_it(tmp_path: Path) -> None:
    """The warning stays, and no person is asked."""
    world, event = gate(tmp_path, {"tests/test_price.py": TEST + FIRST})
    assert event.review
    allowed = world.command(PYTEST, world.settings(allow_test_changes=True))
    assert (allowed.warnings, allowed.review) == (FOUND, "") and "test_empty" in allowed.reason
    world.task = replace(world.task, allow_test_changes=True)
    allowed = world.command(PYTEST)
    assert (allowed.warnings, allowed.review) == (FOUND, "")


@pytest.mark.full
def test_a_report_that_is_switched_off_changes_no_verdict(tmp_path: Path) -> None:
    """A pytest without JUnit reports is run again without the request, and its numbers are compared."""
    command = f"{PYTEST} -p no:junitxml"
    _, event = gate(tmp_path, {"tests/test_price.py": TEST + FIRST}, command)
    assert (event.verdict, event.warnings) == ("pass", FOUND)
    assert "1 test passes; with the tests of the base 2 pass" in event.review


DOCTEST = 'def add(a, b):\n    """Add.\n\n    >>> add(1, 1)\n    2\n    >>> add(2, 2)\n    4\n    """\n'
DOCTEST_FEWER = DOCTEST.replace("    >>> add(2, 2)\n    4\n", "")
RUST = "#[cfg(test)]\nmod tests {\n    #[test] fn one() {}\n    #[test] fn two() {}\n}\n"
# Prints the number of tests as cargo does.
CARGO = r"""echo "test result: ok. $(grep -c '#\[test\]' src/lib.rs) passed; 0 failed" """


@pytest.mark.parametrize(
    ("files", "change", "command", "warnings"),
    [
        ("add.py", (DOCTEST + "    return a + b\n", DOCTEST_FEWER + "    return 2\n"), "doctest", FOUND),
        ("add.py", (DOCTEST + "    return a + b\n", DOCTEST + "    return b + a\n"), "doctest", ()),
        ("src/lib.rs", (RUST, RUST.replace("    #[test] fn two() {}\n", "")), CARGO, FOUND),
        ("src/lib.rs", (RUST, RUST + "// more\n"), CARGO, ()),
    ],
)
def test_tests_in_sources_are_counted(
    tmp_path: Path, files: str, change: tuple[str, str], command: str, warnings: tuple[str, ...]
) -> None:
    """They cannot be restored without the work, so the numbers on the base and on the commit are compared."""
    command = f"{sys.executable} -m doctest -v add.py" if command == "doctest" else command
    world, event = gate(tmp_path, {files: change[1]}, command, {files: change[0]})
    assert (event.verdict, event.warnings) == ("pass", warnings), world.output(event)
    assert ("1 tests pass; on the base 2 pass" in event.review) == bool(warnings)


def test_deleted_tests_of_django_are_found(tmp_path: Path) -> None:
    """Its tests are in tests.py."""
    tests = "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_a(self):\n        pass\n"
    base = {"shop/__init__.py": "", "shop/tests.py": tests + "\n    def test_b(self):\n        pass\n"}
    _, event = gate(tmp_path, {"shop/tests.py": tests}, f"{sys.executable} -m unittest shop.tests", base)
    assert (event.verdict, event.warnings) == ("pass", FOUND)


NODE = {
    "package.json": '{"name": "shop", "scripts": {"test": "node --test"}}\n',
    "price.js": "module.exports = (prices) => prices.reduce((a, b) => a + b, 0);\n",
    "test/price.test.js": "const total = require('../price'), test = require('node:test');\n"
    "const assert = require('assert');\n"
    "test('adds', () => assert.equal(total([1, 2]), 3));\ntest('empty', () => assert.equal(total([]), 0));\n",
}
NODE_BROKEN = "module.exports = (prices) => prices.reduce((a, b) => a + b, 0) || null;\n"
FEWER = NODE["test/price.test.js"].rpartition("test(")[0]


@pytest.mark.skipif(shutil.which("npm") is None, reason="needs Node")
@pytest.mark.parametrize(
    ("files", "warnings"),
    [
        ({"price.js": NODE_BROKEN, "test/price.test.js": FEWER}, FOUND),
        ({"test/price.test.js": FEWER}, FOUND),
        ({"price.js": NODE_BROKEN, "package.json": '{"name": "shop", "scripts": {"test": "true"}}\n'}, FOUND),
        (
            {"test/price.test.js": NODE["test/price.test.js"].replace("test('empty'", "test.skip('empty'")},
            FOUND,
        ),
        ({"test/more.test.js": "require('node:test')('more', () => {});\n"}, ()),
        ({"package.json": NODE["package.json"].replace('"name"', '"type": "commonjs", "name"')}, ()),
    ],
)
@pytest.mark.sampled(2)
def test_node_tests_are_compared(
    tmp_path: Path, files: dict[str, str | None], warnings: tuple[str, ...]
) -> None:
    """By exit code and by the number of tests that pass."""
    _, event = gate(tmp_path, files, "npm test --silent", NODE)
    assert (event.verdict, event.warnings) == ("pass", warnings), event.reason
