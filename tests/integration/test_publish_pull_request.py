"""From a finished branch to one pull request: real git, the real gh, and a local fake GitHub."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs

from git_world import BRANCH, git, snapshot_of
from ostler.errors import Code, GitError
from ostler.git.publish import github as module
from ostler.git.publish.github import create_pull_request, find_pull_request, merge_when_ready
from ostler.git.publish.merge import MergeConflict
from ostler.git.publish.proposal import Proposal
from ostler.git.publish.publish import PublishResult
from ostler.testing.fake_github import HOST, WAITING, FakeGitHub
from publish_world import PROPOSAL, PublishWorld, open_github

NAME = f"{HOST}/acme/app"
AUTO = structs.replace(PROPOSAL, auto_merge=True)


@pytest.fixture
def world(tmp_path: Path) -> PublishWorld:
    return PublishWorld(tmp_path)


@pytest.fixture
def github(world: PublishWorld, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGitHub]:
    with open_github(world.bare, world.root / "gh", monkeypatch) as made:
        yield made


def tip(world: PublishWorld) -> str:
    return git(world.project, "rev-parse", BRANCH)


def test_a_pull_request_is_made(world: PublishWorld, github: FakeGitHub):
    """Pushed and proposed with all requested values; the user's checkout is unchanged."""
    worktree = world.work({"mine.txt": "mine"})
    before = snapshot_of(world.project)
    proposal = Proposal(
        "--title is no option", '## Summary\n\n`x` & "y" $(z)\n', True, ("automated",), ("una",)
    )
    published = world.publish(worktree, proposal)
    (pull,) = github.pulls
    assert (published.result, published.pr_url) == (PublishResult.PULL_REQUEST, pull.url)
    assert published.commit == tip(world) == world.there() == pull.commit
    assert (pull.head, pull.base, pull.title, pull.body) == (BRANCH, "main", proposal.title, proposal.body)
    assert (pull.draft, pull.labels, pull.reviewers) == (True, ("automated",), ("una",))
    assert {asked.token for asked in github.requests} == {"x"}
    assert snapshot_of(world.project) == before


def test_a_second_time_it_is_found(world: PublishWorld, github: FakeGitHub):
    """B4: it is found by its branch and adopted, and no second one is created."""
    worktree = world.work({"mine.txt": "mine"})
    first = world.publish(worktree)
    again = world.publish(worktree)
    assert (again.pr_url, again.commit, again.adopted) == (first.pr_url, first.commit, True)
    assert len(github.pulls) == 1
    operations = [asked.operation for asked in github.requests]
    assert (operations.count("PullRequestForBranch"), operations.count("PullRequestCreate")) == (1, 1)


@pytest.mark.full
def test_more_work_after_a_merge(world: PublishWorld, github: FakeGitHub):
    """The merged pull request ended with another commit: the new work gets its own one."""
    world.publish(world.work({"mine.txt": "mine"}), AUTO)
    published = world.publish(world.work({"more.txt": "more"}, "t/2"))
    assert [pull.state for pull in github.pulls] == ["MERGED", "OPEN"]
    assert published.pr_url == github.pulls[1].url


@pytest.mark.full
def test_the_target_moved_twice(world: PublishWorld, github: FakeGitHub):
    """Rebased, pushed, rebased again and pushed again: one pull request, one commit on top of the target."""
    worktree = world.work({"mine.txt": "mine"})
    for name in ("one.txt", "two.txt"):
        onto = world.others_push({name: name})
        published = world.publish(worktree)
        assert published.base == onto
        assert world.there() == published.commit == tip(world)
        assert git(world.bare, "rev-list", "--count", f"{onto}..{BRANCH}") == "1"
    assert len(github.pulls) == 1


def test_a_conflict_publishes_nothing(world: PublishWorld, github: FakeGitHub):
    """MERGE_CONFLICT with the file's name; neither pushed nor proposed; the branch is unchanged."""
    worktree = world.work({"a.txt": "mine\n"})
    kept = tip(world)
    world.others_push({"a.txt": "theirs\n"})
    with pytest.raises(MergeConflict) as caught:
        world.publish(worktree)
    assert caught.value.files == ("a.txt",)
    assert (tip(world), world.there(), github.pulls) == (kept, "", ())
    assert git(worktree.path, "status", "--porcelain") == ""


def test_nothing_to_publish(world: PublishWorld, github: FakeGitHub):
    """A task that changed no file has no pull request, and this is reported."""
    published = world.publish(world.work({}))
    assert published.result is PublishResult.NOTHING
    assert "changes no file" in published.notes[0]
    assert (world.there(), github.pulls) == ("", ())


def test_a_branch_that_was_merged_by_hand(world: PublishWorld, github: FakeGitHub):
    """The remote's target has all commits: this is reported, and no pull request is created."""
    worktree = world.work({"mine.txt": "mine"})
    git(world.project, "push", "-q", "origin", f"{BRANCH}:main")
    published = world.publish(worktree)
    assert (published.result, published.base) == (PublishResult.NOTHING, worktree.base)
    assert published.notes == (f"main already contains {BRANCH}, so nothing was published",)
    assert github.pulls == ()


def test_no_remote(world: PublishWorld):
    """The branch is the result: a note, no failure, and no gh."""
    git(world.project, "remote", "remove", "origin")
    published = world.publish(world.work({"mine.txt": "mine"}))
    assert (published.result, published.commit) == (PublishResult.BRANCH, tip(world))
    assert published.notes == (f"there is no remote, so {BRANCH} is the result",)


def test_a_remote_that_is_not_github(world: PublishWorld):
    """There are no pull requests, and the error names the settings to change."""
    git(world.project, "remote", "set-url", "origin", str(world.bare))
    with pytest.raises(GitError, match="not a GitHub repository") as caught:
        world.publish(world.work({"mine.txt": "mine"}))
    assert caught.value.code is Code.PUBLISH_FAILED
    assert "git.on_complete" in caught.value.hint


def test_a_target_that_the_remote_has_not(world: PublishWorld, github: FakeGitHub):
    """It is reported before any push."""
    worktree = world.work({"mine.txt": "mine"})
    git(world.bare, "branch", "-m", "main", "trunk")
    with pytest.raises(GitError, match="no branch main"):
        world.publish(worktree)
    assert world.there() == ""


@pytest.mark.full
@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("bad_token", "gh auth login"),
        ("rate_limited", "try again later"),
        ("secondary_limit", "try again later"),
        ("forbidden", "gh auth status"),
        ("server_error", "try again later"),
        ("hang_up", "try again later"),
    ],
)
@pytest.mark.sampled(2)
def test_a_github_that_refuses(world: PublishWorld, github: FakeGitHub, fault: str, expected: str):
    """Without a pull request: PUBLISH_FAILED with the next step, and the pushed branch is kept."""
    worktree = world.work({"mine.txt": "mine"})
    github.fail("PullRequestCreate", fault, times=3)
    with pytest.raises(GitError) as caught:
        world.publish(worktree)
    assert caught.value.code is Code.PUBLISH_FAILED
    assert expected in caught.value.hint
    assert (world.there(), github.pulls) == (tip(world), ())


def test_after_a_failure_it_goes_on(world: PublishWorld, github: FakeGitHub):
    """Tried again when GitHub works: one pull request, and nothing is pushed twice."""
    worktree = world.work({"mine.txt": "mine"})
    github.fail("PullRequestCreate", "server_error")
    with pytest.raises(GitError):
        world.publish(worktree)
    (world.bare / "hooks").mkdir(exist_ok=True)
    (world.bare / "hooks/pre-receive").write_text("#!/bin/sh\nexit 1\n")
    (world.bare / "hooks/pre-receive").chmod(0o755)
    assert world.publish(worktree).result is PublishResult.PULL_REQUEST
    assert len(github.pulls) == 1


def test_an_answer_that_is_lost(world: PublishWorld, github: FakeGitHub):
    """GitHub created it and then answered 502: it is found, and there is no second one."""
    worktree = world.work({"mine.txt": "mine"})
    github.fail("PullRequestCreate", "lost_answer")
    published = world.publish(worktree)
    assert [pull.url for pull in github.pulls] == [published.pr_url]


def test_labels_that_were_lost_are_reported(world: PublishWorld, github: FakeGitHub):
    """The pull request exists without its labels: no failure, and this is reported."""
    worktree = world.work({"mine.txt": "mine"})
    github.fail("PullRequestCreateMetadata", "server_error")
    published = world.publish(worktree, structs.replace(PROPOSAL, labels=("automated",)))
    assert published.pr_url == github.pulls[0].url
    assert "labels and reviewers may be missing" in published.notes[0]


def test_somebody_was_faster(world: PublishWorld, github: FakeGitHub):
    """422 already exists: the existing one is adopted."""
    world.publish(world.work({"mine.txt": "mine"}))
    made = create_pull_request(NAME, BRANCH, "main", PROPOSAL)
    assert made.url == github.pulls[0].url
    assert len(github.pulls) == 1


def test_a_label_that_is_not_there(world: PublishWorld, github: FakeGitHub):
    """The error has the command that creates it; no pull request is created without it."""
    worktree = world.work({"mine.txt": "mine"})
    with pytest.raises(GitError, match="does not have the label") as caught:
        world.publish(worktree, structs.replace(PROPOSAL, labels=("nope",)))
    assert "gh label create" in caught.value.hint
    assert github.pulls == ()


def test_a_repository_that_gh_cannot_see(world: PublishWorld, github: FakeGitHub):
    """It is reported before any push."""
    github.hub.name = "acme/other"
    worktree = world.work({"mine.txt": "mine"})
    with pytest.raises(GitError, match="does not exist"):
        world.publish(worktree)
    assert world.there() == ""


@pytest.mark.full
def test_auto_merge_waits_for_checks(world: PublishWorld, github: FakeGitHub):
    """Checks must pass first: GitHub is asked to squash-merge then; a second request has the same result."""
    github.hub.checks = WAITING
    worktree = world.work({"mine.txt": "mine"})
    for _ in range(2):
        published = world.publish(worktree, AUTO)
        assert published.notes == ("GitHub merges it once its checks pass",)
    assert [(pull.auto_merge, pull.state) for pull in github.pulls] == [(True, "OPEN")]
    asked = [asked for asked in github.requests if asked.operation == "PullRequestAutoMerge"]
    assert {asked.variables["input"]["mergeMethod"] for asked in asked} == {"SQUASH"}


def test_auto_merge_with_nothing_to_wait_for(world: PublishWorld, github: FakeGitHub):
    """C118: "clean status" means that it can be merged now, and it is; published again it stays merged."""
    worktree = world.work({"mine.txt": "mine"})
    first = world.publish(worktree, AUTO)
    assert first.notes == ("merged on GitHub",)
    again = world.publish(worktree, AUTO)
    assert (again.pr_url, again.adopted) == (first.pr_url, True)
    assert [pull.state for pull in github.pulls] == ["MERGED"]


@pytest.mark.full
def test_merged_and_squashed_it_is_not_rebased_onto_itself(world: PublishWorld, github: FakeGitHub):
    """Killed after the merge, before it was recorded: the squashed work in the target is not a conflict."""
    world.work({"a.txt": "mine, first\n"})
    worktree = world.work({"a.txt": "mine, then\n"}, "t/2")
    first = world.publish(worktree, AUTO)
    world.others_push({"a.txt": "mine, then\n"}, message="squashed")
    world.others_push({"a.txt": "and more\n"}, message="and more")
    assert world.publish(worktree, AUTO).pr_url == first.pr_url
    assert len(github.pulls) == 1


def test_a_base_that_is_modified_while_merging(world: PublishWorld, github: FakeGitHub):
    """GitHub's 405: tried again after a pause, then merged."""
    world.publish(world.work({"mine.txt": "mine"}))
    github.fail("PullRequestMerge", "base_modified", times=2)
    pauses: list[float] = []
    found = find_pull_request(NAME, BRANCH)
    assert found
    assert merge_when_ready(found, pause=pauses.append) == "merged on GitHub"
    assert pauses == [2.0, 4.0]


def test_auto_merge_that_is_switched_off(world: PublishWorld, github: FakeGitHub):
    """The caller gets the failure, and the pull request stays."""
    worktree = world.work({"mine.txt": "mine"})
    github.fail("PullRequestAutoMerge", "auto_merge_off")
    with pytest.raises(GitError, match="Auto merge is not allowed") as caught:
        world.publish(worktree, AUTO)
    assert "pull_request.auto_merge = false" in caught.value.hint
    assert len(github.pulls) == 1
    assert world.publish(worktree).adopted


def test_a_draft_is_not_merged(world: PublishWorld, github: FakeGitHub):
    """GitHub gets no request to merge."""
    published = world.publish(world.work({"mine.txt": "mine"}), structs.replace(AUTO, draft=True))
    assert published.notes == ("auto-merge does not apply to drafts",)
    assert github.pulls[0].state == "OPEN"


def test_a_pull_request_that_a_person_closed(world: PublishWorld, github: FakeGitHub):
    """Published again it gets a new one: the closed one has ended."""
    worktree = world.work({"mine.txt": "mine"})
    world.publish(worktree)
    github.hub.change(1, state="CLOSED")
    published = world.publish(worktree)
    assert [pull.state for pull in github.pulls] == ["CLOSED", "OPEN"]
    assert published.pr_url == github.pulls[1].url


def test_not_logged_in(world: PublishWorld, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch):
    """The error has the one command, and nothing was pushed."""
    monkeypatch.delenv("GH_TOKEN")
    worktree = world.work({"mine.txt": "mine"})
    with pytest.raises(GitError) as caught:
        world.publish(worktree)
    assert (caught.value.code, caught.value.hint) == (Code.PUBLISH_FAILED, "gh auth login")


def test_a_slow_github_is_waited_for(world: PublishWorld, github: FakeGitHub):
    """A slow answer is not an error."""
    github.fail("PullRequestCreate", "slow")
    assert world.publish(world.work({"mine.txt": "mine"})).pr_url


def test_a_gh_that_names_no_address(world: PublishWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """For any output, only the address of a pull request is accepted as one."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "gh").write_text("#!/bin/sh\necho done >&2; echo 'https://github.com/acme/app'\n")
    (folder / "gh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    with pytest.raises(module.GhError, match="printed no URL"):
        create_pull_request(NAME, BRANCH, "main", PROPOSAL)
