"""Every performance goal with a number of its own has a benchmark that imports, and `make bench` runs it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"
GOALS = {f"P{number}" for number in (*range(1, 16), 18, 19, 20, 23)}
# One process imports them all: a module of bench may have the name of another module in this process.
IMPORT_ALL = """
import importlib, json, run
modules = {name: importlib.import_module(name) for name in run.SCRIPTS}
print(json.dumps([name for name, module in modules.items() if callable(module.measure)]))
"""


def import_scripts(bench: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", IMPORT_ALL], cwd=bench, capture_output=True, text=True, check=False
    )


def goals_of(scripts: list[str]) -> set[str]:
    return {f"P{found[1]}" for script in scripts if (found := re.match(r"p(\d+)_", script))}


@pytest.fixture(scope="module")
def scripts() -> list[str]:
    """The scripts of run.py that import and have a function `measure`."""
    done = import_scripts(BENCH)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_goal_has_a_script_that_imports(scripts: list[str]) -> None:
    """The scripts of run.py cover all goals."""
    assert goals_of(scripts) == GOALS


def test_every_script_is_listed(scripts: list[str]) -> None:
    """run.py leaves out none of the scripts in the directory."""
    assert {path.stem for path in BENCH.glob("p[0-9]*_*.py")} <= set(scripts)


def test_a_renamed_import_is_noticed(tmp_path: Path) -> None:
    """A script that imports a name which does not exist any more fails the check."""
    (tmp_path / "run.py").write_text('SCRIPTS = ("p1_supervised",)\n')
    (tmp_path / "p1_supervised.py").write_text("from ostler.errors import Gone\n\ndef measure(): ...\n")
    done = import_scripts(tmp_path)
    assert done.returncode != 0
    assert "cannot import name 'Gone'" in done.stderr


def test_no_benchmark_is_over_200_lines() -> None:
    """A benchmark stays small enough to be checked by reading it."""
    sizes = {path.name: len(path.read_text().splitlines()) for path in BENCH.glob("*.py")}
    assert {name: size for name, size in sizes.items() if size >= 200} == {}
