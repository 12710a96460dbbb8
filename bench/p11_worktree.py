"""P11: a worktree of 20,000 files, made, made from a kept one and released, against git worktree add."""

from __future__ import annotations

import shutil
import subprocess
import threading
from itertools import count
from pathlib import Path

from measure import Result, milliseconds, minima, ratio, scratch, seconds, show
from ostler.git.discovery import discover
from ostler.git.export import export
from ostler.git.refs import find_base
from ostler.git.repository import Repository, Worktree
from ostler.git.trash import discard, empty_trash
from ostler.git.warm import Pool, park, tidy_later
from ostler.git.worktree import prepare, release
from sample import GIT

FOLDERS, FILES, ROUNDS = 400, 50, 3


class Bench:
    """A large repository, and one worktree after another."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.root = place / "project"
        fill(self.root)
        found = discover(self.root)
        assert found
        self.repository: Repository = found
        self.base = find_base(found).commit
        self.worktrees = self.root / ".ostler" / "worktrees"
        self._numbers = count()
        self._open: Worktree | None = None

    def plain(self) -> float:
        """What git takes by itself."""
        name = f"plain-{next(self._numbers)}"
        add = ["git", "worktree", "add", "-q", "-b", name, str(self.place / name), self.base]
        took = seconds(lambda: subprocess.run(add, cwd=self.root, check=True))
        shutil.rmtree(self.place / name)
        return took

    def cold(self) -> float:
        """The first of all: nothing is kept."""
        discard(self.worktrees / ".warm", self.worktrees)
        empty_trash(self.worktrees)
        return self._begin()

    def warm(self) -> float:
        """From the one that was released last, after some work in it."""
        return self._begin()

    def release(self) -> float:
        """Of a worktree in which an agent has worked."""
        worktree = self._open
        assert worktree
        for folder in range(0, FOLDERS, 10):
            (worktree.path / name_of(folder, 0)).write_text("changed")
            (worktree.path / name_of(folder, FILES)).write_text("new")
        took = seconds(lambda: release(worktree, 2))
        self._wait_until_tidy()
        return took

    def gate(self) -> float:
        """The checkout of a gate, from the kept one, and put away again."""
        name = f"ostler-gate-{next(self._numbers):016x}"
        pool, tree = Pool(self.worktrees, 2), self.place / name / "project"
        tree.parent.mkdir()

        def work() -> None:
            export(self.repository, self.base, tree, pool)
            assert park(pool, tree, name)

        took = seconds(work)
        assert list(tree.parent.iterdir()) == []
        self._wait_until_tidy()
        return took

    def _wait_until_tidy(self) -> None:
        """A run does this beside its work."""
        tidy_later(Pool(self.worktrees, 2), self.repository)
        for thread in threading.enumerate():
            if thread is not threading.current_thread():
                thread.join()

    def _begin(self) -> float:
        name = f"task-{next(self._numbers)}"

        def work() -> None:
            path = self.worktrees / name
            self._open = prepare(self.repository, path, f"ostler/{name}", self.base, name, 2)

        return seconds(work)


def fill(root: Path) -> None:
    for folder in range(FOLDERS):
        (root / name_of(folder, 0)).parent.mkdir(parents=True)
        for number in range(FILES):
            (root / name_of(folder, number)).write_text(f"{folder} {number}\n" * 40)
    (root / ".gitignore").write_text(".ostler/\n")
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "first")):
        subprocess.run([*GIT, *command], cwd=root, check=True, capture_output=True)


def name_of(folder: int, number: int) -> str:
    return f"part-{folder // 20}/folder-{folder}/file-{number}.txt"


def measure() -> list[Result]:
    with scratch() as place:
        bench = Bench(place)
        subjects = (bench.plain, bench.cold, bench.release, bench.warm, bench.release, bench.gate)
        plain, cold, first, warm, second, gate = minima(*subjects, rounds=ROUNDS)
    rows = (
        ("worktree on 20k files, cold / git worktree add", cold, "<= 1.05"),
        ("the same, from a kept one", warm, "<= 0.1"),
        ("its release", min(first, second), "<= 0.05"),
        ("a gate's checkout from a kept one, and away with it", gate, "<= 0.1"),
    )
    return [ratio("P11", name, ours, plain, target, milliseconds) for name, ours, target in rows]


if __name__ == "__main__":
    show(measure())
