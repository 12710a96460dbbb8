from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from git_world import World, git, make_world
from ostler.errors import Code, GitError
from ostler.git.refs import check_branch_name, find_base, is_branch_name


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path)


ALPHABET = [*"aZ0-./@{~^:?*[\\ \n\x7f\0é$(;'\"|&", "lock", ".lock", "..", "--upload-pack=", "HEAD", "\udc80"]


def made_names(count: int) -> list[str]:
    dice = random.Random(19)
    return ["".join(dice.choices(ALPHABET, k=dice.randint(1, 6))) for _ in range(count)]


def test_ten_thousand_made_names_never_pass_as_something_else():
    """Git cannot read an accepted name as an option, a range, a pattern or another ref."""
    accepted = [name for name in made_names(10_000) if is_branch_name(name)]
    assert len(accepted) > 100
    for name in accepted:
        assert not name.startswith("-") and not set(name) & set("\0\n ~^:?*[\\\x7f")
        assert ".." not in name and "@{" not in name and name != "HEAD"
        name.encode()


def test_git_agrees_on_names():
    """The rules are those of git, except for three names that only resemble branches: -x, @ and HEAD."""
    names = [name for name in made_names(3000) if "\0" not in name and "\udc80" not in name]
    names = [name for name in names if name not in ("@", "HEAD") and not name.startswith("-")]
    yes = [name for name in names if is_branch_name(name)][:120]
    no = [name for name in names if not is_branch_name(name)][:120]
    for name in yes + no:
        asked = subprocess.run(["git", "check-ref-format", f"refs/heads/{name}"], check=False)
        assert (asked.returncode == 0) == is_branch_name(name), name


@pytest.mark.parametrize("name", ["", "-x", "a..b", "a.lock", "a/.b", "a//b", "a/", "x" * 250, "@", "HEAD"])
def test_bad_names_are_refused_with_a_sentence(name: str):
    """A bad name is a usage error that contains the name."""
    with pytest.raises(GitError) as caught:
        check_branch_name(name)
    assert caught.value.code is Code.USAGE
    assert repr(name) in caught.value.message


def test_base_is_the_branch_checked_out(world: World):
    """Without a target, work starts at the user's current branch."""
    git(world.project, "switch", "-qc", "feature")
    commit = world.commit({"f": "1"})
    base = find_base(world.repository)
    assert (base.commit, base.branch) == (commit, "feature")


def test_base_of_a_detached_head_is_its_commit(world: World):
    """A detached checkout starts from its commit."""
    commit = git(world.project, "rev-parse", "HEAD")
    git(world.project, "switch", "-q", "--detach")
    base = find_base(world.repository)
    assert (base.commit, base.branch) == (commit, None)


def test_target_wins_over_the_checkout(world: World):
    """git.target sets the base for any branch of the user's checkout; a branch has precedence over a tag."""
    first = git(world.project, "rev-parse", "HEAD")
    git(world.project, "branch", "release")
    world.commit({"f": "1"})
    git(world.project, "tag", "release")
    assert find_base(world.repository, "release").commit == first
    git(world.project, "update-ref", "refs/remotes/origin/next", first)
    assert find_base(world.repository, "origin/next").commit == first


@pytest.mark.parametrize("target", ["nowhere", "--output=x", "a..b", "HEAD"])
def test_a_target_that_is_not_there_is_a_usage_error(world: World, target: str):
    """A misspelt or hostile target ends with exit 2, not with a message of git."""
    with pytest.raises(GitError) as caught:
        find_base(world.repository, target)
    assert caught.value.exit == 2


@pytest.mark.parametrize("target", ["", "main"])
def test_no_commit_yet(tmp_path: Path, target: str):
    """An empty repository is refused with the command to run."""
    world = World(tmp_path)
    with pytest.raises(GitError) as caught:
        find_base(world.repository, target)
    assert caught.value.code is Code.GIT_NO_COMMITS
    assert caught.value.exit == 2
    assert "--allow-empty" in caught.value.hint
