"""A branch that is pushed to a fork, with a pull request into the original repository."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from git_world import BRANCH, git
from ostler.errors import Code, GitError
from ostler.git.identity import OSTLER
from ostler.git.publish.publish import PublishOptions, PublishOutcome, publish_pull_request
from ostler.git.publish.remote import Remote, record_remotes
from ostler.git.repository import Worktree
from ostler.testing.fake_github import FakeGitHub
from publish_world import PROPOSAL, PublishWorld, open_github

FORK = "http://github.localhost/una/app.git"
TO_FORK = PublishOptions(fork="mine")


@pytest.fixture
def world(tmp_path: Path) -> PublishWorld:
    """`mine` is una's fork of the repository of `origin`."""
    made = PublishWorld(tmp_path)
    git(tmp_path, "clone", "-q", "--bare", str(made.bare), str(fork_of(made)))
    git(made.project, "config", "--global", f"url.{fork_of(made)}.insteadOf", FORK)
    git(made.project, "remote", "add", "mine", FORK)
    return made


@pytest.fixture
def github(world: PublishWorld, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGitHub]:
    with open_github(world.bare, world.root / "gh", monkeypatch) as made:
        made.hub.forks["una"] = fork_of(world)
        yield made


def fork_of(world: PublishWorld) -> Path:
    return world.root / "fork.git"


def in_fork(world: PublishWorld) -> str:
    return git(fork_of(world), "rev-parse", "-q", "--verify", f"refs/heads/{BRANCH}", check=False)


def publish(worktree: Worktree, terms: PublishOptions = TO_FORK) -> PublishOutcome:
    return publish_pull_request(worktree, "main", PROPOSAL, OSTLER, terms)


def test_the_fork_gets_the_branch_and_the_target_the_question(world: PublishWorld, github: FakeGitHub):
    """It is pushed to the fork alone; the pull request names it as OWNER:BRANCH."""
    onto = world.others_push({"theirs.txt": "theirs"})
    published = publish(world.work({"mine.txt": "mine"}))
    (pull,) = github.pulls
    assert (pull.fork, pull.head, pull.base, pull.commit) == ("una", BRANCH, "main", published.commit)
    assert (in_fork(world), world.there()) == (published.commit, "")
    assert (published.pr_url, published.base) == (pull.url, onto)


def test_a_second_time_it_is_found(world: PublishWorld, github: FakeGitHub):
    """It is adopted; one of the same name from the repository itself, or from another fork, is not."""
    worktree = world.work({"mine.txt": "mine"})
    other = world.root / "other.git"
    git(world.root, "clone", "-q", "--bare", str(world.bare), str(other))
    github.hub.forks["bob"] = other
    git(other, "branch", BRANCH, "main")
    git(world.bare, "branch", BRANCH, "main")
    github.hub.open(f"bob:{BRANCH}", "main", "theirs")
    github.hub.open(BRANCH, "main", "ours")
    first = publish(worktree)
    again = publish(worktree)
    assert (again.pr_url, again.adopted, first.adopted) == (first.pr_url, True, False)
    assert [pull.fork for pull in github.pulls] == ["bob", "", "una"]


def test_one_that_was_made_unseen_is_taken(world: PublishWorld, github: FakeGitHub):
    """The answer was lost, but the pull request exists."""
    github.fail("PullRequestCreate", "lost_answer")
    published = publish(world.work({"mine.txt": "mine"}))
    (pull,) = github.pulls
    assert published.pr_url == pull.url


def test_another_name_for_the_same_repository(world: PublishWorld, github: FakeGitHub):
    """It is not a fork: the branch is in the repository itself."""
    again = "ssh://git@github.localhost/acme/app.git"
    git(world.project, "remote", "set-url", "mine", again)
    git(world.project, "config", "--global", "--add", f"url.{world.bare}.insteadOf", again)
    published = publish(world.work({"mine.txt": "mine"}))
    (pull,) = github.pulls
    assert (pull.fork, world.there()) == ("", published.commit)


def test_a_fork_that_is_not_there(world: PublishWorld, github: FakeGitHub):
    """It is reported before any change, with the command that adds it."""
    worktree = world.work({"mine.txt": "mine"})
    with pytest.raises(GitError, match=r"git\.push_remote is theirs") as caught:
        publish(worktree, PublishOptions(fork="theirs"))
    assert caught.value.code is Code.PUBLISH_FAILED
    assert caught.value.hint.startswith("run git remote add theirs")


def test_a_fork_that_leads_elsewhere_now(world: PublishWorld, github: FakeGitHub, tmp_path: Path):
    """S7: the address at the start of the task counts, for the fork and for the target."""
    began = record_remotes(world.repository, "main", "mine")
    assert [remote.name for remote in began] == ["origin", "mine"]
    elsewhere = tmp_path / "elsewhere.git"
    git(world.root, "clone", "-q", "--bare", str(world.bare), str(elsewhere))
    git(world.project, "remote", "set-url", "mine", str(elsewhere))
    published = publish(world.work({"mine.txt": "mine"}), PublishOptions(fork="mine", remotes=began))
    assert in_fork(world) == published.commit and len(github.pulls) == 1
    assert git(elsewhere, "branch", "--list", BRANCH) == ""
    assert any("mine was" in note and str(elsewhere) in note for note in published.notes)


def test_a_remote_that_came_later_gets_nothing(world: PublishWorld, github: FakeGitHub):
    """There was none at the start of the task, so none is used."""
    published = publish(world.work({"mine.txt": "mine"}), PublishOptions(remotes=()))
    assert "there was no remote when the task started" in published.notes[0]
    assert (world.there(), github.pulls) == ("", ())


def test_a_remote_that_went_is_still_known(world: PublishWorld, github: FakeGitHub):
    """After its removal from the configuration the recorded address is used."""
    began = record_remotes(world.repository, "main")
    git(world.project, "remote", "remove", "origin")
    git(world.project, "remote", "remove", "mine")
    published = publish(world.work({"mine.txt": "mine"}), PublishOptions(remotes=began))
    assert world.there() == published.commit and "is missing now" in published.notes[0]


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://una:to/k@en@example.org/a.git", "https://una:to/k@en@example.org/a.git"),
        ("https://una:t0ken@example.org/a.git", "https://example.org/a.git"),
        ("https://t0k@en@example.org/a.git", "https://example.org/a.git"),
        ("ssh://git@example.org/a.git", "ssh://git@example.org/a.git"),
        ("ssh://git:pass@example.org/a.git", "ssh://git@example.org/a.git"),
        ("git@example.org:a.git", "git@example.org:a.git"),
    ],
)
def test_what_is_recorded_has_no_login(tmp_path: Path, url: str, kept: str):
    """For ssh the user name is kept, because the address needs it."""
    made = PublishWorld(tmp_path)
    git(made.project, "remote", "set-url", "origin", url)
    assert record_remotes(made.repository, "main") == (Remote("origin", kept),)
