"""Refs that are read without git have the values that git reads."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from git_world import git as run_git
from git_world import make_world
from ostler.git.commit.heads import read_heads
from ostler.git.identity import read_identity
from ostler.git.ref_files import read_attached_branch, read_loose_tree, read_ref
from ostler.git.repository import Repository
from ostler.git.run.safe_config import parse_plain
from ostler.git.run.user_config import read_user_entries


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return make_world(tmp_path).repository


def git(repository: Repository, *args: str) -> str:
    return run_git(repository.work_tree, *args)


def test_loose_and_packed_refs_are_those_of_git(repository: Repository) -> None:
    """A packed ref, one that is newer than its packed value, and one that does not exist."""
    first = git(repository, "rev-parse", "HEAD")
    git(repository, "branch", "a/b", first)
    assert read_ref(repository, "refs/heads/a/b") == first
    git(repository, "pack-refs", "--all")
    assert read_ref(repository, "refs/heads/a/b") == first
    second = git(repository, "commit-tree", "HEAD^{tree}", "-m", "second")
    git(repository, "update-ref", "refs/heads/a/b", second)
    assert read_ref(repository, "refs/heads/a/b") == second != first
    assert [read_ref(repository, f"refs/heads/{name}") for name in ("a", "b", "a/b/c")] == ["", "", ""]


def test_what_is_unusual_is_left_to_git(repository: Repository) -> None:
    """A symbolic ref, a ref with other content, and another storage of refs are not read here."""
    branch = git(repository, "symbolic-ref", "HEAD")
    assert read_attached_branch(repository) == branch
    git(repository, "symbolic-ref", "refs/heads/link", branch)
    (repository.common_dir / "refs/heads/odd").write_text("not a name\n")
    assert read_ref(repository, "refs/heads/link") is read_ref(repository, "refs/heads/odd") is None
    git(repository, "checkout", "-q", "--detach")
    assert read_attached_branch(repository) is None
    (repository.common_dir / "reftable").mkdir()
    assert read_ref(repository, branch) is read_attached_branch(repository) is None


def test_the_tree_of_a_commit_is_read_from_its_own_file(repository: Repository) -> None:
    """No commit, one in a pack, a damaged one, one under another name and a missing one are left to git."""
    commit, tree = git(repository, "rev-parse", "HEAD"), git(repository, "rev-parse", "HEAD^{tree}")
    assert read_loose_tree(repository, commit) == tree
    objects = repository.common_dir / "objects"
    damaged, renamed = (git(repository, "commit-tree", tree, "-m", word) for word in ("one", "two"))
    file, other = (objects / name[:2] / name[2:] for name in (damaged, renamed))
    for path, content in ((file, b"\0"), (other, (objects / commit[:2] / commit[2:]).read_bytes())):
        path.chmod(0o600)
        path.write_bytes(content)
    assert not any(read_loose_tree(repository, one) for one in (tree, damaged, renamed, "0" * 40, ""))
    file.unlink()
    other.unlink()
    git(repository, "repack", "-adq")
    assert not read_loose_tree(repository, commit)


def test_a_branch_without_its_commit_is_not_believed(tmp_path: Path) -> None:
    """An agent wrote a name into its branch that is no commit: the base is used, as git would say."""
    worktree = make_world(tmp_path).prepare()
    assert read_heads(worktree).tip == worktree.base
    ref = worktree.repository.common_dir / worktree.ref
    ref.write_text("1" * 40 + "\n")
    assert read_heads(worktree).tip == worktree.base and not read_heads(worktree).branch_exists


def test_settings_are_read_again_only_after_a_change(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change of the user's file, of a file that it includes and of the repository's is seen at once."""
    git(repository, "config", "--remove-section", "user")
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    more = "[include]\n\tpath = more\n"
    (home / ".gitconfig").write_text(f"{more}[user]\n\tname = Ada\n\temail = a@example.org\n")
    assert read_identity(repository).name == "Ada"
    first = read_user_entries(repository)
    monkeypatch.setattr("ostler.git.run.user_config.execute_git", None)
    assert read_user_entries(repository) is first
    monkeypatch.undo()
    monkeypatch.setenv("HOME", str(home))
    (home / "more").write_text("[user]\n\tname = Grace\n")
    assert ("user.name", "Grace") in read_user_entries(repository)
    (home / ".gitconfig").write_text("[user]\n\tname = Edsger\n\temail = e@example.org\n")
    assert read_identity(repository).name == "Edsger"
    git(repository, "config", "user.name", "Barbara")
    assert read_identity(repository).name == "Barbara"


@pytest.mark.parametrize(
    "text",
    [
        "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tBare = false\n",
        '[remote "origin"]\n\turl = git@example.org:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n',
        '[branch "Main/x"]\n\tremote = origin\n\n[User]\nname = Ada\n',
        '[a "b.c"]\n\tkey-1 = 1\n[a]\n\tkey = 2\n[a "b.c"]\n\tkey-1 = 3\n',
        '[a ""]\n\tk = v\n',
        "[a]\n",
        "",
    ],
)
def test_a_plain_configuration_is_read_as_git_reads_it(text: str) -> None:
    """Sections, subsections, the case of names and repeated values."""
    found = parse_plain(text.encode())
    assert found is not None
    listed = subprocess.run(
        ["git", "config", "--file", "-", "--list", "-z"],
        input=text,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert [f"{name}\n{value}" for name, value in found] == listed.split("\0")[:-1]


@pytest.mark.parametrize(
    "line",
    [
        'a = "b"',
        "a = b # c",
        "a = b ; c",
        "a = b\\",
        "a",
        "a = b c",
        "a =",
        " [x] a = b",
        "a = b\r",
        "a=b",
        "é = b",
    ],
)
def test_any_other_configuration_is_left_to_git(line: str) -> None:
    """Quotes, comments, continued lines and everything else with rules of its own."""
    assert parse_plain(f"[core]\n\t{line}\n".encode()) is None
    assert parse_plain(b"a = b\n") is parse_plain(b"[a.b]\n\tc = d\n") is None
