"""Kinds of files, and the parts of mixed files that are about tests."""

from __future__ import annotations

import json

import pytest

from ostler.engine.steps.gates.file_kinds import (
    is_manifest,
    is_source_file,
    is_test_configuration,
    is_test_file,
    list_named_scripts,
)
from ostler.engine.steps.gates.mixed_config import restore_test_parts
from ostler.engine.steps.gates.reports import TestResults, count_passed
from ostler.engine.steps.gates.weakened import compare_results, describe_exit
from ostler.model.command import Exit

OK = Exit(0, 1.0)
FAILED = Exit(1, 1.0)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("shop/price.py", "source"),
        ("src/testing/fakes.py", "source"),
        ("contest.py", "source"),
        ("tests/test_price.py", "test"),
        ("shop/price_test.go", "test"),
        ("src/test/java/PriceTest.java", "test"),
        ("web/price.spec.tsx", "test"),
        ("web/__tests__/price.js", "test"),
        ("tests/data/prices.json", "test"),
        ("shop/tests.py", "test"),
        ("shop/testprice.py", "test"),
        ("shop/testing.py", "source"),
        ("shop/testimonials.py", "source"),
        ("Tests/ShopTests/Price.swift", "test"),
        ("Sources/PriceTests.swift", "test"),
        ("Shop/UnitTest1.cs", "test"),
        ("Shop.Tests/Price.cs", "test"),
        ("src/tests.rs", "test"),
        ("conftest.py", "configuration"),
        ("shop/Makefile", "configuration"),
        ("vitest.config.ts", "configuration"),
        ("setup.py", "manifest"),
        ("pyproject.toml", "manifest"),
        ("requirements-dev.txt", "manifest"),
        ("eslint.config.mjs", "manifest"),
        ("README.md", "other"),
    ],
)
def test_each_file_has_its_kind(path: str, kind: str) -> None:
    """The kinds decide what is broken, what is kept and what is restored."""
    found = (
        "configuration"
        if is_test_configuration(path)
        else "test"
        if is_test_file(path)
        else "manifest"
        if is_manifest(path)
        else "source"
        if is_source_file(path)
        else "other"
    )
    assert found == kind


@pytest.mark.parametrize(
    ("command", "scripts"),
    [
        ("./check.sh --fast", ("check.sh",)),
        ("CI=1 bash -eu ci/run.sh && pytest tests/a.py", ("ci/run.sh",)),
        ("python ci/run.py | tee log", ("ci/run.py",)),
        ("grep -q x README.md", ()),
        ("node --check web/app.js", ()),
        ("pytest -q", ()),
        ("echo 'unbalanced ./check.sh", ()),
    ],
)
def test_only_programs_are_scripts_of_a_gate(command: str, scripts: tuple[str, ...]) -> None:
    """Files that a program reads are part of the work."""
    files = {"check.sh", "ci/run.sh", "ci/run.py", "README.md", "web/app.js", "tests/a.py"}
    assert list_named_scripts(command, "", files) == scripts
    assert list_named_scripts(command, "app", {f"app/{one}" for one in files}) == tuple(
        f"app/{one}" for one in scripts
    )


def test_pyproject_keeps_new_dependencies_and_old_test_settings() -> None:
    """Only the sections about tests are restored."""
    old = "[project]\nname = 'a'\n\n[tool.pytest.ini_options]\naddopts = '-q'\n"
    new = "[project]\nname = 'a'\ndependencies = ['b']\n\n[tool.pytest.ini_options]\naddopts = '-k nothing'\n"
    restored = restore_test_parts("pyproject.toml", old.encode(), new.encode()).decode()
    assert "dependencies = ['b']" in restored and "nothing" not in restored and "'-q'" in restored
    same = new.replace("-k nothing", "-q")
    assert restore_test_parts("pyproject.toml", old.encode(), same.encode()) == same.encode()


def test_a_table_that_cannot_be_split_is_restored_as_a_whole() -> None:
    """Dotted keys hide the section."""
    old, new = "tool.pytest.ini_options.addopts = '-q'\n", "tool.pytest.ini_options.addopts = '-k no'\n"
    assert restore_test_parts("pyproject.toml", old.encode(), new.encode()) == old.encode()
    assert b"-k no" not in restore_test_parts("pyproject.toml", None, new.encode())


def test_package_json_keeps_everything_but_scripts_and_test_settings() -> None:
    """Existing scripts are restored; new ones stay."""
    old = {"scripts": {"test": "jest"}, "jest": {"bail": True}}
    new = {"type": "module", "scripts": {"test": "true", "build": "tsc"}, "jest": {"testMatch": []}}
    restored = restore_test_parts("package.json", json.dumps(old).encode(), json.dumps(new).encode())
    assert json.loads(restored) == {
        "type": "module",
        "scripts": {"test": "jest", "build": "tsc"},
        "jest": {"bail": True},
    }


@pytest.mark.parametrize(
    ("added", "restored"), [("<skipTests>true</skipTests>", True), ("<dependency>x</dependency>", False)]
)
def test_other_manifests_are_restored_if_the_change_is_about_tests(added: str, restored: bool) -> None:
    """A new dependency alone is no reason."""
    old, new = b"<project>\n</project>\n", f"<project>\n{added}\n</project>\n".encode()
    assert restore_test_parts("pom.xml", old, new) == (old if restored else new)


@pytest.mark.parametrize(
    ("output", "passed"),
    [
        ("3 passed, 1 skipped in 0.1s", 3),
        ("\x1b[32m12 passing\x1b[0m (3ms)", 12),
        ("# tests 5\n# pass 4\n# fail 0\n# skipped 1", 4),
        ("\u2139 pass 4", 4),
        ("Ran 5 tests in 0.001s\n\nOK (skipped=2)", 3),
        ("test result: ok. 3 passed; 0 failed; 1 ignored", 3),
        ("Tests run: 5, Failures: 0, Errors: 0, Skipped: 1", 4),
        ("--- PASS: TestA (0.00s)\n--- PASS: TestB (0.00s)\nok  \tshop\t0.1s", 2),
        ("all fine", None),
    ],
)
def test_passed_tests_are_counted(output: str, passed: int | None) -> None:
    """The numbers of the usual runners."""
    assert count_passed(output) == passed


def test_a_lower_coverage_without_the_new_tests_is_no_difference() -> None:
    """The command fails, and no test does."""
    base = TestResults({"a::b": "passed"}, 1)
    assert describe_exit(FAILED, base, "exited with 1", "Required test coverage of 90% not reached") == []
    assert describe_exit(FAILED, base, "exited with 1", "boom") != []
    assert describe_exit(OK, base, "", "") == []
    assert describe_exit(FAILED, TestResults({}), "exited with 5", "no tests ran in 0.01s") == []


def test_tests_that_were_skipped_before_may_go() -> None:
    """Only tests that ran at the base count."""
    base = TestResults({"a::b": "skipped", "a::c": "expected failure", "a::d": "passed"})
    assert compare_results(TestResults({"a::d": "passed"}), base) == []
    assert compare_results(TestResults({}), base) == ["gone: a::d"]
    fewer = compare_results(TestResults({}, 0), TestResults({}, 1))
    assert fewer == ["0 tests pass; with the tests of the base 1 passes"]
