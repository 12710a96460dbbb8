"""Secrets in commits to be pushed: detected by pattern, reported by place, never repeated."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from git_world import World, commit_step, git, make_world
from ostler.errors import Code, GitError
from ostler.git.publish.secrets import find_secrets, require_no_secrets
from ostler.git.repository import Worktree
from ostler.secrets.redact import redact_text

# Assembled here, so that a scanner for secrets finds none in this file.
AWS = "AKIA" + "Q3EGTVZ7XWYB2K5M"
SAMPLES = {
    "aws-access-key": AWS,
    "github-token": "ghp_" + "a1B2c3D4" * 5,
    "anthropic-key": "sk-" + "ant-api03-" + "x1Y2-" * 8,
    "openai-project-key": "sk-" + "proj-" + "x1Y2" * 12,
    "slack-token": "xoxb-" + "123456789012-" + "abcDEF123456",
    "google-api-key": "AIza" + "x1Y2-" * 7,
    "private-key": "-----BEGIN " + "OPENSSH PRIVATE KEY-----",
}
HARMLESS = (
    "AKIA" + "IOSFODNN7EXAMPLE",
    "sk-loading-spinner-with-a-very-long-name-for-a-class",
    "ghp_short",
    "-----BEGIN " + "PUBLIC KEY-----",
    "MAKIA" + "Q3EGTVZ7XWYB2K5M",
)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path)


def work(world: World, files: dict[str, str], step: str = "t/1") -> Worktree:
    worktree = world.prepare()
    for name, text in files.items():
        (worktree.path / name).parent.mkdir(parents=True, exist_ok=True)
        (worktree.path / name).write_text(text)
    commit_step(worktree, step)
    return worktree


def found(worktree: Worktree) -> list[tuple[str, int, str]]:
    tip = git(worktree.path, "rev-parse", "HEAD")
    refused = find_secrets(worktree.repository, worktree.base, tip).refused
    return [(one.path, one.line, one.kind) for one in refused]


@pytest.mark.parametrize("kind", SAMPLES)
def test_none_is_left_in_a_text(kind: str) -> None:
    """The agent's summary is published; a key is removed with all of its lines."""
    block = f"{SAMPLES[kind]}\nMIIEpAIBAAKCAQEA\n-----END " + "OPENSSH PRIVATE KEY-----"
    secret = block if kind == "private-key" else SAMPLES[kind]
    assert redact_text(f"für {secret} and more") == f"für [redacted:{kind}] and more"
    assert redact_text("\n".join(HARMLESS)) == "\n".join(HARMLESS)


def test_a_key_without_an_end_hides_the_rest() -> None:
    """The end may have been cut off."""
    assert redact_text(f"a {SAMPLES['private-key']}\nMIIEpAIB\n") == "a [redacted:private-key]"


@pytest.mark.parametrize("kind", SAMPLES)
def test_each_kind_is_found_at_its_line(world: World, kind: str) -> None:
    """Also in the middle of a line and of a file."""
    worktree = work(world, {"a.txt": f'one\nkey = "{SAMPLES[kind]}"\nend\n'})
    assert found(worktree) == [("a.txt", 2, kind)]


def test_what_only_looks_a_little_like_it_passes(world: World) -> None:
    """An example from documentation, a CSS class, a text that is too short and a public key pass."""
    assert found(work(world, {"b.txt": "\n".join(HARMLESS)})) == []


@pytest.mark.parametrize(
    ("name", "secret"),
    [(".env", True), ("app/.env.production", True), (".env.example", False), ("a.env.py", False)],
)
def test_a_file_of_secrets_is_known_by_its_name(world: World, name: str, secret: bool) -> None:
    """The content does not matter; a sample file to be copied is not a secret."""
    assert found(work(world, {name: "PORT=1\n"})) == ([(name, 0, "a file of secrets")] if secret else [])


def test_what_was_there_before_is_not_the_tasks(tmp_path: Path) -> None:
    """A secret of the target is allowed where the task changes the lines around it, or renames the file."""
    world = make_world(tmp_path)
    world.commit({"old.txt": f"a\n{AWS}\nb\n" + "more\n" * 20, ".env": "X=1\n"})
    worktree = work(world, {"old.txt": f"a\n{AWS}\nchanged\n" + "more\n" * 20, ".env": "X=2\n"})
    git(worktree.path, "mv", "old.txt", "new.txt")
    commit_step(worktree, "t/2")
    assert found(worktree) == []


def test_a_secret_that_was_taken_out_again_would_leave_all_the_same(world: World) -> None:
    """Every commit is pushed, so every commit is searched."""
    work(world, {"a.txt": AWS})
    assert found(work(world, {"a.txt": "clean\n"}, "t/2")) == [("a.txt", 1, "aws-access-key")]


def test_a_line_can_be_marked_as_no_secret(world: World) -> None:
    """The mark also covers earlier commits, and no other secret."""
    other = AWS[:-1] + "X"
    work(world, {"a.txt": f"{AWS}\n{other}\n"})
    worktree = work(world, {"a.txt": f"{AWS}  # ostler:allow-secret\n{other}\n"}, "t/2")
    assert found(worktree) == [("a.txt", 2, "aws-access-key")]


def test_the_message_of_a_commit_is_searched(world: World) -> None:
    """An agent commits by itself; its message is pushed too."""
    worktree = work(world, {"a.txt": "clean\n"})
    git(worktree.path, "commit", "-q", "--allow-empty", "-m", f"use {AWS}")
    assert found(worktree) == [("the commit message", 0, "aws-access-key")]


def test_examples_that_are_common_in_files_are_no_reason_to_refuse(world: World) -> None:
    """The address of a test database is redacted in records, but a commit with it is published."""
    text = "DB=postgres://app:hunter22@db/app\n"
    assert found(work(world, {"compose.yaml": text})) == []
    assert redact_text(text) == "DB=postgres://app:[redacted:url-password]@db/app\n"


@pytest.mark.parametrize("name", ["with space.txt", 'quo"te.txt', "ünï.txt", "-p", "a/b.txt"])
def test_strange_names_are_named(world: World, name: str) -> None:
    """The message must show the place exactly."""
    ((path, line, _),) = found(work(world, {name: f"x\n{AWS}\n"}))
    assert line == 2 and path.replace("\\", "") == name


def test_lines_that_look_like_a_patch_do_not_confuse_it(world: World) -> None:
    """An agent can write lines in the format of git."""
    text = f"++ b/other.txt\n@@ -1 +900 @@\ncommit 1\ndiff --git a b\n-- /dev/null\n{AWS}\n"
    assert found(work(world, {"a.txt": text})) == [("a.txt", 6, "aws-access-key")]


def test_an_attribute_hides_nothing(world: World) -> None:
    """A file with the binary attribute is searched like any other."""
    files = {".gitattributes": "*.txt binary\n*.pem -diff\n", "a.txt": AWS, "b.pem": f"\0{AWS}"}
    assert [(path, line) for path, line, _ in found(work(world, files))] == [("a.txt", 1), ("b.pem", 1)]


def test_what_a_merge_adds_by_itself_is_seen(world: World) -> None:
    """Content of both parents is not the task's; content of neither is."""
    worktree = work(world, {"a.txt": "mine\n"})
    world.commit({"other.txt": f"{AWS}Z theirs\n", "c.txt": AWS})
    git(worktree.path, "merge", "-q", "--no-commit", "main")
    (worktree.path / "a.txt").write_text(f"mine\n{AWS}\n")
    git(worktree.path, "add", "-A")
    git(worktree.path, "commit", "-q", "-m", "merge")
    onto = git(world.project, "rev-parse", "main")
    tip = git(worktree.path, "rev-parse", "HEAD")
    reported = find_secrets(worktree.repository, onto, tip).refused
    assert [(one.path, one.line) for one in reported] == [("a.txt", 2)]


def test_the_refusal_names_places_and_no_secret(world: World) -> None:
    """The message has five places, the number of the others and the next step, but no secret."""
    worktree = work(world, {f"f{n}.txt": f"{AWS}\n" for n in range(7)})
    with pytest.raises(GitError) as caught:
        require_no_secrets(worktree.repository, worktree.base, git(worktree.path, "rev-parse", "HEAD"))
    error = caught.value
    assert error.code is Code.PUBLISH_FAILED
    assert "f0.txt:1 (aws-access-key" in error.message and "2 more" in error.message
    assert "ostler:allow-secret" in error.hint and AWS not in f"{error.message}{error.hint}"


@pytest.mark.full
def test_ten_thousand_files_take_little_time(world: World) -> None:
    """The limit is two seconds; a busy machine has ten times as long."""
    worktree = work(world, {f"d{n % 100}/f{n}.txt": "line\n" * 10 for n in range(10_000)} | {"z.txt": AWS})
    begun = time.monotonic()
    assert found(worktree) == [("z.txt", 1, "aws-access-key")]
    assert time.monotonic() - begun < 20
