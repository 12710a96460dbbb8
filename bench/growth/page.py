"""Writes docs/performance.md and its pictures from the measured curves."""

from __future__ import annotations

from pathlib import Path

from growth.chart import count, draw
from growth.curve import Curve

DOCS = Path(__file__).parents[2] / "docs"
COLUMNS = 8  # of a table
HEADER = """# Performance

`make growth` writes this page: how Ostler behaves as something grows. `make bench` compares single
operations with a baseline and writes `bench/RESULTS.md`. Agents answer at once, so that only Ostler and
git are measured. Both axes are logarithmic, except in the last plot: a horizontal line does not grow. A time
is a minimum, because other work on the machine can only add to it; CPU time changes little with such work.

| machine | |
|---|---|
"""


def write_page(machine: str, runs: list[str], curves: list[Curve]) -> None:
    """Write the page and a picture for each curve."""
    parts = [
        HEADER + machine,
        "| measured | date | load before | after | took |\n|---|---|---|---|---|",
        *runs,
        "",
    ]
    for curve in curves:
        (DOCS / "pictures" / f"growth-{curve.id}.svg").write_text(draw(curve))
        parts.append(section(curve))
    (DOCS / "performance.md").write_text("\n".join(parts))


def section(curve: Curve) -> str:
    every = -(-len(curve.sizes) // COLUMNS)
    sizes = curve.sizes[every - 1 :: every]
    head = "".join(f" {count(size)} |" for size in sizes)
    lines = [
        f"## {curve.title}",
        "",
        *([curve.note, ""] if curve.note else []),
        f"![{curve.title}: {', '.join(one.name for one in curve.series)}](pictures/growth-{curve.id}.svg)",
        "",
        f"| {curve.unit} |{head}",
        f"|---|{'---|' * len(sizes)}",
        *(f"| {one.name} |{cells(one.values[every - 1 :: every])}" for one in curve.series),
        "",
    ]
    return "\n".join(lines)


def cells(values: tuple[float | None, ...]) -> str:
    return "".join(f" {'-' if value is None else number(value)} |" for value in values)


def number(value: float) -> str:
    """Three digits, and no exponent."""
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"
