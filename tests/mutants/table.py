"""Reads table/*.toml, the only place that names the symbols and tests of the mutants."""

from __future__ import annotations

import tomllib
from pathlib import Path

from msgspec import Struct, convert

TABLE = Path(__file__).with_name("table")


class Mutant(Struct, frozen=True, forbid_unknown_fields=True):
    """One expression of one symbol, its replacement, and the tests that detect the difference."""

    symbol: str  # module:qualified.name; the name is a function, a method, a class or a constant
    expression: str  # must match exactly one expression or statement of the symbol
    replacement: str
    tests: tuple[str, ...]  # pytest node ids, relative to tests/
    reason: str  # what is lost without the line
    name: str = ""

    @property
    def module(self) -> str:
        return self.symbol.partition(":")[0]

    @property
    def function(self) -> str:
        return self.symbol.partition(":")[2]


def load_table(folder: Path = TABLE) -> dict[str, Mutant]:
    """Return the mutants by name; raises ValueError for a name that two files use."""
    found: dict[str, Mutant] = {}
    for file in sorted(folder.glob("*.toml")):
        for name, fields in tomllib.loads(file.read_text("utf-8")).items():
            if name in found:
                raise ValueError(f"{file.name}: {name} is in another file, too")
            found[name] = convert({**fields, "name": name}, Mutant)
    return found
