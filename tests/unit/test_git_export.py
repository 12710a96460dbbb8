"""Exporting a commit to a new directory."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from git_traps import Traps, commit_bait, plant_by_include, plant_hooks, plant_in_configuration, plant_nested
from git_world import World, git, make_world, snapshot_of
from ostler.errors import Code, GitError, PathEscape
from ostler.git.discovery import discover_repository
from ostler.git.worktree.export import create_project_directory, export_commit

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {size}\n"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path)


def files_of(place: Path) -> dict[str, str]:
    return {
        str(path.relative_to(place)): path.read_text()
        for path in place.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(place).parts
    }


def test_the_commit_and_nothing_else(world: World, tmp_path: Path) -> None:
    """Uncommitted and later changes are not exported; the user's checkout is unchanged."""
    commit = git(world.project, "rev-parse", "HEAD")
    world.commit({"later.txt": "later\n"})
    (world.project / "a.txt").write_text("not committed")
    (world.project / "new.txt").write_text("new")
    before = snapshot_of(world.project)
    export_commit(world.repository, commit, tmp_path / "out")
    assert files_of(tmp_path / "out") == {
        "a.txt": "one\n",
        "sub/b.txt": "two\n",
        ".gitignore": ".ostler/\nbuild/\n",
    }
    assert snapshot_of(world.project) == before
    assert git(world.project, "worktree", "list").count("\n") == 0


def test_git_works_in_it_and_what_it_writes_stays_there(world: World, tmp_path: Path) -> None:
    """Status, history and commits work; the project's repository gets no object and no ref."""
    commit = git(world.project, "rev-parse", "HEAD")
    out = tmp_path / "out"
    export_commit(world.repository, commit, out)
    assert git(out, "status", "--porcelain") == ""
    assert git(out, "rev-parse", "HEAD") == commit
    objects = sorted(path.name for path in (world.project / ".git" / "objects").rglob("*"))
    (out / "made.txt").write_text("made")
    git(out, "add", "-A")
    git(out, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "made here")
    git(out, "branch", "evil")
    git(out, "gc", "-q")
    assert sorted(path.name for path in (world.project / ".git" / "objects").rglob("*")) == objects
    assert git(world.project, "branch", "--list", "evil") == ""


def test_no_trap_of_the_repository_fires(world: World, tmp_path: Path) -> None:
    """No configured hook, filter, monitor, attribute or include runs (S7)."""
    commit_bait(world)
    worktree = world.prepare()
    traps = Traps(world)
    plant_in_configuration(traps)
    plant_by_include(traps)
    plant_hooks(traps, worktree)
    plant_nested(traps, worktree)
    traps.disarm()
    out = export_commit(world.repository, worktree.base, tmp_path / "out")
    git(out.work_tree, "status")
    git(out.work_tree, "log", "-p", "-1")
    assert traps.fired() == set()
    assert files_of(tmp_path / "out")["bait.smudge"] == "smudge\n"


def test_a_filter_that_is_required_is_refused(world: World, tmp_path: Path) -> None:
    """Without the filter the exported files would differ from the files in a checkout."""
    git(world.project, "config", "filter.crypt.clean", "cat")
    git(world.project, "config", "filter.crypt.required", "true")
    commit = world.commit({".gitattributes": "*.key filter=crypt\n", "a.key": "x\n"})
    with pytest.raises(GitError) as refused:
        export_commit(world.repository, commit, tmp_path / "out")
    assert refused.value.code is Code.LFS_UNAVAILABLE and "a.key" in refused.value.message


def lfs(world: World, content: bytes, stored: bytes | None) -> str:
    oid = hashlib.sha256(content).hexdigest()
    if stored is not None:
        place = world.project / ".git" / "lfs" / "objects" / oid[:2] / oid[2:4] / oid
        place.parent.mkdir(parents=True)
        place.write_bytes(stored)
    pointer = POINTER.format(oid=oid, size=len(content))
    return world.commit(
        {".gitattributes": "*.bin filter=lfs\n", "dir/large.bin": pointer, "plain.bin": "plain"}
    )


def test_a_large_file_comes_from_where_the_project_keeps_it(world: World, tmp_path: Path) -> None:
    """git-lfs does not run; a file under the filter that was committed unfiltered is exported unchanged."""
    commit = lfs(world, b"large" * 1000, b"large" * 1000)
    export_commit(world.repository, commit, tmp_path / "out")
    assert (tmp_path / "out" / "dir" / "large.bin").read_bytes() == b"large" * 1000
    assert (tmp_path / "out" / "plain.bin").read_text() == "plain"


@pytest.mark.parametrize("stored", [None, b"damaged"])
def test_a_large_file_that_is_not_there_is_reported(
    world: World, tmp_path: Path, stored: bytes | None
) -> None:
    """A missing object, or one with another hash, is an error: a pointer file is not checked."""
    commit = lfs(world, b"large", stored)
    with pytest.raises(GitError) as refused:
        export_commit(world.repository, commit, tmp_path / "out")
    assert refused.value.code is Code.LFS_UNAVAILABLE


@pytest.mark.parametrize("name", ["HEAD", "main", "-f", "", "f" * 39, "--upload-pack=x"])
def test_only_a_commits_own_name_will_do(world: World, tmp_path: Path, name: str) -> None:
    """A branch may change and is refused; an option is not a commit."""
    with pytest.raises(GitError):
        export_commit(world.repository, name, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_commit_that_is_not_there_is_reported(world: World, tmp_path: Path) -> None:
    """Any message of git becomes a typed error."""
    with pytest.raises(GitError):
        export_commit(world.repository, "f" * 40, tmp_path / "out")


def test_odd_names_and_a_project_below(tmp_path: Path) -> None:
    """Quotes, backslashes and blanks in paths; the project's directory is never reached through a link."""
    world = World(tmp_path, 'it\'s "quoted" \\ here #1')
    commit = world.commit({"sub/ü x.txt": "x\n", "link/x": "x\n"})
    made = export_commit(world.repository, commit, tmp_path / "out")
    assert (made.work_tree / "sub" / "ü x.txt").read_text() == "x\n"
    below = export_commit(replace(world.repository, prefix="sub"), commit, tmp_path / "below")
    assert create_project_directory(below) == tmp_path / "below" / "sub"
    missing = export_commit(replace(world.repository, prefix="not/there"), commit, tmp_path / "m")
    assert create_project_directory(missing).is_dir()
    os.rename(tmp_path / "m" / "not", tmp_path / "m" / "else")
    (tmp_path / "m" / "not").symlink_to(tmp_path)
    with pytest.raises(PathEscape):
        create_project_directory(missing)


def test_a_shallow_clone_has_the_history_that_it_has(world: World, tmp_path: Path) -> None:
    """Git in the checkout has the same shallow boundary as the project."""
    commit = world.commit({"later.txt": "later\n"})
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{world.project}", "shallow")
    found = discover_repository(tmp_path / "shallow")
    assert found
    export_commit(found, commit, tmp_path / "out")
    assert git(tmp_path / "out", "log", "--format=%H") == commit


def test_sha256_repositories(tmp_path: Path) -> None:
    """Their hashes are longer."""
    project = tmp_path / "project"
    git(tmp_path, "init", "-q", "--object-format=sha256", "-b", "main", "project")
    world = World.__new__(World)
    world.root, world.project = tmp_path, project
    git(project, "config", "user.name", "a")
    git(project, "config", "user.email", "a@b")
    commit = world.commit({"a": "a\n"})
    assert len(commit) == 64
    export_commit(world.repository, commit, tmp_path / "out")
    assert files_of(tmp_path / "out") == {"a": "a\n"}
