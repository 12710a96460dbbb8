"""Files that no commit contains, at the release of a workspace."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate_world import GateWorld
from ostler.config.settings import WorkspaceSettings
from ostler.engine.steps.workspaces.left import find_left, keep_left
from ostler.git.left.baseline import extend_baseline
from ostler.git.left.untracked import Found, find_untracked
from ostler.git.repository import Worktree
from ostler.git.worktree.worktree import remove_worktree
from ostler.model.warning import LeftFiles

SETTINGS = WorkspaceSettings()


@pytest.fixture
def world(tmp_path: Path) -> GateWorld:
    return GateWorld(tmp_path, {".gitignore": ".ostler/\ndist/\n"})


def leave(world: GateWorld, content: str = "built") -> Worktree:
    worktree = world.worktree()
    (worktree.path / "dist").mkdir()
    (worktree.path / "dist" / "app.js").write_text(content)
    return worktree


def keep(world: GateWorld, worktree: Worktree) -> LeftFiles:
    return keep_left(world.state, worktree, SETTINGS, world.project.layout)


def test_a_release_that_was_killed_reports_the_copies(world: GateWorld) -> None:
    """The worktree is gone, but the record of its release is missing: the second call names the copies."""
    worktree = leave(world)
    first = keep(world, worktree)
    remove_worktree(worktree)
    assert first.names == ("dist/app.js",) and keep(world, worktree) == first
    assert (world.root / first.kept_in / "dist" / "app.js").read_text() == "built"


def test_a_second_call_copies_the_present_files(world: GateWorld) -> None:
    """A kill between the copy and the removal: the files may have changed since."""
    worktree = leave(world)
    keep(world, worktree)
    (worktree.path / "dist" / "app.js").write_text("built again")
    kept = keep(world, worktree).kept_in
    assert (world.root / kept / "dist" / "app.js").read_text() == "built again"


def test_a_copy_that_fails_keeps_the_worktree(world: GateWorld) -> None:
    """The result has the reason, the worktree and the command that removes it."""
    worktree = leave(world)
    (world.home / "left").write_text("in the way")
    left = keep(world, worktree)
    assert left.kept_in == "" and left.note.startswith("a copy failed: ")
    assert left.note.endswith(f"ostler worktree prune --force {world.task.id}")


def test_nothing_is_left_in_a_clean_worktree(world: GateWorld) -> None:
    """The state file of the agent and installed packages do not count."""
    worktree = world.worktree()
    for name in (".ostler/state.yaml", ".ostler/.gitignore", "node_modules/x/y.js"):
        (worktree.path / name).parent.mkdir(parents=True, exist_ok=True)
        (worktree.path / name).write_text("x")
    assert find_left(worktree, SETTINGS) == keep(world, worktree) == LeftFiles()
    assert not (world.home / "left").exists()


@pytest.mark.parametrize("folder", ["setup", "dist"])
def test_files_beyond_the_count_keep_the_worktree(
    world: GateWorld, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The setup created more files than are counted; the agent's may be among them or behind them."""
    monkeypatch.setattr("ostler.git.left.untracked.MAX_FILES", 2)
    worktree = world.worktree()
    for number in range(3):
        (worktree.path / "aaa").mkdir(exist_ok=True)
        (worktree.path / "aaa" / str(number)).touch()
    extend_baseline(worktree, Found(), find_untracked(worktree))
    target = worktree.path / ("aaa" if folder == "setup" else "dist")
    target.mkdir(exist_ok=True)
    (target / "result").write_text("built")
    left = keep(world, worktree)
    assert (left.names, left.kept_in) == (("aaa",), "")
    assert left.note.startswith("there are more than 2 untracked files (see workspace.ignore_left)")
