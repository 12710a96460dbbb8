"""Secrets in commits that are easily overlooked: in names, long lines, encodings, hidden commits, marks."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from git_world import World, commit_step, git, make_world
from ostler.errors import GitError
from ostler.git.publish.patch import read_added
from ostler.git.publish.secrets import SecretsFound, find_secrets, require_no_secrets
from ostler.git.repository import Worktree
from ostler.secrets.registry import SECRETS

GITHUB = "ghp_" + "Q7w9" * 9
REGISTERED = "Lk9" + "aZ3x" * 30


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    SECRETS.clear()
    SECRETS.register([("ACME", REGISTERED)])
    yield
    SECRETS.clear()


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path)


def work(world: World, files: dict[str, bytes], step: str = "t/1") -> Worktree:
    worktree = world.prepare()
    for name, data in files.items():
        (worktree.path / name).parent.mkdir(parents=True, exist_ok=True)
        (worktree.path / name).write_bytes(data)
    commit_step(worktree, step)
    return worktree


def scan(worktree: Worktree) -> SecretsFound:
    return find_secrets(worktree.repository, worktree.base, git(worktree.path, "rev-parse", "HEAD"))


def kinds(worktree: Worktree) -> list[tuple[str, int, str]]:
    return [(one.path, one.line, one.kind) for one in scan(worktree).refused]


@pytest.mark.parametrize("data", [b"", b"x\n"])
def test_the_name_of_a_file_is_searched(world: World, data: bytes) -> None:
    """Also that of an empty file; the secret is not part of the message."""
    worktree = work(world, {f"src/{GITHUB}.txt": data, f"{REGISTERED}.txt": data, "plain.txt": data})
    assert sorted(kinds(worktree)) == [
        ("the name of a file in src/", 0, "github-token"),
        ("the name of a file in the top folder", 0, "ACME"),
    ]


def test_the_new_name_of_a_file_is_searched(world: World) -> None:
    """A file that was there before may be renamed."""
    world.commit({"old.txt": "text\n" * 20, ".env": "X=1\n" * 20})
    worktree = world.prepare()
    git(worktree.path, "mv", "old.txt", f"{GITHUB}.txt")
    git(worktree.path, "mv", ".env", ".env.local")
    commit_step(worktree, "t/1")
    assert [kind for _, _, kind in kinds(worktree)] == ["github-token"]


@pytest.mark.parametrize("before", [1_000_000 - 60, 1_000_000 - 20, 1_000_000 - 2, 1_999_990])
def test_a_long_line_is_searched_at_the_borders_of_its_pieces(world: World, before: int) -> None:
    """A line of a minified file can be longer than what is read at once."""
    worktree = work(world, {"min.js": b"a;" * (before // 2) + f";{GITHUB};\n".encode()})
    assert kinds(worktree) == [("min.js", 1, "github-token")]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_file_in_utf_16_is_searched(world: World, encoding: str) -> None:
    """The line is the right one."""
    worktree = work(world, {"a.cs": f"one\nx='{GITHUB}'\n{REGISTERED}\n".encode(encoding)})
    assert sorted(kinds(worktree)) == [("a.cs", 2, "github-token"), ("a.cs", 3, "ACME")]


def test_a_registered_secret_in_several_lines_is_found(world: World) -> None:
    """In base64, and split in two."""
    text = b"one\n" + base64.encodebytes(REGISTERED.encode()) + b"two\n"
    split = f"{REGISTERED[:60]}\n{REGISTERED[60:]}\n".encode()
    assert sorted(kinds(work(world, {"a.b64": text, "b.txt": split}))) == [
        ("a.b64", 2, "ACME"),
        ("b.txt", 1, "ACME"),
    ]


@pytest.mark.parametrize("name", ["GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_AUTHOR_NAME"])
def test_the_people_of_a_commit_are_searched(
    world: World, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """An agent commits with a name of its choice."""
    worktree = work(world, {"a.txt": b"clean\n"})
    monkeypatch.setenv(name, GITHUB)
    git(worktree.path, "commit", "-q", "--allow-empty", "-m", "work")
    assert [kind for _, _, kind in kinds(worktree)] == ["github-token"]


@pytest.mark.parametrize("file", ["info/grafts", "shallow"])
def test_a_file_that_ends_the_history_hides_no_commit(world: World, file: str) -> None:
    """The commit is published with the ones after it."""
    work(world, {"a.txt": GITHUB.encode()})
    worktree = work(world, {"a.txt": b"clean\n"}, "t/2")
    tip = git(worktree.path, "rev-parse", "HEAD")
    path = worktree.repository.common_dir / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{tip} {worktree.base}\n" if "grafts" in file else f"{tip}\n")
    assert GITHUB not in git(worktree.path, "log", "-p", f"{worktree.base}..HEAD")  # the control
    assert kinds(worktree) == [("a.txt", 1, "github-token")]


def test_a_mark_allows_no_registered_secret(world: World) -> None:
    """An agent can write the mark; a value that a person registered is not a false positive."""
    worktree = work(world, {"a.txt": f"{REGISTERED} # ostler:allow-secret\n".encode()})
    assert kinds(worktree) == [("a.txt", 1, "ACME")]


def test_what_a_mark_allows_is_named(world: World) -> None:
    """A person reads it in the result; without a mark there is no note."""
    worktree = work(world, {"a.txt": f"one\n{GITHUB} # ostler:allow-secret\n".encode()})
    tip = git(worktree.path, "rev-parse", "HEAD")
    note = require_no_secrets(worktree.repository, worktree.base, tip)
    assert "a.txt:2 (github-token" in note and GITHUB not in note
    clean = work(world, {"b.txt": b"clean\n"}, "t/2")
    assert require_no_secrets(clean.repository, tip, git(clean.path, "rev-parse", "HEAD")) == ""


def test_the_refusal_does_not_offer_the_mark_for_a_registered_secret(world: World) -> None:
    """The hint names the condition."""
    worktree = work(world, {"a.txt": REGISTERED.encode()})
    with pytest.raises(GitError) as caught:
        require_no_secrets(worktree.repository, worktree.base, git(worktree.path, "rev-parse", "HEAD"))
    assert "not a registered secret" in caught.value.hint


def test_blocks_keep_the_numbers_of_lines() -> None:
    """A block ends at a line that is not added; a long one overlaps with the next."""
    patch = b"commit a1\ndiff --git a/x b/x\n+++ b/x\n@@ -1,0 +7,2 @@\n+one\n+two\n@@ -9 +20 @@\n-old\n+new\n"
    assert [(one.path, one.line, one.text) for one in read_added(patch.splitlines(keepends=True))] == [
        ("x", 7, b"one\ntwo\n"),
        ("x", 20, b"new\n"),
    ]
    lines = [b"commit a1\n", b"+++ b/x\n", b"@@ -0,0 +1,60000 @@\n", *[b"+" + b"y" * 99 + b"\n"] * 60_000]
    blocks = list(read_added(lines))
    assert len(blocks) > 4 and all(one.text.startswith(b"y") for one in blocks[:1])
    ends = [one.line + one.text.count(b"\n") for one in blocks]
    assert ends[-1] == 60_001 and all(later.line < end for end, later in zip(ends, blocks[1:], strict=False))
