"""The table of mutants fits the code: each one applies once, compiles, and names tests that exist."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from mutants.apply import NotApplicable, file_of, mutate
from mutants.run import PACKAGE
from mutants.table import Mutant, load_table

TABLE = load_table()
TESTS = Path(__file__).parents[1]
SOURCE = """
LIMIT = 1 + 2


class Journal:
    def append(self, é):
        if é == "é" and  self.check(é,
                1):
            flush(é); flush(é)
        return self.check(é, 1)


def check(é):
    return len(é) == 1
"""


def mutant(symbol: str, expression: str, replacement: str = "None") -> Mutant:
    return Mutant(f"ostler.sample:{symbol}", expression, replacement, (), "", "sample")


@pytest.mark.parametrize("name", TABLE)
def test_each_mutant_applies(name: str) -> None:
    """The expression occurs once, and the mutated file compiles."""
    one = TABLE[name]
    mutate(file_of(PACKAGE, one.module).read_text("utf-8"), one)


@pytest.mark.parametrize("name", TABLE)
def test_each_test_exists(name: str) -> None:
    """A misspelt node id would make pytest find nothing, and no mutant would be killed."""
    assert TABLE[name].tests and TABLE[name].reason.endswith((".", ")"))
    for test in TABLE[name].tests:
        file, *path = test.partition("[")[0].split("::")
        scope: ast.AST = ast.parse((TESTS / file).read_text("utf-8"))
        for part in path:
            scope = next(one for one in ast.iter_child_nodes(scope) if getattr(one, "name", "") == part)


def test_the_table_is_large_enough() -> None:
    """Issue 12 asks for at least 40 mutants."""
    assert len(TABLE) >= 40


@pytest.mark.parametrize(
    ("symbol", "expression", "replacement", "changed"),
    [
        ("LIMIT", "2", "3", "LIMIT = 1 + 3\n"),
        ("Journal.append", "return self.check(é,1)", "return 0", "        return 0\n"),
        ("Journal.append", "é == 'é' and self.check(é, 1)", "True", "        if True:\n"),
        ("check", "len(  é  )", "0", "    return 0 == 1\n"),
    ],
)
def test_one_place_is_replaced(symbol: str, expression: str, replacement: str, changed: str) -> None:
    """Whitespace and quotes do not matter, and the rest of the file stays as it is."""
    after = mutate(SOURCE, mutant(symbol, expression, replacement)).splitlines(keepends=True)
    assert changed in after
    before = SOURCE.splitlines(keepends=True)
    assert [line for line in after if line != changed] == [line for line in before if line in after]


@pytest.mark.parametrize(
    ("symbol", "expression", "replacement"),
    [
        ("Journal.append", "flush(é)", "pass"),  # twice
        ("Journal.append", "self.check(é, 1)", "None"),  # twice
        ("check", "flush(é)", "pass"),  # in another function
        ("Journal.remove", "flush(é)", "pass"),  # no such method
        ("check", "len(é)", "len( é )"),  # no change
        ("check", "len(é); len(é)", "0"),  # two statements
    ],
)
def test_what_does_not_fit_is_refused(symbol: str, expression: str, replacement: str) -> None:
    """An outdated table is an error, never a mutant that changes something else."""
    with pytest.raises(NotApplicable):
        mutate(SOURCE, mutant(symbol, expression, replacement))


def test_a_replacement_that_is_no_python_is_refused() -> None:
    """Any test would kill such a mutant."""
    with pytest.raises(SyntaxError):
        mutate(SOURCE, mutant("check", "len(é)", "len("))


@pytest.mark.parametrize("module", ["ostler.nowhere", "elsewhere.store"])
def test_a_missing_module_is_refused(module: str) -> None:
    """A module that was renamed without an update of the table is refused."""
    with pytest.raises(NotApplicable):
        file_of(PACKAGE, module)
