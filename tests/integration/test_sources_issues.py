"""Issues through the real gh, with a local fake GitHub."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ostler.errors import UsageError
from ostler.git.publish.gh import GhError
from ostler.sources.issues import comment_once, list_issues, normalize_repository
from ostler.sources.origin import IssueOrigin
from ostler.testing.fake_github import HOST, FakeGitHub
from publish_world import open_github

REPOSITORY = f"{HOST}/acme/app"


@pytest.fixture
def github(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGitHub]:
    with open_github(None, tmp_path / "gh", monkeypatch) as made:
        yield made


def test_open_issues_with_the_label(github: FakeGitHub) -> None:
    """The oldest first; a label of several words, a body of many lines, and a title that is too long."""
    github.hub.report("First", "a\r\n\r\nb", "good first issue")
    github.hub.report("x" * 256, "", "good first issue")
    github.hub.report("Other", "", "bug")
    closed = github.hub.report("Closed", "", "good first issue")
    github.hub.revise(closed.number, state="CLOSED")
    first, long = list_issues(REPOSITORY, "good first issue")
    assert (first.task.title, first.task.source) == ("First", f"github:{REPOSITORY}#1")
    assert first.task.body == f"a\n\nb\n\n{first.location}"
    assert len(long.task.title) <= 200 and "x" * 256 in long.task.body
    assert list_issues(REPOSITORY, "none") == []


def test_one_comment_for_each_marker(github: FakeGitHub) -> None:
    """It is searched before it is written; comments of others are ignored."""
    issue = github.hub.report("First", "", "ready")
    github.hub.comment(issue.number, "I have this, too")
    origin = IssueOrigin(REPOSITORY, issue.number)
    assert comment_once(origin, "<!-- ostler a-1 -->", "Done: `it`\n\n- ünïcode")
    assert not comment_once(origin, "<!-- ostler a-1 -->", "Done")
    assert comment_once(origin, "<!-- ostler b-2 -->", "Done again")
    assert [text.splitlines()[0] for text in github.issues[0].comments[1:]] == ["Done: `it`", "Done again"]


def test_an_issue_that_is_not_there(github: FakeGitHub) -> None:
    """One sentence, for the notice."""
    with pytest.raises(GhError):
        comment_once(IssueOrigin(REPOSITORY, 99), "<!-- ostler a-1 -->", "Done")
    with pytest.raises(GhError, match="the repository does not exist"):
        list_issues(f"{HOST}/acme/other", "ready")


@pytest.mark.parametrize(
    ("given", "plain"),
    [("Acme/App", "acme/app"), ("github.com/acme/app.git", "acme/app"), (" ghe.org/a/b ", "ghe.org/a/b")],
)
def test_a_repository_has_one_spelling(given: str, plain: str) -> None:
    """Its issues are the same for every spelling."""
    assert normalize_repository(given) == plain


@pytest.mark.parametrize("given", ["", "app", "a//b", "a/b/c/d", "a b/c"])
def test_what_is_no_repository(given: str) -> None:
    """It is reported before gh runs."""
    with pytest.raises(UsageError, match="invalid repository"):
        normalize_repository(given)
