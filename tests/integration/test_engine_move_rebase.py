"""Commits that are pushed for other hosts: after a rebase that was not recorded, and of a person."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from git_world import git
from ostler.config.settings import GitSettings
from ostler.engine.steps import prepare
from ostler.engine.steps import publish as publish_step
from ostler.errors import Code, GitError
from ostler.git.publish import publish
from ostler.model.call import AgentCall
from ostler.model.status import TaskStatus
from ostler.model.task import Task
from ostler.project.disposal.dispose import dispose_task
from ostler.project.project import Project
from ostler.project.tasks.uncommitted import add_with_changes
from ostler.secrets.rules import RULES
from publish_world import ADDRESS, open_github
from secret_samples import make_sample
from two_hosts import DONE, SETTINGS, Cluster, Host, Work

SECRET = make_sample(next(rule for rule in RULES if rule.kind == "github-token"), "ghp_")


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """Two hosts that publish to GitHub."""
    made = Cluster(tmp_path, SETTINGS.replace('"none"', '"pr"'))
    made.git = GitSettings(on_complete="pr")
    git(made.b.root, "remote", "set-url", "origin", ADDRESS)
    (tmp_path / "texts").mkdir()
    with open_github(made.bare, tmp_path / "texts", monkeypatch):
        yield made


def write(name: str, target: str = "") -> Work:
    """An agent that writes a file, while another person changes the target."""

    def work(call: AgentCall, host: Host) -> str:
        (Path(call.cwd) / name).write_text(host.name)
        if target:
            host.cluster.world.others_push({target: f"token = '{SECRET}'"})
        return DONE

    return work


def list_names(cluster: Cluster, commit: str) -> set[str]:
    return set(git(cluster.bare, "ls-tree", "--name-only", commit).splitlines())


def kill(*place: object) -> None:
    raise GitError(Code.REMOTE_UNREACHABLE, "the host is gone", "")


def refuse(*place: object) -> None:
    raise GitError(Code.PUBLISH_FAILED, "GitHub is down", "")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("moves_again", [False, True])
@pytest.mark.parametrize("place", ["rebased", "pushed", "created"])
def test_another_host_publishes_what_was_rebased(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, place: str, moves_again: bool
):
    """Wherever the first host ended, also if the target has moved since; secrets of others stop nothing."""
    task = cluster.add()
    cluster.a.works(write("one.txt"), write("two.txt", "theirs.txt"))
    with monkeypatch.context() as patched:
        if place == "rebased":
            patched.setattr(publish_step, "push_rewritten_work", kill)
        elif place == "pushed":
            patched.setattr(publish, "create_pull_request", kill)
        else:
            patched.setattr(publish, "create_pull_request", refuse)
        try:
            state = cluster.a.run(task)
            assert state.code is Code.PUBLISH_FAILED
            cluster.project.act(task, "retry")
        except GitError as error:
            assert error.code is Code.REMOTE_UNREACHABLE
    if moves_again:
        cluster.world.others_push({"newer.txt": "theirs"})
    cluster.b.works()
    state = cluster.b.run(task)
    assert state.status is TaskStatus.COMPLETED, state.message
    expected = {"one.txt", "two.txt", "theirs.txt"} | ({"newer.txt"} if moves_again else set())
    assert state.branch and list_names(cluster, cluster.world.there(state.branch)) >= expected
    assert cluster.pushed(task) == state.commit == cluster.world.there(state.branch)
    settings = replace(cluster.project.settings, engine=cluster.engine)
    monkeypatch.setattr(Project, "settings", property(lambda self: settings))
    dispose_task(cluster.project, task, "purge", {"branches": True})
    assert git(cluster.bare, "for-each-ref", "refs/ostler") == ""


def test_another_host_follows_the_new_work_of_a_task_before(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
):
    """The first host had rebased the branch onto it, and pushed it."""
    cluster.git = GitSettings(on_complete="none")
    first = cluster.add("First")
    cluster.a.works(write("one.txt"), write("old.txt"))
    cluster.a.run(first)
    second = cluster.add("Second", (first,))

    def stop(call: AgentCall, host: Host) -> str:
        host.stop()
        return "STOP"

    cluster.a.works(write("two.txt"), stop)
    cluster.a.run(second)
    cluster.project.act(first, "rewind", phase="test")
    cluster.a.works(write("new.txt"))
    cluster.a.run(first)
    push = prepare.push_rewritten_work

    def push_and_die(*args: object) -> None:
        push(*args)  # pyright: ignore[reportArgumentType, reportCallIssue]
        kill()

    with monkeypatch.context() as patched, pytest.raises(GitError, match="the host is gone"):
        patched.setattr(prepare, "push_rewritten_work", push_and_die)
        cluster.a.run(second)
    cluster.b.works(write("three.txt"))
    state = cluster.b.run(second)
    assert state.status is TaskStatus.COMPLETED, state.message
    names = list_names(cluster, cluster.pushed(second))
    assert names >= {"one.txt", "new.txt", "two.txt", "three.txt"} and "old.txt" not in names


def test_an_unpushed_commit_with_a_secret_does_not_leave_the_machine(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
):
    """It is below the uncommitted changes that a task starts from."""
    settings = replace(cluster.project.settings, engine=cluster.engine)
    monkeypatch.setattr(Project, "settings", property(lambda self: settings))
    cluster.world.commit({"key.txt": f"token = '{SECRET}'"}, "only here")
    (cluster.a.root / "mine.txt").write_text("mine")
    with pytest.raises(GitError, match=r"likely secrets: key\.txt"):
        add_with_changes(cluster.project, Task("Greet", weight="trivial"))
    assert git(cluster.bare, "for-each-ref", "refs/ostler") == ""


@pytest.mark.full
def test_a_publication_without_github_names_what_a_cluster_can_do(tmp_path: Path) -> None:
    """A merge is refused there, so the hint is not to set git.on_complete to "merge"."""
    cluster = Cluster(tmp_path, SETTINGS.replace('"none"', '"pr"'))
    cluster.git = GitSettings(on_complete="pr")
    task = cluster.add()
    cluster.b.works(write("one.txt"), write("two.txt"))
    cluster.b.run(task)
    message = cluster.state(task).message
    assert "not a GitHub repository" in message
    assert f"git fetch origin refs/ostler/tasks/{task} && git merge FETCH_HEAD" in message
    assert "git.on_complete" not in message
