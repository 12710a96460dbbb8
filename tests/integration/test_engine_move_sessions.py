"""The session of an agent continues at another host."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from obstore.store import MemoryStore

from ostler.blobs.blobs import Blobs
from ostler.engine.steps.mover import TaskMover
from ostler.model.call import AgentCall
from ostler.model.status import TaskStatus
from two_hosts import Cluster, Host, stop, write


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path)


def remember(call: AgentCall, host: Host) -> Path:
    """Return the file in which claude keeps this session."""
    folder = re.sub(r"[^A-Za-z0-9]", "-", call.cwd)
    return host.home / ".claude/projects" / folder / f"{call.session_id}.jsonl"


def learn(call: AgentCall, host: Host) -> str:
    """An agent that adds to its session, on a host that is stopped."""
    path = remember(call, host)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text((path.read_text() if path.exists() else "") + host.name)
    return stop(call, host)


def test_the_session_continues_on_the_other_host(cluster: Cluster):
    """It has what the agent knew when the first host stopped; the prompt says that the task moved."""
    cluster.mover = TaskMover("origin", Blobs(MemoryStore(), "memory"))
    task = cluster.add()

    def recall(call: AgentCall, host: Host) -> str:
        assert remember(call, host).read_text() == "a"
        return write("one.txt")(call, host)

    cluster.a.works(learn)
    cluster.a.run(task)
    cluster.b.works(recall, write("two.txt"))
    state = cluster.b.run(task)
    assert state.status is TaskStatus.COMPLETED, state.message
    assert cluster.b.resumed == [True, False]
    moved = f"moved to another machine, where you continue in {cluster.b.root}/.ostler/worktrees/{task}"
    assert [moved in prompt for prompt in cluster.b.prompts] == [True, False]
    assert "moved to another machine" not in cluster.a.prompts[0]


@pytest.mark.full
def test_a_session_that_went_on_elsewhere_replaces_the_older_one(cluster: Cluster):
    """The first host has the file as it was before the task left it."""
    cluster.mover = TaskMover("origin", Blobs(MemoryStore(), "memory"))
    task = cluster.add()
    for host in (cluster.a, cluster.b, cluster.a):
        host.works(learn)
        host.run(task)
    (found,) = (cluster.a.home / ".claude/projects").glob("*/*.jsonl")
    assert found.read_text() == "aba"
