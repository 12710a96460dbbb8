"""Reviews in a cluster: the judged commit is where the next host and every server can read it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from git_world import git
from ostler.errors import OstlerError
from ostler.git.refs import has_commit
from ostler.model.call import AgentCall
from ostler.model.ids import TaskId
from ostler.model.status import TaskStatus
from ostler.project.project import Project
from ostler.project.reviews.changes import read_changes_patch, view_changes
from ostler.project.reviews.drafts import CommentChange, PlaceChange, save_draft
from ostler.project.reviews.send import NewReview, send_review
from ostler.project.reviews.view import show_review
from two_hosts import DONE, SETTINGS, Cluster, Host

WAITS = f'{SETTINGS}[gates.phases]\ntest = "human"\n'


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    made = Cluster(tmp_path, WAITS)
    settings = replace(made.project.settings, engine=made.engine)
    monkeypatch.setattr(Project, "settings", property(lambda self: settings))
    monkeypatch.setattr("ostler.project.cluster.commits._OUTAGE_SECONDS", 0.0)
    return made


def write(name: str, *lines: str):
    """An agent that writes these lines to a file."""

    def work(call: AgentCall, host: Host) -> str:
        (Path(call.cwd) / name).write_text("".join(f"{line}\n" for line in lines))
        return DONE

    return work


def serve_on_b(cluster: Cluster) -> Project:
    """Return the project as a server on the other machine sees it."""
    store, there = cluster.project.store, cluster.b.project
    return Project(there.layout, lambda: there.loaded, store.open_journal(), dict(os.environ), store)


def send_back(project: Project, task: TaskId, line: int) -> None:
    commit = show_review(project, task).commit
    place = PlaceChange("one.txt", "new", line, line)
    save_draft(project, task, CommentChange(id=f"c{line}", place=place, text="Longer.", commit=commit))
    send_review(project, os.environ, task, NewReview(verdict="changes", commit=commit))


def test_a_review_of_work_that_goes_on_at_another_host(cluster: Cluster) -> None:
    """Sent at one server, it is compared and mapped at the other; the agent there gets its comments."""
    task = cluster.add()
    cluster.a.works(write("one.txt", "first", "second"), write("two.txt", "two"))
    assert cluster.a.run(task).status is TaskStatus.NEEDS_REVIEW
    send_back(cluster.project, task, 2)
    cluster.b.works(write("one.txt", "zero", "first", "a longer second"), write("two.txt", "two"))
    assert cluster.b.run(task).status is TaskStatus.NEEDS_REVIEW
    assert any("Longer." in prompt and "second" in prompt for prompt in cluster.b.prompts)
    for project in (serve_on_b(cluster), cluster.project):
        assert [one.path for one in view_changes(project, task, 1).files] == ["one.txt"]
        assert "+a longer second" in read_changes_patch(project, task, 1, "one.txt").patch
        (found,) = show_review(project, task).reviews[0].comments
        assert found.now is not None and (found.now.line, found.state) == (3, "probably_changed")


def test_a_judged_commit_that_never_left_its_host(cluster: Cluster) -> None:
    """The remote was down: the review is sent, and another server names the commit that it lacks."""
    task = cluster.add()
    cluster.a.works(write("one.txt", "first", "second"), write("two.txt", "two"))
    cluster.a.run(task)
    state = cluster.state(task)
    assert state.commit
    moved = cluster.bare.rename(cluster.bare.with_name("gone"))
    send_back(cluster.project, task, 2)
    assert git(cluster.project.layout.root, "rev-parse", f"refs/ostler/reviews/{task}/1") == state.commit
    moved.rename(cluster.bare)
    git(cluster.bare, "update-ref", "-d", f"refs/ostler/tasks/{task}")
    there = serve_on_b(cluster)
    repository = there.repository()
    assert repository is not None and not has_commit(repository, state.commit)
    assert show_review(there, task).reviews[0].comments[0].state == "unknown"
    with pytest.raises(OstlerError) as refused:
        view_changes(there, task, 1)
    assert state.commit[:10] in refused.value.message, refused.value.message
