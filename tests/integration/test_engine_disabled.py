"""Sources that make a gate pass whatever its tests do are found; honest sources are not."""

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

PYTEST = f"{sys.executable} -m pytest -q -p no:cacheprovider"
UNITTEST = f"{sys.executable} -m unittest discover -s tests -t ."
PRICE = "def total(prices):\n    return sum(prices)\n"
BROKEN = "def total(prices):\n    return 0\n"
BASE = {
    "price.py": PRICE,
    "tests/__init__.py": "",
    "tests/test_price.py": "from price import total\n\n\ndef test_adds():\n    assert total([1, 2]) == 3\n",
    "tests/test_case.py": "import unittest\n\nfrom price import total\n\n\nclass Price(unittest.TestCase):\n"
    "    def test_adds(self):\n        self.assertEqual(total([1, 2]), 3)\n",
    "ci/run.py": f"import subprocess, sys\n\nsys.exit(subprocess.call({PYTEST.split()!r}))\n",
    "Makefile": f"test:\n\t{sys.executable} ci/run.py\n",
    "pytest.ini": "[pytest]\npythonpath = .\n",
}


NODE = {
    "price.js": "module.exports = () => 3;\n",
    "price.test.js": "const test = require('node:test');\n"
    "test('adds', () => require('assert').equal(require('./price')(), 3));\n",
}


def gate(
    directory: Path, files: dict[str, str], command: str, base: dict[str, str] = BASE
) -> tuple[GateWorld, GateDecided]:
    """Check the gate on a commit that changes these files."""
    world = GateWorld(directory, base)
    world.commit = world.world.commit(files)
    world.state = replace(world.state, commit=world.commit)
    return world, world.command(command)


DISABLED: dict[str, tuple[dict[str, str], str]] = {
    "the process ends early": ({"price.py": "import os\n\nos._exit(0)\n"}, PYTEST),
    "tests are replaced": (
        {"price.py": BROKEN + "import _pytest.python\n_pytest.python.Function.runtest = lambda self: None\n"}
        | {"tests/test_case.py": ""},
        PYTEST,
    ),
    "the runner is replaced": ({"price.py": BROKEN, "pytest.py": ""}, PYTEST),
    "unittest is replaced": ({"price.py": BROKEN, "unittest.py": ""}, UNITTEST),
    "a script of a makefile is emptied": ({"price.py": BROKEN, "ci/run.py": ""}, "make test"),
    "a program of an environment is committed": (
        {"price.py": BROKEN, ".venv/bin/check": "exit 0\n"},
        f"if test -f .venv/bin/check; then sh .venv/bin/check; else {PYTEST}; fi",
    ),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("case", DISABLED)
def test_disabled_tests_are_reported(tmp_path: Path, case: str) -> None:
    """The command passes, a person is asked, and the list names the suspicious file."""
    files, command = DISABLED[case]
    world, event = gate(tmp_path, files, command)
    assert (event.verdict, event.warnings) == ("pass", (WarningCode.CHECKS_WEAKENED,)), world.output(event)
    assert event.review
    text = (world.home / "gates/test-1.weakened.txt").read_text()
    assert any(name in text for name in files)
    assert world.leftovers() == []


def test_a_killed_check_for_disabled_tests_is_no_pass(tmp_path: Path) -> None:
    """Whether failing tests fail the command is not known: a person is asked."""
    command = "grep -rq -i ostler.control tests && kill -9 $$; true"
    _, event = gate(tmp_path, {"price.py": "import os\n\nos._exit(0)\n"}, command)
    assert (event.verdict, event.warnings) == ("pass", (WarningCode.CHECKS_WEAKENED,)), event.reason
    assert "not known whether failing tests fail the command" in event.review and "price.py" in event.review


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
@pytest.mark.sampled(1)
@pytest.mark.parametrize(("text", "found"), [("process.exit(0);\n", True), ("// process.exit(0);\n", False)])
def test_disabled_node_tests_are_reported(tmp_path: Path, text: str, found: bool) -> None:
    """A module that ends the process in a test hides the tests after it."""
    _, event = gate(tmp_path, {"price.js": NODE["price.js"] + text}, "node --test", NODE)
    assert (event.verdict, bool(event.review)) == ("pass", found), event.reason


HONEST: dict[str, tuple[dict[str, str], str]] = {
    "a command line": ({"price.py": PRICE + "\n\ndef main():\n    raise SystemExit(0)\n"}, PYTEST),
    "a script of a makefile is changed": ({"ci/run.py": BASE["ci/run.py"] + "\n# more\n"}, "make test"),
    "a gate that runs no tests": ({"price.py": PRICE + "\n\nimport pytest\n"}, "grep -q total price.py"),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("case", HONEST)
def test_honest_sources_are_not_reported(tmp_path: Path, case: str) -> None:
    """The command runs once more, and there is no warning."""
    files, command = HONEST[case]
    _, event = gate(tmp_path, files, command)
    assert (event.verdict, event.warnings, event.review) == ("pass", (), ""), event.reason


def test_a_gate_that_fails_on_its_base_is_no_difference(tmp_path: Path) -> None:
    """A command that does not run tests, and failed before the work, is not blamed on it."""
    files = {"price.py": PRICE + "\n\n# unittest\n", "done": ""}
    _, event = gate(tmp_path, files, "test -f done")
    assert (event.verdict, event.warnings) == ("pass", ()), event.reason


def test_other_sources_cost_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only suspicious changes run the command once more."""
    isolation = FakeIsolation(monkeypatch, "none")
    gate(tmp_path, {"price.py": PRICE + "\n\ndef tax():\n    return 1\n", "README.md": "pytest\n"}, PYTEST)
    assert [log for log, _ in isolation.runs] == ["test-1.log"]
