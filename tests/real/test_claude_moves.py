"""The real claude continues its session on another host, in another directory."""

from __future__ import annotations

from pathlib import Path

import pytest
from obstore.store import MemoryStore

from git_world import git
from ostler.blobs.blobs import Blobs
from ostler.config.settings import ExecutorSettings
from ostler.engine.steps.mover import TaskMover
from ostler.executors.claude.executor import ClaudeExecutor
from ostler.model.status import TaskStatus
from ostler.process.runner import DefaultCommandRunner
from ostler.testing.fake_llm import FakeLlm, Request, Turn, call, say
from real_claude import require_claude
from two_hosts import Cluster

pytestmark = pytest.mark.full

DONE = call("StructuredOutput", status="complete", reason="", summary="I did it.")


@pytest.mark.parametrize("tier", ["supervised", "auto"])
def test_the_session_continues_elsewhere(tier: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model gets the history of the first host, and the note that the task moved."""
    monkeypatch.setenv("OSTLER_SANDBOX__TIER", tier)
    wanted: list[Turn] = [call("Write", file_path="one.txt", content="FROM-A\n"), DONE, DONE]
    cluster: Cluster | None = None

    def turns(request: Request) -> Turn:
        assert cluster
        if len(wanted) == 2 and cluster.a.runner is not None and cluster.b.runner is None:
            cluster.a.stop()  # while its agent waits for this answer
            return say("too late")
        return wanted.pop(0)

    with FakeLlm(turns) as llm:
        cluster = Cluster(tmp_path)
        cluster.mover = TaskMover("origin", Blobs(MemoryStore(), "memory"))
        for host in (cluster.a, cluster.b):
            settings = ExecutorSettings(command=require_claude())
            host.executor = ClaudeExecutor("claude", settings, DefaultCommandRunner())
            host.environ = {"ANTHROPIC_BASE_URL": llm.url, "ANTHROPIC_API_KEY": "x"}
        task = cluster.add("THE-TASK")
        cluster.a.run(task)
        before = len(llm.prompts)
        state = cluster.b.run(task)
        first = llm.prompts[before]
    assert state.status is TaskStatus.COMPLETED, state.message
    attempts = cluster.project.journal.attempts(task)
    assert attempts[0].session_id == attempts[1].session_id and attempts[1].resumed
    assert first.holds("THE-TASK") and first.holds("one.txt")
    moved = f"moved to another machine, where you continue in {cluster.b.root}/.ostler/worktrees/{task}"
    assert first.holds(moved) and not llm.prompts[0].holds("moved to another machine")
    assert git(cluster.bare, "show", f"{cluster.pushed(task)}:one.txt") == "FROM-A"
