"""A task continues at another host with the commits, the changes and the session of the last one."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from git_world import git
from ostler.calls.attempts import attempt
from ostler.calls.attempts.kept_answer import find_answer_places
from ostler.config.cluster import EngineSettings
from ostler.config.settings import GitSettings
from ostler.engine.steps.workspaces import moving, work_in_progress
from ostler.errors import Code, GitError, UsageError
from ostler.git.move import task_ref
from ostler.git.refs import has_commit
from ostler.model.call import AgentCall
from ostler.model.event import TaskReleased
from ostler.model.status import TaskStatus
from ostler.model.task import Task
from ostler.project.accepting.batch import order_tasks
from ostler.project.cluster.commits import fetch_judged
from ostler.project.disposal.dispose import dispose_task, finish_disposals
from ostler.project.project import Project
from ostler.project.reviews.judged import keep_judged
from ostler.project.tasks.changes import read_patch
from ostler.project.tasks.take_over import take_over
from ostler.project.tasks.uncommitted import add_with_changes
from ostler.secrets.rules import RULES
from secret_samples import make_sample
from two_hosts import DONE, Cluster, Host, stop, write

SECRET = make_sample(next(rule for rule in RULES if rule.kind == "github-token"), "ghp_")


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path)


def die(call: AgentCall, host: Host) -> str:
    """The host dies while its agent works."""
    (Path(call.cwd) / "lost.txt").write_text(host.name)
    host.die()
    return "STOP"


def files(cluster: Cluster, commit: str) -> dict[str, str]:
    """Return the files of a commit at the remote that agents wrote, with the hosts."""
    names = git(cluster.bare, "ls-tree", "--name-only", commit).splitlines()
    found = {name: git(cluster.bare, "show", f"{commit}:{name}") for name in names if name.endswith(".txt")}
    return {name: host for name, host in found.items() if host in ("a", "b")}


@pytest.mark.full
def test_each_commit_is_at_the_remote_before_its_record(cluster: Cluster):
    """The hidden ref has the last commit, and with it all earlier ones."""
    task = cluster.add()
    cluster.a.works(write("one.txt"), write("two.txt"))
    state = cluster.a.run(task)
    assert state.status is TaskStatus.COMPLETED, state.message
    assert cluster.pushed(task) == state.commit
    assert files(cluster, cluster.pushed(task)) == {"one.txt": "a", "two.txt": "a"}


def test_a_stopped_host_hands_over_its_changes(cluster: Cluster):
    """The other host continues from the changes that were in the worktree, and the final branch has all."""
    task = cluster.add()
    cluster.a.works(write("one.txt"), stop)
    cluster.a.run(task)

    def finish(call: AgentCall, host: Host) -> str:
        assert (Path(call.cwd) / "unfinished.txt").read_text() == "a"
        return write("two.txt")(call, host)

    cluster.b.works(finish)
    state = cluster.b.run(task)
    assert state.status is TaskStatus.COMPLETED, state.message
    assert cluster.pushed(task) == state.commit
    assert files(cluster, cluster.pushed(task)) == {"one.txt": "a", "two.txt": "b", "unfinished.txt": "a"}


def test_a_dead_host_loses_only_what_no_step_recorded(cluster: Cluster):
    """The other host has the commit of the first phase, and repeats the call."""
    task = cluster.add()
    cluster.a.works(write("one.txt"), die)
    first = cluster.a.run(task)
    assert first.commit
    cluster.b.works(write("two.txt"))
    state = cluster.b.run(task)
    assert state.status is TaskStatus.COMPLETED, state.message
    assert files(cluster, cluster.pushed(task)) == {"one.txt": "a", "two.txt": "b"}
    git(cluster.bare, "merge-base", "--is-ancestor", first.commit, cluster.pushed(task))


@pytest.mark.full
def test_a_host_that_gets_the_task_back_continues_from_the_other_one(cluster: Cluster):
    """Its own unfinished changes are kept under a ref, not in the work."""
    task = cluster.add()
    cluster.a.works(die)
    cluster.a.run(task)
    cluster.b.works(write("one.txt"), stop)
    cluster.b.run(task)
    cluster.a.works(write("two.txt"))
    state = cluster.a.run(task)
    assert state.status is TaskStatus.COMPLETED, state.message
    expected = {"one.txt": "b", "unfinished.txt": "b", "two.txt": "a"}
    assert files(cluster, cluster.pushed(task)) == expected
    kept = git(cluster.a.root, "for-each-ref", "--format=%(refname)", "refs/ostler/overtaken")
    assert git(cluster.a.root, "show", f"{kept}:lost.txt") == "a"


def test_an_answer_is_not_used_for_the_work_of_another_host(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
):
    """A host that died before it recorded an answer gets the task back: it calls the agent again."""
    task = cluster.add()
    dies = [True]

    def reach(name: str) -> None:
        if name == "attempt.end" and dies:
            dies.clear()
            cluster.a.die()

    monkeypatch.setattr(attempt, "reach", reach)
    cluster.a.works(write("lost.txt"))
    cluster.a.run(task)
    places = find_answer_places(cluster.a.project.layout.task(task), task, "", {})
    assert places.file.exists(), "the answer was not kept"
    cluster.b.works(stop)
    cluster.b.run(task)
    cluster.a.works(write("one.txt"), write("two.txt"))
    state = cluster.a.run(task)
    assert state.status is TaskStatus.COMPLETED, state.message
    expected = {"unfinished.txt": "b", "one.txt": "a", "two.txt": "a"}
    assert files(cluster, cluster.pushed(task)) == expected


def test_a_task_does_not_go_on_without_its_commit(cluster: Cluster):
    """It fails with the host and the ref to push to; nothing reads completed."""
    task = cluster.add()
    cluster.a.works(write("one.txt"), stop)
    first = cluster.a.run(task)
    git(cluster.bare, "update-ref", f"refs/ostler/tasks/{task}", "main")
    cluster.b.works()
    state = cluster.b.run(task)
    assert (state.status, state.code) == (TaskStatus.FAILED, Code.WORKTREE_LOST)
    assert first.commit and f"commit {first.commit:.10} was made on a" in state.message
    assert cluster.b.prompts == []


@pytest.mark.full
@pytest.mark.parametrize("target", ["main", "develop"])
def test_the_base_is_that_of_the_remote(cluster: Cluster, target: str):
    """A clone whose branches are old, or that lacks the target, starts from the newest commit."""
    git(cluster.bare, "branch", "develop", "main")
    newest = cluster.world.others_push({"new.txt": "new"}, target)
    task = cluster.add()
    cluster.git = GitSettings(target=target, on_complete="none")
    cluster.a.works(write("one.txt"), write("two.txt"))
    assert cluster.a.run(task).base == newest


@pytest.mark.parametrize("where", ["branch", "detached"])
def test_what_a_worker_has_checked_out_is_not_the_base(cluster: Cluster, where: str):
    """Without git.target, each worker starts from the default branch of the remote."""
    git(cluster.b.root, "switch", "-q", *(("-c", "own") if where == "branch" else ("--detach",)))
    as_user = ("-c", "user.name=b", "-c", "user.email=b@example.org")
    git(cluster.b.root, *as_user, "commit", "-q", "--allow-empty", "-m", "on no other machine")
    task = cluster.add()
    cluster.b.works(write("one.txt"), write("two.txt"))
    state = cluster.b.run(task)
    assert (state.status, state.target) == (TaskStatus.COMPLETED, "main"), state.message
    assert state.base == git(cluster.bare, "rev-parse", "main")


def test_a_task_starts_from_the_work_of_another_host(cluster: Cluster):
    """The commits of the task before it are fetched."""
    first = cluster.add("First")
    cluster.a.works(write("one.txt"), write("two.txt"))
    cluster.a.run(first)
    second = cluster.add("Second", (first,))
    cluster.b.works(write("three.txt"), write("four.txt"))
    state = cluster.b.run(second)
    assert state.status is TaskStatus.COMPLETED, state.message
    assert set(files(cluster, cluster.pushed(second))) == {"one.txt", "two.txt", "three.txt", "four.txt"}


@pytest.mark.parametrize("name", ["a", "b"])
def test_a_task_of_one_machine_goes_on_there_in_a_cluster(cluster: Cluster, name: str):
    """After `ostler store copy` its machine pushes the work; another one says what is missing."""
    task, mover, engine = cluster.add(), cluster.mover, cluster.engine
    cluster.mover, cluster.engine, cluster.a.name = None, EngineSettings(), ""
    cluster.a.works(write("one.txt"), stop)
    cluster.a.run(task)
    cluster.mover, cluster.engine, cluster.a.name = mover, engine, "a"
    host = cluster.a if name == "a" else cluster.b
    host.works(write("two.txt"))
    state = host.run(task)
    if name == "b":
        assert state.code is Code.WORKTREE_LOST and "git push origin" in state.message
    else:
        assert state.status is TaskStatus.COMPLETED, state.message
        assert cluster.pushed(task) == state.commit
        assert {"one.txt", "two.txt", "unfinished.txt"} <= set(
            git(cluster.bare, "ls-tree", "--name-only", cluster.pushed(task)).splitlines()
        )


def test_a_task_on_one_machine_uses_no_remote(cluster: Cluster, monkeypatch: pytest.MonkeyPatch):
    """No process more is started, and nothing is pushed."""

    def refuse(*args: object, **more: object) -> None:
        raise AssertionError(args)

    for name in ("run_remote_command", "run_git", "query_git", "read_remote"):
        monkeypatch.setattr(task_ref, name, refuse)
    cluster.mover, cluster.engine = None, EngineSettings()
    task = cluster.add()
    cluster.a.works(write("one.txt"), write("two.txt"))
    state = cluster.a.run(task)
    assert (state.status, cluster.pushed(task)) == (TaskStatus.COMPLETED, "")


def test_a_likely_secret_does_not_leave_the_host(cluster: Cluster):
    """The task fails with the place, as when it is published; a file of the settings allows it."""
    task = cluster.add()

    def leak(call: AgentCall, host: Host) -> str:
        (Path(call.cwd) / "key.txt").write_text(f"token = '{SECRET}'\n")
        return DONE

    cluster.a.works(leak)
    state = cluster.a.run(task)
    assert (state.status, state.code) == (TaskStatus.FAILED, Code.PUBLISH_FAILED)
    assert "likely secrets: key.txt:1" in state.message
    assert files(cluster, cluster.pushed(task)) == {}


@pytest.mark.full
def test_a_stopped_host_does_not_wait_long_for_the_remote(cluster: Cluster, monkeypatch: pytest.MonkeyPatch):
    """Its changes stay there, and the record says so."""
    monkeypatch.setattr(work_in_progress, "_LAST_PUSH_SECONDS", 1.0)
    task = cluster.add()

    def cut(call: AgentCall, host: Host) -> str:
        cluster.bare.rename(cluster.bare.with_name("gone"))
        return stop(call, host)

    cluster.a.works(write("one.txt"), cut)
    cluster.a.run(task)
    released = cluster.project.journal.read(task)[-1].event
    assert isinstance(released, TaskReleased)
    assert "no other host can continue its last changes" in released.message


@pytest.mark.parametrize(
    ("name", "reason", "fix"),
    [
        ("remote", "no git remote elsewhere", "git remote add elsewhere"),
        ("git", "no git repository", "shared_root = true"),
    ],
)
def test_a_task_that_cannot_move_is_refused(cluster: Cluster, name: str, reason: str, fix: str):
    """Before its agent starts, with the command or the setting that lets it run."""
    task = cluster.add()
    if name == "remote":
        cluster.engine = EngineSettings(kind="temporal", remote="elsewhere")
    else:
        cluster.a.has_git = False
    cluster.a.works()
    state = cluster.a.run(task)
    assert (state.status, state.code) == (TaskStatus.FAILED, Code.CONFIG_INVALID)
    assert reason in state.message and fix in state.message
    assert cluster.a.prompts == []


@pytest.mark.full
def test_uncommitted_changes_of_a_person_reach_the_worker(cluster: Cluster, monkeypatch: pytest.MonkeyPatch):
    """The task starts from them on another host."""
    project = cluster.project
    settings = replace(project.settings, engine=cluster.engine)
    monkeypatch.setattr(Project, "settings", property(lambda self: settings))
    (cluster.a.root / "mine.txt").write_text("a")
    task = add_with_changes(project, Task("Greet", weight="trivial")).id
    cluster.b.works(write("one.txt"), write("two.txt"))
    state = cluster.b.run(task)
    assert state.status is TaskStatus.COMPLETED, state.message
    assert set(files(cluster, cluster.pushed(task))) == {"mine.txt", "one.txt", "two.txt"}


@pytest.mark.full
def test_a_purged_task_is_gone_from_the_remote(cluster: Cluster, monkeypatch: pytest.MonkeyPatch):
    """Its hidden ref is deleted with its files."""
    task = cluster.add()
    cluster.a.works(write("one.txt"), write("two.txt"))
    cluster.a.run(task)
    assert cluster.pushed(task)
    settings = replace(cluster.project.settings, engine=cluster.engine)
    monkeypatch.setattr(Project, "settings", property(lambda self: settings))
    state = cluster.state(task)
    assert state.commit and state.base
    keep_judged(cluster.project, task, 1, state.commit, state.base)
    dispose_task(cluster.project, task, "purge", {"branches": True})
    assert cluster.pushed(task) == ""
    assert git(cluster.bare, "for-each-ref", "refs/ostler") == ""


def test_the_commit_of_a_review_reaches_the_other_machines(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after the task's branch was rewritten; a remote that is down does not lose the review."""
    settings = replace(cluster.project.settings, engine=cluster.engine)
    monkeypatch.setattr(Project, "settings", property(lambda self: settings))
    monkeypatch.setattr("ostler.project.cluster.commits._OUTAGE_SECONDS", 0.0)
    task = cluster.add()
    cluster.a.works(write("one.txt"), write("two.txt"))
    base = cluster.a.run(task).base
    assert base
    judged = commit_alone(cluster.a.root, base)
    keep_judged(cluster.a.project, task, 1, judged, base)
    repository = cluster.b.project.repository()
    assert repository is not None and not has_commit(repository, judged)
    fetch_judged(cluster.b.project, task, 1, judged)
    assert has_commit(repository, judged)
    cluster.bare.rename(cluster.bare.with_name("gone"))
    keep_judged(cluster.a.project, task, 2, judged, base)
    assert git(cluster.a.root, "rev-parse", f"refs/ostler/reviews/{task}/2") == judged


def commit_alone(root: Path, parent: str) -> str:
    """Return a commit that no branch has."""
    return git(root, "commit-tree", "-p", parent, "-m", "judged", f"{parent}^{{tree}}")


@pytest.mark.full
def test_a_purge_without_the_remote_is_completed_by_the_next(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
):
    """Else the hidden refs of purged tasks would stay for ever."""
    task, gone = cluster.add(), cluster.bare.with_name("gone")
    cluster.a.works(write("one.txt"), write("two.txt"))
    cluster.a.run(task)
    settings = replace(cluster.project.settings, engine=cluster.engine)
    monkeypatch.setattr(Project, "settings", property(lambda self: settings))
    monkeypatch.setattr("ostler.project.disposal.delete._OUTAGE_SECONDS", 0.0)
    cluster.bare.rename(gone)
    dispose_task(cluster.project, task, "purge", {"branches": True})
    gone.rename(cluster.bare)
    assert cluster.pushed(task)
    assert finish_disposals(cluster.project) == [task]
    assert cluster.pushed(task) == ""
    assert finish_disposals(cluster.project) == []


def test_no_commit_is_recorded_before_it_is_pushed(cluster: Cluster, monkeypatch: pytest.MonkeyPatch):
    """The run ends, and the task keeps its progress; the next run pushes and records the same commit."""
    monkeypatch.setattr(task_ref, "_RETRY_SECONDS", 0.1)
    find = task_ref.find_task_ref
    monkeypatch.setattr(moving, "find_task_ref", lambda *place: find(*place, outage_seconds=0.0))
    task, gone = cluster.add(), cluster.bare.with_name("gone")

    def cut(call: AgentCall, host: Host) -> str:
        cluster.bare.rename(gone)
        return write("one.txt")(call, host)

    cluster.a.works(cut, write("two.txt"))
    with pytest.raises(GitError) as caught:
        cluster.a.run(task)
    assert caught.value.code is Code.REMOTE_UNREACHABLE
    assert (cluster.state(task).commit, cluster.state(task).status) == (None, TaskStatus.PENDING)
    gone.rename(cluster.bare)
    state = cluster.a.run(task)
    assert state.status is TaskStatus.COMPLETED, state.message
    assert files(cluster, cluster.pushed(task)) == {"one.txt": "a", "two.txt": "a"}
    assert len(cluster.a.prompts) == 2


@pytest.mark.full
def test_the_work_of_another_host_can_be_seen(cluster: Cluster, monkeypatch: pytest.MonkeyPatch):
    """A person who has neither worktree nor branch sees the changes, but gets no shell and no merge."""
    task = cluster.add()
    cluster.b.works(write("one.txt"), write("two.txt"))
    cluster.b.run(task)
    settings = replace(cluster.project.settings, engine=cluster.engine)
    monkeypatch.setattr(Project, "settings", property(lambda self: settings))
    patch = read_patch(cluster.project, task).decode()
    assert "one.txt" in patch and "two.txt" in patch
    with pytest.raises(UsageError, match="the workspace of"), take_over(cluster.project, task):
        pass
    with pytest.raises(UsageError, match="only the clone of one worker"):
        order_tasks(cluster.project, [task], "merge")
    cluster.project.act(task, "merge")
    cluster.b.run(task)
    shown = cluster.state(task)
    assert shown.status is TaskStatus.COMPLETED and "only the clone of one worker" in shown.message
