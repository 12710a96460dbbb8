"""Every verb on every status, by the command line and against a real journal: what it says and leaves."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ostler.__main__ import run
from ostler.engine.post import post
from ostler.errors import Code
from ostler.files.lock import Held, try_lock
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

BEGUN: tuple[Event, ...] = (TaskClaimed("r"), TaskStarted())
AT_GATE = (*BEGUN, CallEnded("implement", 1, "complete"), CheckpointMade("implement"))
ASKED = (*AT_GATE, GateWaiting("implement", None, "look at it"))
REFUSED = GateDecided("implement", "command", "could_not_run", "no such program")
FAILED = (*BEGUN, TaskFailed(Code.AGENT_FAILED, "exit 1"), WorkspaceReleased())
AGAIN = (TaskReopened(), *FAILED)

STORIES: dict[str, tuple[Event, ...]] = {
    "pending": (),
    "in_progress": BEGUN,
    "paused": (DecisionRecorded("pause"),),
    "needs_review": ASKED,
    "revision": (*ASKED, DecisionRecorded("reject", "not yet")),
    "blocked": (*BEGUN, TaskBlocked(Code.AGENT_BLOCKED, "no key")),
    "blocked by a gate": (*AT_GATE, REFUSED, TaskBlocked(Code.GATE_UNRUNNABLE, "no such program")),
    "deferred": (*BEGUN, TaskDeferred(Code.RATE_LIMITED, "later", 4e9)),
    "completed": (
        *ASKED,
        DecisionRecorded("approve"),
        TaskClaimed("r"),
        CallEnded("test", 1, "complete"),
        CheckpointMade("test"),
        TaskCompleted(),
        WorkspaceReleased(),
    ),
    "failed": FAILED,
    "quarantined": (*FAILED, *AGAIN, *AGAIN),
    "cancelled": (*BEGUN, TaskCancelled(), WorkspaceReleased()),
}
VERBS = {
    "pause": ("pause", "ID"),
    "resume": ("resume", "ID", "-m", "use the other key"),
    "cancel": ("cancel", "ID"),
    "retry": ("retry", "ID"),
    "skip": ("skip", "ID", "--phase", "test", "--reason", "no tests here"),
    "rewind": ("rewind", "ID", "--to", "implement"),
    "approve": ("approve", "ID"),
    "reject": ("reject", "ID", "-m", "too short"),
}
# The status after each verb; a dash: refused, exit 2, and nothing is written.
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
    verbs = header.split()[1:]
    for line in rows:
        status, words = line[:19].strip(), line[19:].split()
        yield from ((status, verb, word) for verb, word in zip(verbs, words, strict=True))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    (tmp_path / "ostler.toml").write_text('[gates.phases]\nimplement = "human"\n')
    monkeypatch.chdir(tmp_path)
    with Project.open(tmp_path, {}, create=True) as opened:
        yield opened


def make(project: Project, status: str) -> TaskId:
    task = project.add(Task("Mend the gate", phases=("implement", "test"))).id
    for number, event in enumerate(STORIES[status], 1):
        post(project.journal, task, event, 1000.0 + number)
    assert project.state(task).status == status.partition(" ")[0]
    return task


def carried(project: Project, task: TaskId) -> Held:
    """Some other run has it in hand."""
    lock = try_lock(project.layout.in_place_lock)
    assert lock is not None
    return lock


@pytest.mark.parametrize(("status", "verb", "expected"), list(cells()))
def test_a_verb_on_a_status(
    project: Project, capfd: pytest.CaptureFixture[str], status: str, verb: str, expected: str
) -> None:
    """It leads where the table says, or is refused in one sentence that names the task and writes nothing."""
    task = make(project, status)
    before = project.state(task)
    lock = carried(project, task) if status == "in_progress" else None
    code = run([task if word == "ID" else word for word in VERBS[verb]])
    said = capfd.readouterr()
    after = project.state(task)
    if expected == "-":
        assert (code, after) == (2, before)
        assert task in said.err and len(said.err.splitlines()) == 2, said.err
    else:
        assert (code, after.status) == (0, expected), said.err
        assert after.seq > before.seq
        assert said.out == ""
    if lock is not None:
        lock.release()


def test_the_table_names_every_story_and_verb() -> None:
    """None is forgotten."""
    seen = list(cells())
    assert {status for status, _, _ in seen} == set(STORIES)
    assert {verb for _, verb, _ in seen} == set(VERBS)
    assert len(seen) == len(STORIES) * len(VERBS)


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_json_of_a_verb_is_the_task(project: Project, capfd: pytest.CaptureFixture[str], verb: str) -> None:
    """One document, or one error; never a sentence on stdout."""
    status = next(s for s, v, after in cells() if v == verb and after != "-")
    task = make(project, status)
    arguments = [task if word == "ID" else word for word in VERBS[verb]]
    assert run([*arguments, "--json"]) == 0
    assert capfd.readouterr().out.startswith('{"schema":"ostler.task/1"')
    assert run([*arguments[:1], "no-such-task", *arguments[2:], "--json"]) == 2
    assert capfd.readouterr().out.startswith('{"schema":"ostler.error/1","code":"USAGE"')


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("skip", "ID", "--phase", "deploy", "--reason", "x"), "its phases are implement, test"),
        (("rewind", "ID", "--to", "deploy"), "its phases are implement, test"),
        (("skip", "ID", "--phase", "test", "--reason", " "), "not skipped without a reason"),
        (("skip", "ID", "--phase", "test"), "missing option '--reason'"),
        (("reject", "ID"), "missing option '-m'"),
        (("approve", "ID"), "it asks for no decision"),
        (("resume", "ID"), "there is nothing to resume"),
        (("report", "--status", "complete"), "only an agent inside its task can report"),
        (("report", "--status", "sleepy"), "an agent cannot report 'sleepy'"),
    ],
)
def test_what_does_not_fit_is_said_in_one_sentence(
    project: Project, capfd: pytest.CaptureFixture[str], arguments: tuple[str, ...], sentence: str
) -> None:
    """Exit 2, and nothing is written."""
    task = make(project, "pending")
    assert run([task if word == "ID" else word for word in arguments]) == 2
    assert sentence in capfd.readouterr().err
    assert project.state(task).seq == 1


def test_a_phase_is_skipped_once(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    """A second time there is nothing left to skip."""
    task = make(project, "pending")
    arguments = ["skip", task, "--phase", "test", "--reason", "no tests here"]
    assert (run(arguments), run(arguments)) == (0, 2)
    assert f"test of {task} is skipped" in capfd.readouterr().err
    (gate,) = [one.gate for one in project.show(task).phases if one.id == "test"]
    assert (gate.verdict, gate.reason) == ("skipped", "no tests here")


def test_a_pause_is_taken_back_before_the_run_acts_on_it(project: Project) -> None:
    """resume of a task that is being stopped lets it go on."""
    task = make(project, "in_progress")
    assert run(["pause", task]) == 0
    assert project.state(task).pause
    assert run(["resume", task]) == 0
    assert not project.state(task).pause


def test_a_word_to_an_agent_is_kept(project: Project) -> None:
    """The state knows in which record the next prompt finds it."""
    task = make(project, "blocked")
    assert run(["resume", task, "-m", "the key is under the mat"]) == 0
    said = project.journal.read(task, project.state(task).word - 1)[0].event
    assert isinstance(said, DecisionRecorded)
    assert (said.verb, said.text) == ("resume", "the key is under the mat")


def test_the_state_file_says_what_was_decided(project: Project) -> None:
    """Also where someone has tidied the task's directory away."""
    task = make(project, "pending")
    folder = project.layout.task(task)
    assert run(["pause", task]) == 0
    assert 'status: "paused"' in (folder / "state.yaml").read_text()
    shutil.rmtree(folder)
    assert run(["resume", task]) == 0
    assert 'status: "pending"' in (folder / "state.yaml").read_text()
