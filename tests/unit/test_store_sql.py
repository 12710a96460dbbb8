"""The SQL above the databases: written once, for SQLite and PostgreSQL."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import ostler.store
from ostler.store.database import number_parameters
from portable_sql import find_problem

ROOT = Path(ostler.store.__file__).parent
DATABASES = ("sqlite", "postgres")
# The user's own file of limits, which is always SQLite.
ACCOUNTS = "accounts"
STATEMENT = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE)\b")


def list_modules() -> list[Path]:
    parts = ((path, path.relative_to(ROOT).parts[0]) for path in sorted(ROOT.rglob("*.py")))
    return [path for path, first in parts if first not in (*DATABASES, ACCOUNTS)]


def find_statements(path: Path) -> Iterator[str]:
    """Yield every statement in a module; parts of an f-string that are computed are left out."""
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Constant(value=str(text)) if STATEMENT.match(text):
                yield text
            case ast.JoinedStr(values=parts):
                text = "".join(str(part.value) for part in parts if isinstance(part, ast.Constant))
                if STATEMENT.match(text):
                    yield text
            case _:
                pass


def test_every_statement_is_for_all_databases() -> None:
    """Parameters appear first in their order, and nothing is used that only SQLite has."""
    statements = [(path.name, sql) for path in list_modules() for sql in find_statements(path)]
    assert len(statements) > 50
    assert [(name, sql, why) for name, sql in statements if (why := find_problem(sql))] == []


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 FROM task WHERE id = ?",
        "SELECT 1 FROM task WHERE id = $2 AND seq = $1",
        "SELECT 1 FROM task WHERE id = $1 AND seq = $3",
        "INSERT OR REPLACE INTO reader VALUES ($1, $2)",
        "SELECT id FROM task WHERE open = 1 ORDER BY id",
        "SELECT id FROM task WHERE id IN (SELECT value FROM json_each($1))",
    ],
)
def test_the_check_refuses(sql: str) -> None:
    """Each of these works in SQLite only, or means something else elsewhere."""
    assert find_problem(sql)


def test_a_parameter_may_be_repeated() -> None:
    """Only its first appearance counts."""
    assert not find_problem("SELECT 1 FROM feed WHERE task = $1 AND seq > $2 OR task = $1 LIMIT $3")
    assert number_parameters(3, 2) == "$3, $4"
