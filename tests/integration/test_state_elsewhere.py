"""The state of a project is in another git directory than before: it is moved, or the error names it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from journal_file import journal_path
from world import World


def test_repository_inside_a_subdirectory(world: World) -> None:
    """`git init` in the directory of a project: its state moves into the new git directory."""
    repository = world.root
    world.root = repository / "sub"
    world.root.mkdir()
    (world.root / "ostler.toml").write_text("")
    task = world.new()
    world.git("init", "-q")
    (world.root / ".git" / "ostler" / "locks").mkdir(parents=True)
    assert f"renamed the state {repository}/.git/ostler/projects/sub" in world.ostler("status").stderr
    assert world.show(task)["status"] == "pending"
    assert journal_path(world.root) == world.root / ".git" / "ostler" / "ostler.db"
    world.ostler("journal", "check")


def test_moved_repository_with_a_linked_work_tree_inside(world: World, tmp_path: Path) -> None:
    """Git does not find the work tree until it is repaired: no command starts with an empty journal."""
    repository = world.root
    world.root = repository / "linked"
    subprocess.run(["git", "worktree", "add", "-q", "-b", "x", str(world.root)], cwd=repository, check=True)
    task = world.new()
    moved = repository.rename(tmp_path / "moved")
    world.root = moved / "linked"
    for command in (["status"], ["new", "Second"], ["journal", "rebuild"]):
        error = world.ostler(*command, code=3).stderr
        assert f"the journal is in {moved}/.git/ostler/worktrees/linked" in error
        assert "git worktree repair" in error
    assert not (moved / ".git" / "ostler" / "projects").exists()
    subprocess.run(["git", "worktree", "repair", "linked"], cwd=moved, check=True, capture_output=True)
    assert world.show(task)["status"] == "pending"
