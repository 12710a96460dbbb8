"""Every action on every status, by the command line and against a real journal."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ostler.__main__ import run
from ostler.engine.records import append_event
from ostler.errors import Code
from ostler.files.lock import LockHandle, try_lock
from ostler.model.event import (
    CallEnded,
    CheckpointMade,
    DecisionRecorded,
    Event,
    GateDecided,
    GateWaiting,
    TaskBlocked,
    TaskCancelled,
    TaskClaimed,
    TaskCompleted,
    TaskDeferred,
    TaskFailed,
    TaskReopened,
    TaskStarted,
    WorkspaceReleased,
)
from ostler.model.ids import TaskId
from ostler.model.task import Task
from ostler.project.project import Project

STARTED: tuple[Event, ...] = (TaskClaimed("r"), TaskStarted())
AT_GATE = (*STARTED, CallEnded("implement", 1, "complete"), CheckpointMade("implement"))
WAITING = (*AT_GATE, GateWaiting("implement", None, "look at it"))
NOT_RUNNABLE = GateDecided("implement", "command", "could_not_run", "no such program")
FAILED = (*STARTED, TaskFailed(Code.AGENT_FAILED, "exit 1"), WorkspaceReleased())
FAILED_AGAIN = (TaskReopened(), *FAILED)

HISTORIES: dict[str, tuple[Event, ...]] = {
    "pending": (),
    "in_progress": STARTED,
    "paused": (DecisionRecorded("pause"),),
    "needs_review": WAITING,
    "revision": (*WAITING, DecisionRecorded("reject", "not yet")),
    "blocked": (*STARTED, TaskBlocked(Code.AGENT_BLOCKED, "no key")),
    "blocked by a gate": (*AT_GATE, NOT_RUNNABLE, TaskBlocked(Code.GATE_UNRUNNABLE, "no such program")),
    "deferred": (*STARTED, TaskDeferred(Code.RATE_LIMITED, "later", 4e9)),
    "completed": (
        *WAITING,
        DecisionRecorded("approve"),
        TaskClaimed("r"),
        CallEnded("test", 1, "complete"),
        CheckpointMade("test"),
        TaskCompleted(),
        WorkspaceReleased(),
    ),
    "failed": FAILED,
    "quarantined": (*FAILED, *FAILED_AGAIN, *FAILED_AGAIN),
    "cancelled": (*STARTED, TaskCancelled(), WorkspaceReleased()),
}
ACTION_ARGUMENTS = {
    "pause": ("pause", "ID"),
    "resume": ("resume", "ID", "-m", "use the other key"),
    "cancel": ("cancel", "ID"),
    "retry": ("retry", "ID"),
    "skip": ("skip", "ID", "--phase", "test", "--reason", "no tests here"),
    "rewind": ("rewind", "ID", "--to", "implement"),
    "approve": ("approve", "ID"),
    "reject": ("reject", "ID", "-m", "too short"),
}
# The status after each action; a dash: refused, exit 2, and nothing is written.
TABLE = """
status             pause        resume   cancel       retry    skip          rewind       approve  reject
pending            paused       -        cancelled    -        pending       pending      -        -
in_progress        in_progress  -        in_progress  -        in_progress   in_progress  -        -
paused             -            pending  cancelled    pending  paused        pending      -        -
needs_review       -            -        cancelled    -        needs_review  pending      pending  revision
revision           paused       -        cancelled    -        revision      pending      -        -
blocked            -            pending  cancelled    pending  blocked       pending      -        -
blocked by a gate  -            pending  cancelled    pending  blocked       pending      pending  revision
deferred           paused       pending  cancelled    pending  deferred      pending      -        -
completed          -            -        -            -        -             pending      -        -
failed             -            -        -            pending  -             pending      -        -
quarantined        -            -        -            pending  -             pending      -        -
cancelled          -            -        cancelled    pending  -             pending      -        -
"""


def cells() -> Iterator[tuple[str, str, str]]:
    header, *rows = [line for line in TABLE.splitlines() if line]
    actions = header.split()[1:]
    for line in rows:
        status, words = line[:19].strip(), line[19:].split()
        yield from ((status, action, word) for action, word in zip(actions, words, strict=True))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    (tmp_path / "ostler.toml").write_text('[gates.phases]\nimplement = "human"\n')
    monkeypatch.chdir(tmp_path)
    with Project.open(tmp_path, {}, create=True) as opened:
        yield opened


def make(project: Project, status: str) -> TaskId:
    task = project.add(Task("Mend the gate", phases=("implement", "test"))).id
    for number, event in enumerate(HISTORIES[status], 1):
        append_event(project.journal, task, event, 1000.0 + number)
    assert project.state(task).status == status.partition(" ")[0]
    return task


def lock_task(project: Project, task: TaskId) -> LockHandle:
    """Hold the lock of another run."""
    lock = try_lock(project.layout.in_place_lock)
    assert lock is not None
    return lock


@pytest.mark.sampled(25)
@pytest.mark.parametrize(("status", "action", "expected"), list(cells()))
def test_an_action_on_a_status(
    project: Project, capfd: pytest.CaptureFixture[str], status: str, action: str, expected: str
) -> None:
    """The status changes as in the table, or one error names the task and nothing is written."""
    task = make(project, status)
    before = project.state(task)
    lock = lock_task(project, task) if status == "in_progress" else None
    code = run([task if word == "ID" else word for word in ACTION_ARGUMENTS[action]])
    printed = capfd.readouterr()
    after = project.state(task)
    if expected == "-":
        assert (code, after) == (2, before)
        assert task in printed.err and len(printed.err.splitlines()) == 2, printed.err
    else:
        assert (code, after.status) == (0, expected), printed.err
        assert after.seq > before.seq
        assert printed.out == ""
    if lock is not None:
        lock.release()


def test_the_table_names_every_status_and_action() -> None:
    """The table is complete."""
    seen = list(cells())
    assert {status for status, _, _ in seen} == set(HISTORIES)
    assert {action for _, action, _ in seen} == set(ACTION_ARGUMENTS)
    assert len(seen) == len(HISTORIES) * len(ACTION_ARGUMENTS)


@pytest.mark.parametrize("action", sorted(ACTION_ARGUMENTS))
def test_json_of_an_action_is_the_task(
    project: Project, capfd: pytest.CaptureFixture[str], action: str
) -> None:
    """One document or one error on stdout, and no other text."""
    status = next(s for s, v, after in cells() if v == action and after != "-")
    task = make(project, status)
    arguments = [task if word == "ID" else word for word in ACTION_ARGUMENTS[action]]
    assert run([*arguments, "--json"]) == 0
    assert capfd.readouterr().out.startswith('{"schema":"ostler.task/1"')
    assert run([*arguments[:1], "no-such-task", *arguments[2:], "--json"]) == 2
    assert capfd.readouterr().out.startswith('{"schema":"ostler.error/1","code":"USAGE"')


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("skip", "ID", "--phase", "deploy", "--reason", "x"), "its phases: implement, test"),
        (("rewind", "ID", "--to", "deploy"), "its phases: implement, test"),
        (("skip", "ID", "--phase", "test", "--reason", " "), "--reason must not be empty"),
        (("skip", "ID", "--phase", "test"), "missing option '-m' / '--reason'"),
        (("reject", "ID"), "missing option '-m'"),
        (("approve", "ID"), "it is not waiting for a decision"),
        (("resume", "ID"), "there is nothing to resume"),
        (("report", "--status", "complete"), "ostler report works only inside a task"),
        (("report", "--status", "sleepy"), "invalid status 'sleepy'"),
    ],
)
def test_an_invalid_action_is_one_error(
    project: Project, capfd: pytest.CaptureFixture[str], arguments: tuple[str, ...], sentence: str
) -> None:
    """Exit 2, and nothing is written."""
    task = make(project, "pending")
    assert run([task if word == "ID" else word for word in arguments]) == 2
    assert sentence in capfd.readouterr().err
    assert project.state(task).seq == 1


def test_a_phase_is_skipped_once(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    """The second skip is refused."""
    task = make(project, "pending")
    arguments = ["skip", task, "--phase", "test", "--reason", "no tests here"]
    assert (run(arguments), run(arguments)) == (0, 2)
    assert f"test of {task} is skipped" in capfd.readouterr().err
    (gate,) = [one.gate for one in project.show(task).phases if one.id == "test"]
    assert (gate.verdict, gate.reason) == ("skipped", "no tests here")


def test_a_pause_is_revoked_before_the_run_acts_on_it(project: Project) -> None:
    """`resume` of a task that is being paused cancels the pause."""
    task = make(project, "in_progress")
    assert run(["pause", task]) == 0
    assert project.state(task).pause_requested
    assert run(["resume", task]) == 0
    assert not project.state(task).pause_requested


def test_feedback_to_an_agent_is_kept(project: Project) -> None:
    """The state names the record that the next prompt quotes."""
    task = make(project, "blocked")
    assert run(["resume", task, "-m", "the key is under the mat"]) == 0
    decision = project.journal.read(task, project.state(task).feedback_seq - 1)[0].event
    assert isinstance(decision, DecisionRecorded)
    assert (decision.verb, decision.text) == ("resume", "the key is under the mat")


def test_the_state_file_contains_the_decision(project: Project) -> None:
    """Also after the task's directory was deleted."""
    task = make(project, "pending")
    folder = project.layout.task(task)
    assert run(["pause", task]) == 0
    assert 'status: "paused"' in (folder / "state.yaml").read_text()
    shutil.rmtree(folder)
    assert run(["resume", task]) == 0
    assert 'status: "pending"' in (folder / "state.yaml").read_text()
