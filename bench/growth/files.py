"""Files in the repository: from 1,000 to 100,000."""

from __future__ import annotations

import sys

import p11_worktree
from growth.curve import Curve, collect
from measure import interleave, scratch_in_memory
from p11_worktree import Bench

SIZES = (1000, 10_000, 100_000)
FILES_PER_FOLDER, ROUNDS, GIGABYTES = 50, 3, 8
NAMES = ("git worktree add", "new worktree", "from a kept tree", "release")


def measure() -> list[Curve]:
    rows = [measure_size(size) for size in SIZES]
    note = "Minimum of 3, on tmpfs, with packed objects. An agent changed one file in ten folders."
    return [Curve("files", "Files in the repository", "files", "ms", SIZES, collect(NAMES, rows), note)]


def measure_size(size: int) -> tuple[float | None, ...]:
    p11_worktree.FOLDERS = size // FILES_PER_FOLDER
    with scratch_in_memory(GIGABYTES) as place:
        bench = Bench(place)
        plain, cold, release, warm, again = interleave(
            bench.plain, bench.cold, bench.release, bench.warm, bench.release, rounds=ROUNDS
        )
    print(f"files {size}: cold {min(cold) * 1e3:.0f} ms, kept {min(warm) * 1e3:.0f} ms", file=sys.stderr)
    return tuple(min(values) * 1e3 for values in (plain, cold, warm, release + again))
