from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from git_traps import (
    Traps,
    commit_bait,
    plant_by_include,
    plant_commondir,
    plant_hooks,
    plant_in_configuration,
    plant_nested,
    plant_pointer,
    touch_bait,
)
from git_world import TASK, World, commit_step, git, make_world, registered
from ostler.errors import Code, GitError
from ostler.git.commit.diff import (
    diff_commits,
    diff_worktree,
    has_changed_since,
    read_diff_stat,
    write_current_tree,
)
from ostler.git.commit.trailers import find_commit_by_trailer
from ostler.git.discovery import discover_repository
from ostler.git.identity import read_identity
from ostler.git.refs import find_base
from ostler.git.repository import Repository, Worktree
from ostler.git.run import command
from ostler.git.run import safe_config as shield
from ostler.git.worktree.worktree import prepare_worktree, remove_worktree

BRANCH = f"ostler/{TASK}"


@pytest.fixture
def trapped(tmp_path: Path) -> tuple[World, Worktree, Traps]:
    """A worktree in which an agent planted every known trap."""
    world = make_world(tmp_path)
    commit_bait(world)
    worktree = world.prepare()
    touch_bait(worktree)
    traps = Traps(world)
    plant_nested(traps, worktree)
    plant_in_configuration(traps)
    plant_by_include(traps)
    plant_hooks(traps, worktree)
    plant_commondir(traps, worktree)
    plant_pointer(traps, worktree)
    traps.disarm()
    return world, worktree, traps


def do_everything(world: World, worktree: Worktree) -> None:
    """Call each git operation of Ostler once."""
    repository = world.repository
    discover_repository(world.project / "sub")
    read_identity(repository)
    base = find_base(repository)
    assert has_changed_since(worktree, worktree.base)
    assert b"changed by the agent" in diff_worktree(worktree)
    assert read_diff_stat(repository, worktree.base, write_current_tree(worktree)).files > 5
    commit_step(worktree)
    assert diff_commits(repository, worktree.base, f"refs/heads/{BRANCH}")
    assert read_diff_stat(repository, worktree.base, f"refs/heads/{BRANCH}").files > 5
    assert find_commit_by_trailer(repository, worktree.base, f"refs/heads/{BRANCH}", "Task-Id", TASK)
    assert world.prepare() == worktree
    other = prepare_worktree(
        repository, worktree.path.with_name("another-cd34"), "ostler/another-cd34", base.commit, "x"
    )
    assert (other.path / "bait.smudge").read_text() == "smudge\n"
    assert len(registered(repository)) == 2
    for each in (other, worktree):
        assert remove_worktree(each) == 0


def test_no_trap_fires(trapped: tuple[World, Worktree, Traps]):
    """With traps in the tree, the registration and the configuration, none runs and the work is done."""
    world, worktree, traps = trapped
    do_everything(world, worktree)
    assert traps.fired() == set()
    assert (
        git(world.project, "-c", "core.fsmonitor=false", "show", "--no-textconv", f"{BRANCH}:new.clean")
        == "new"
    )


def test_plain_git_fires_them(trapped: tuple[World, Worktree, Traps]):
    """The traps are real: ordinary git calls in the same tree start at least fifteen of them."""
    world, worktree, traps = trapped
    for command_line in (["status"], ["diff"]):
        git(worktree.path, *command_line, check=False)
    assert traps.fired() >= {"pointer-fsmonitor"}
    (worktree.path / ".git").write_text(f"gitdir: {worktree.repository.git_dir}\n")
    git(worktree.path, "status", check=False)
    assert traps.fired() >= {"commondir-fsmonitor"}
    (worktree.repository.git_dir / "commondir").write_text("../..\n")
    for command_line in (
        ["status"],
        ["diff"],
        ["diff", "--no-ext-diff"],
        ["add", "-A"],
        ["commit", "-m", "x"],
        ["-c", "commit.gpgSign=false", "commit", "-m", "x", "--trailer", "Task-Id: 1"],
        ["-c", "core.hooksPath=/dev/null", "-c", "commit.gpgSign=false", "commit", "-m", "x"],
        ["checkout", "-q", "HEAD~1"],
        ["worktree", "add", "-q", "--detach", str(world.root / "plain")],
    ):
        git(worktree.path, *command_line, check=False)
    fired = traps.fired()
    assert fired >= {"nested-fsmonitor", "diff-external", "gpg", "textconv", "filter-with-equals-sign"}
    assert fired >= {
        "filter-clean",
        "filter-smudge",
        "filter-process",
        "filter-included",
        "worktree-config-hook",
    }
    assert len(fired) >= 15, sorted(fired)


def _without_fixed(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.delitem(shield.FIXED_SETTINGS, key)


def _without_the_repositorys_own(monkeypatch: pytest.MonkeyPatch, _: str) -> None:
    monkeypatch.setattr(shield, "_get_safe_value", lambda name: None)


def _by_command_line(monkeypatch: pytest.MonkeyPatch, _: str) -> None:
    """Settings passed as with -c: the name ends at the first equals sign."""
    real = command.settings_environment

    def cut(settings: dict[str, str]) -> dict[str, str]:
        pairs = (f"{key}={value}".partition("=") for key, value in settings.items())
        return real({key: value for key, _, value in pairs if "." in key})

    monkeypatch.setattr(command, "settings_environment", cut)


MUTANTS: list[tuple[Callable[[pytest.MonkeyPatch, str], None], str, str]] = [
    (_without_fixed, "core.fsmonitor", "fsmonitor"),
    (_without_fixed, "core.hooksPath", "hook-reference-transaction"),
    (_without_the_repositorys_own, "", "filter-clean"),
    (_without_the_repositorys_own, "", "filter-smudge"),
    (_without_the_repositorys_own, "", "filter-process"),
    (_without_the_repositorys_own, "", "filter-included"),
    (_by_command_line, "", "filter-with-equals-sign"),
]


@pytest.mark.parametrize(
    ("break_it", "key", "canary"), MUTANTS, ids=[f"{m[0].__name__[1:]}-{m[2]}" for m in MUTANTS]
)
@pytest.mark.sampled(2)
def test_each_protection_is_needed(
    trapped: tuple[World, Worktree, Traps],
    monkeypatch: pytest.MonkeyPatch,
    break_it: Callable[[pytest.MonkeyPatch, str], None],
    key: str,
    canary: str,
):
    """Without one protection its trap runs: the test above can fail."""
    world, worktree, traps = trapped
    break_it(monkeypatch, key)
    with suppress(GitError, AssertionError):  # an invalid filter makes the work fail; only the canary counts
        do_everything(world, worktree)
    assert canary in traps.fired()


def test_a_partial_clone_runs_no_transport(tmp_path: Path):
    """A missing object and a promisor whose upload-pack is a trap: refused, not run."""
    world = make_world(tmp_path)
    traps = Traps(world)
    git(world.project, "config", "core.repositoryFormatVersion", "1")
    git(world.project, "config", "extensions.partialClone", "evil")
    git(world.project, "config", "remote.evil.promisor", "true")
    git(world.project, "config", "remote.evil.url", str(world.project))
    git(world.project, "config", "remote.evil.uploadpack", traps.script("uploadpack", then="exit 1"))
    blob = git(world.project, "rev-parse", "HEAD:a.txt")
    (world.project / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(GitError) as caught:
        world.prepare()
    assert caught.value.code is Code.GIT_CORRUPT
    assert traps.fired() == set()
    git(world.project, "cat-file", "-p", blob, check=False)
    assert traps.fired() == {"uploadpack"}


def test_a_relative_path_entry_runs_nothing_from_the_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """With a dot in the user's PATH, a program named git in the worktree is not run."""
    world = make_world(tmp_path)
    worktree = world.prepare()
    traps = Traps(world)
    Path(traps.script("path")).rename(worktree.path / "git")
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}")
    commit_step(worktree)
    assert traps.fired() == set()


def test_the_pointer_is_put_right_for_the_users_own_tools(trapped: tuple[World, Worktree, Traps]):
    """After a checkpoint the worktree points to the user's repository again."""
    _, worktree, _ = trapped
    commit_step(worktree)
    expected = Repository(worktree.path, worktree.repository.git_dir, worktree.repository.common_dir)
    assert discover_repository(worktree.path) == expected
