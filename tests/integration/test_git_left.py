"""Files of a worktree that no commit contains: how they are found, compared with the setup, and copied."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from git_world import World, commit_step, git, make_first, make_world, tree
from ostler.git.left import untracked
from ostler.git.left.baseline import extend_baseline, read_baseline, subtract_baseline
from ostler.git.left.keep import copy_files, list_copied
from ostler.git.left.untracked import Found, find_untracked
from ostler.git.repository import Worktree
from unprivileged import unprivileged


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A repository with a.txt, sub/b.txt, and a .gitignore with build/."""
    return make_world(tmp_path)


def names(worktree: Worktree, *skipped: str) -> set[str]:
    return {file.path for file in find_untracked(worktree, skipped).files}


def write(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(os.fsencode(path))


def test_no_pattern_hides_a_file(world: World):
    """Neither .gitignore nor info/exclude nor core.excludesFile of the repository."""
    worktree = world.prepare()
    write(world.path, "build/out", "sub/x.log", "y.tmp", "new.txt")
    (world.project / ".git" / "info" / "exclude").write_text("*.log\n")
    patterns = world.root / "patterns"
    patterns.write_text("*.tmp\n")
    git(world.project, "config", "core.excludesFile", str(patterns))
    commit_step(worktree)
    assert "new.txt" in tree(world)
    assert names(worktree) == {"build/out", "sub/x.log", "y.tmp"}


def test_dependencies_and_caches_are_no_results(world: World):
    """By their names, by the marks of tools, and by the patterns of the setting."""
    worktree = world.prepare()
    write(world.path, "node_modules/a/b.js", "build/__pycache__/c.txt", "build/env/pyvenv.cfg", "build/env/x")
    write(world.path, "build/a.pyc", "build/cache/CACHEDIR.TAG", "build/cache/y", "build/own/z", "build/kept")
    assert names(worktree, "own") == {"build/kept"}


def test_links_are_listed_and_never_followed(world: World):
    """A link to a directory is one entry; a pipe is none."""
    worktree = world.prepare()
    write(world.root, "outside/secret")
    (world.path / "build").mkdir()
    (world.path / "build" / "link").symlink_to(world.root / "outside")
    os.mkfifo(world.path / "build" / "pipe")
    found = find_untracked(worktree)
    assert [file.path for file in found.files] == ["build/link"]
    copy_files(found.files, world.path, world.root / "kept" / "1")
    assert (world.root / "kept" / "1" / "build" / "link").readlink() == world.root / "outside"


def test_files_without_permissions_are_copied(world: World):
    """Directories and files with mode 000, and a file that can be executed."""
    worktree = world.prepare()
    write(world.path, "build/closed/file", "build/run.sh")
    (world.path / "build" / "run.sh").chmod(0o777)
    (world.path / "build" / "closed" / "file").chmod(0)
    (world.path / "build" / "closed").chmod(0)
    with unprivileged():
        found = find_untracked(worktree)
        copy_files(found.files, world.path, world.root / "kept" / "1")
    kept = world.root / "kept" / "1" / "build"
    assert (kept / "closed" / "file").read_text() == "build/closed/file"
    modes = [stat.S_IMODE((kept / name).stat().st_mode) for name in ("closed", "closed/file", "run.sh")]
    assert modes == [0o700, 0o600, 0o700]


def test_more_files_than_the_limit_are_reported_as_incomplete(world: World, monkeypatch: pytest.MonkeyPatch):
    """The search ends at the limit."""
    worktree = world.prepare()
    write(world.path, *(f"build/{number}" for number in range(7)))
    assert find_untracked(worktree).is_complete
    monkeypatch.setattr(untracked, "MAX_FILES", 5)
    found = find_untracked(worktree)
    assert len(found.files) == 5 and not found.is_complete


def test_files_of_the_setup_are_the_baseline(world: World):
    """New and changed files are left; unchanged ones are not, whatever bytes their names have."""
    worktree = world.prepare()
    odd = os.fsdecode(b"build/\xff\n name")
    write(world.path, odd, "build/made", "build/changed")
    extend_baseline(worktree, Found(), find_untracked(worktree))
    assert {file.path for file in read_baseline(worktree).files} == {odd, "build/made", "build/changed"}
    write(world.path, "build/new", ".ostler/state.yaml")
    (world.path / "build" / "changed").write_text("more")
    left = subtract_baseline(
        find_untracked(worktree), read_baseline(worktree), frozenset([".ostler/state.yaml"])
    )
    assert {file.path for file in left} == {"build/new", "build/changed"}


def test_a_second_setup_adds_only_its_own_files(world: World):
    """What the agent wrote before a second setup stays the agent's."""
    worktree = world.prepare()
    write(world.path, "build/agent")
    before = find_untracked(worktree)
    write(world.path, "build/setup")
    extend_baseline(worktree, before, find_untracked(worktree))
    left = subtract_baseline(find_untracked(worktree), read_baseline(worktree), frozenset())
    assert {file.path for file in left} == {"build/agent"}


def test_an_interrupted_copy_is_replaced(world: World):
    """A second call gives the same result, and lists what the first one copied."""
    worktree = world.prepare()
    write(world.path, "build/a", "build/b/c")
    destination = world.root / "kept" / "1"
    write(world.root, "kept/.1.new/half", "kept/1/old")
    copy_files(find_untracked(worktree).files, world.path, destination)
    assert [file.path for file in list_copied(destination)] == ["build/a", "build/b/c"]
    assert not (world.root / "kept" / ".1.new").exists()


@pytest.mark.parametrize("bit", ["--assume-unchanged", "--skip-worktree"])
def test_hidden_changes_are_committed(world: World, bit: str):
    """A changed file and a removed one."""
    worktree = world.prepare()
    git(world.path, "update-index", bit, "a.txt", "sub/b.txt")
    (world.path / "a.txt").write_text("changed")
    (world.path / "sub" / "b.txt").unlink()
    made = commit_step(worktree)
    assert git(world.project, "show", f"{made.commit}:a.txt") == "changed"
    assert "sub/b.txt" not in tree(world)


def test_core_ignorestat_hides_nothing(world: World):
    """With it, git marks every file that it writes as unchanged."""
    worktree = world.prepare()
    git(world.project, "config", "core.ignoreStat", "true")
    git(world.path, "checkout", "-q", "-f", "HEAD", "--", "a.txt")
    write(world.path, "new.txt")
    commit_step(worktree, "t/1")
    for name in ("a.txt", "new.txt"):
        (world.path / name).write_text("changed later")
    made = commit_step(worktree, "t/2")
    assert git(world.project, "show", f"{made.commit}:a.txt") == "changed later"
    assert git(world.project, "show", f"{made.commit}:new.txt") == "changed later"


def test_a_sparse_checkout_removes_nothing(world: World):
    """Files outside of it stay in the commit; new and changed files are committed."""
    worktree = world.prepare()
    git(world.path, "sparse-checkout", "set", "--no-cone", "/a.txt")
    assert not (world.path / "sub").exists()
    write(world.path, "a.txt", "sub/new.txt")
    made = commit_step(worktree)
    assert tree(world) >= {"a.txt", "sub/b.txt", "sub/new.txt"}
    assert git(world.project, "show", f"{made.commit}:a.txt") == "a.txt"


def add_submodule(world: World) -> Worktree:
    """Return a worktree with a submodule at lib, as an agent or [workspace] checks it out."""
    source = world.root / "source"
    source.mkdir()
    make_first({"lib.txt": "1"}, source)
    allowed = ("-c", "protocol.file.allow=always", "submodule", "-q")
    git(world.project, *allowed, "add", str(source), "lib")
    git(world.project, "commit", "-qm", "lib")
    worktree = world.prepare()
    git(world.path, *allowed, "update", "--init")
    return worktree


COMMIT = ("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qam", "inner")


def test_work_inside_a_submodule_is_found(world: World):
    """A new file, a changed one, a commit, and a commit that the agent recorded in the index."""
    worktree = add_submodule(world)
    lib = world.path / "lib"
    assert names(worktree) == set()
    write(lib, "new.txt")
    assert names(worktree) == {"lib"}
    (lib / "new.txt").unlink()
    (lib / "lib.txt").write_text("2")
    assert names(worktree) == {"lib"}
    extend_baseline(worktree, Found(), find_untracked(worktree))
    left = subtract_baseline(find_untracked(worktree), read_baseline(worktree), frozenset())
    assert left == ()  # the setup changed it
    git(lib, *COMMIT)
    assert names(worktree) == {"lib"}
    git(world.path, "add", "lib")
    assert names(worktree) == {"lib"}
    (lib / ".git").write_text("gitdir: /nonexistent\n")
    assert names(worktree) == {"lib"}


def ignore(lib: Path) -> None:
    write(lib, "dist/app.js")
    (lib / ".gitignore").write_text("dist/\n.gitignore\n")


def exclude(lib: Path) -> None:
    found = Path(git(lib, "rev-parse", "--absolute-git-dir").strip(), "info")
    found.mkdir(exist_ok=True)
    (found / "exclude").write_text("*.txt\n")
    write(lib, "new.txt")


def hide(lib: Path, flag: str) -> None:
    git(lib, "update-index", flag, "lib.txt")
    (lib / "lib.txt").write_text("2")


def stash(lib: Path) -> None:
    (lib / "lib.txt").write_text("2")
    git(lib, *COMMIT[:4], "stash", "-q")


def tag(lib: Path) -> None:
    (lib / "lib.txt").write_text("2")
    git(lib, *COMMIT)
    git(lib, "tag", "v1")
    git(lib, "checkout", "-q", "HEAD~1")


@pytest.mark.parametrize(
    "work",
    [
        ignore,
        exclude,
        partial(hide, flag="--skip-worktree"),
        partial(hide, flag="--assume-unchanged"),
        stash,
        tag,
    ],
    ids=["ignored", "excluded", "skip-worktree", "assume-unchanged", "stash", "local tag"],
)
def test_work_that_a_submodule_does_not_show_is_found(world: World, work: Callable[[Path], None]):
    """Its ignore patterns, index flags, stash and local tags hide nothing."""
    worktree = add_submodule(world)
    work(world.path / "lib")
    assert names(worktree) == {"lib"}


def test_tags_and_caches_of_a_submodule_are_no_work(world: World):
    """The tags of its remote, and dependencies that a tool installed in it."""
    source = world.root / "source"
    worktree = add_submodule(world)
    git(source, "checkout", "-qb", "old")
    git(source, *COMMIT[:-2], "--allow-empty", "-m", "release")
    git(source, "tag", "v1")
    git(source, "checkout", "-q", "-")
    git(source, "branch", "-qD", "old")
    git(world.path, "submodule", "-q", "deinit", "-f", "lib")
    shutil.rmtree(worktree.repository.git_dir / "modules")
    git(world.path, "-c", "protocol.file.allow=always", "submodule", "-q", "update", "--init")
    assert git(world.path / "lib", "tag").strip() == "v1"
    write(world.path / "lib", "node_modules/a/b.js")
    assert names(worktree) == set()


def test_files_in_the_empty_directory_of_a_submodule_are_found(world: World):
    """Git lists nothing below it."""
    worktree = add_submodule(world)
    git(world.path, "submodule", "-q", "deinit", "-f", "lib")
    assert names(worktree) == set()
    write(world.path, "lib/new.txt")
    assert names(worktree) == {"lib/new.txt"}
