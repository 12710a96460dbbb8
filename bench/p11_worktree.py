"""P11: a worktree of 20,000 files: cold, from a kept tree, released, and for a gate / `git worktree add`.

The rows are measured on tmpfs, in new directories and with packed objects. The last row is measured on disk,
where a file system may be slow to create files right after many were deleted.
"""

from __future__ import annotations

import subprocess
import threading
from itertools import count
from pathlib import Path

from measure import MILLISECONDS, Result, interleave, ratio, scratch, scratch_in_memory, seconds, show
from ostler.git.discovery import discover_repository
from ostler.git.refs import find_base
from ostler.git.repository import Repository, Worktree
from ostler.git.worktree.export import export_commit
from ostler.git.worktree.worktree import prepare_worktree, release_worktree
from ostler.git.worktree.worktree_pool import WorktreePool, park_tree, tidy_pool_later
from sample import GIT

FOLDERS, FILES, ROUNDS, DISK_ROUNDS = 400, 50, 5, 3
KEPT = 2
GIGABYTES = 4  # of tmpfs: every round leaves its trees until the end


class Bench:
    """A large repository, and one worktree after another. Nothing is deleted before the end."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.root = place / "project"
        fill(self.root)
        found = discover_repository(self.root)
        assert found
        self.repository: Repository = found
        self.base = find_base(found).commit
        self._numbers = count()
        self.worktrees = self._new_folder()
        self._open: Worktree | None = None

    def plain(self) -> float:
        """git alone, into a new directory."""
        name = f"plain-{next(self._numbers)}"
        add = ["git", "worktree", "add", "-q", "-b", name, str(self._new_folder() / name), self.base]
        return seconds(lambda: subprocess.run(add, cwd=self.root, check=True))

    def cold(self) -> float:
        """Into a new directory, where no tree is kept."""
        self.worktrees = self._new_folder()
        return self._begin()

    def cold_after_release(self) -> float:
        """Right after a worktree was released that is not kept: its files are deleted meanwhile."""
        self.worktrees = self._new_folder()
        self._begin()
        assert self._open
        release_worktree(self._open, 0)
        tidy_pool_later(WorktreePool(self.worktrees, 0), self.repository)
        took = self._begin(keep=0)
        self._wait_until_tidy()
        return took

    def warm(self) -> float:
        """From the tree that was released last, after some work in it."""
        return self._begin()

    def release(self) -> float:
        """Of a worktree in which an agent has worked."""
        worktree = self._open
        assert worktree
        for folder in range(0, FOLDERS, 10):
            (worktree.path / name_of(folder, 0)).write_text("changed")
            (worktree.path / name_of(folder, FILES)).write_text("new")
        took = seconds(lambda: release_worktree(worktree, KEPT))
        assert not worktree.path.exists()
        self._wait_until_tidy()
        return took

    def gate(self) -> float:
        """The checkout of a gate, from the kept tree, and its release."""
        name = f"ostler-gate-{next(self._numbers):016x}"
        pool, tree = WorktreePool(self.worktrees, KEPT), self.place / name / "project"
        tree.parent.mkdir()

        def work() -> None:
            export_commit(self.repository, self.base, tree, pool)
            assert park_tree(pool, tree, name)

        took = seconds(work)
        assert list(tree.parent.iterdir()) == []
        self._wait_until_tidy()
        return took

    def _wait_until_tidy(self) -> None:
        """Wait for what a run does beside its work."""
        tidy_pool_later(WorktreePool(self.worktrees, KEPT), self.repository)
        for thread in threading.enumerate():
            if thread is not threading.current_thread():
                thread.join()

    def _new_folder(self) -> Path:
        folder = self.place / f"trees-{next(self._numbers)}"
        folder.mkdir()
        return folder

    def _begin(self, keep: int = KEPT) -> float:
        name = f"task-{next(self._numbers)}"

        def work() -> None:
            path = self.worktrees / name
            self._open = prepare_worktree(self.repository, path, f"ostler/{name}", self.base, name, keep)

        took = seconds(work)
        assert self._open and (self._open.path / name_of(FOLDERS - 1, FILES - 1)).exists()
        return took


def fill(root: Path) -> None:
    for folder in range(FOLDERS):
        (root / name_of(folder, 0)).parent.mkdir(parents=True)
        for number in range(FILES):
            (root / name_of(folder, number)).write_text(f"{folder} {number}\n" * 40)
    (root / ".gitignore").write_text(".ostler/\n")
    alone = ("-c", "gc.auto=0", "-c", "maintenance.auto=false")  # nothing packs beside the clock
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "first"), ("repack", "-adq")):
        subprocess.run([*GIT, *alone, *command], cwd=root, check=True, capture_output=True)
    for setting in ("gc.auto=0", "maintenance.auto=false"):
        subprocess.run(["git", "config", *setting.split("=")], cwd=root, check=True)


def name_of(folder: int, number: int) -> str:
    return f"part-{folder // 20}/folder-{folder}/file-{number}.txt"


def measure() -> list[Result]:
    with scratch_in_memory(GIGABYTES) as place:
        bench = Bench(place)
        subjects = (bench.plain, bench.cold, bench.release, bench.warm, bench.release, bench.gate)
        plain, cold, first, warm, second, gate = interleave(*subjects, rounds=ROUNDS)
    with scratch() as place:
        bench = Bench(place)
        on_disk, after_release = interleave(bench.plain, bench.cold_after_release, rounds=DISK_ROUNDS)
    rows = (
        ("worktree on 20k files, cold / git worktree add", cold, plain, "<= 1.05"),
        ("the same, from a kept tree", warm, plain, "<= 0.1"),
        ("its release", first + second, plain, "<= 0.05"),
        ("the checkout of a gate from a kept tree, and its release", gate, plain, "<= 0.1"),
        ("cold right after a release, on disk", after_release, on_disk, "<= 1.05"),
    )
    return [ratio("P11", name, ours, bare, target, MILLISECONDS) for name, ours, bare, target in rows]


if __name__ == "__main__":
    show(measure())
