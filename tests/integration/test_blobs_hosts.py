"""A task continues at another host with the files of the last one, and not without them."""

from __future__ import annotations

from pathlib import Path

import pytest

from blob_world import SwitchedBlobs
from ostler.blobs.copies import Copies
from ostler.blobs.failure import BlobsUnavailable
from ostler.model.call import AgentCall
from ostler.model.event import TaskReleased
from ostler.model.ids import TaskId
from ostler.model.status import TaskStatus
from ostler.views.agent_work.attempt_log import read_log
from two_hosts import DONE, Cluster, Host


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    made = Cluster(tmp_path)
    made.blobs = SwitchedBlobs()
    return made


def answer(text: str):
    """An agent that writes a file and answers with a text."""

    def work(call: AgentCall, host: Host) -> str:
        (Path(call.cwd) / f"{host.name}.txt").write_text(text)
        return f"{text} {DONE}"

    return work


def stop(call: AgentCall, host: Host) -> str:
    """The host is stopped while its agent works."""
    host.stop()
    return "STOP"


def list_names(host: Host, task: TaskId) -> set[str]:
    return {path.name for path in (host.project.layout.task(task) / "transcripts").iterdir()}


def test_the_next_host_has_the_answers_of_the_last_one(cluster: Cluster) -> None:
    """Its steps find them where they always are; readers on the first host see what the second one did."""
    task = cluster.add()
    cluster.a.works(answer("from a"), stop)
    cluster.a.run(task)
    assert cluster.state(task).current.id == "test"
    cluster.b.works(answer("from b"))
    assert cluster.b.run(task).status is TaskStatus.COMPLETED
    folder = cluster.b.project.layout.task(task) / "transcripts"
    assert "from a" in (folder / "implement-001.answer.md").read_text()
    assert cluster.blobs is not None
    copies = Copies(cluster.blobs, cluster.project.journal.store_id, cluster.root / "copies")
    patterns = ("transcripts/*.log.ndjson",)
    own = cluster.a.project.layout.task(task)
    assert not (own / "transcripts/test-003.log.ndjson").exists()
    found = copies.find(task, own, patterns)
    entries = read_log(found / "transcripts/test-003.log.ndjson").entries
    assert entries[-1]["type"] == "attempt_ended" and entries[-1]["status"] == "succeeded"


def test_a_task_is_not_taken_over_without_its_files(cluster: Cluster) -> None:
    """The claim writes nothing, and succeeds when the store is back; the last host continues without it."""
    task, blobs = cluster.add(), cluster.blobs
    assert isinstance(blobs, SwitchedBlobs)
    cluster.a.works(answer("from a"), stop, stop)
    cluster.a.run(task)
    blobs.is_down = True
    before = cluster.state(task)
    with pytest.raises(BlobsUnavailable):
        cluster.b.run(task)
    assert cluster.state(task) == before
    cluster.a.run(task)
    assert isinstance(cluster.project.journal.read(task)[-1].event, TaskReleased)
    blobs.is_down = False
    cluster.b.works(answer("from b"))
    assert cluster.b.run(task).status is TaskStatus.COMPLETED
    assert "implement-001.answer.md" in list_names(cluster.b, task)
