"""The journal of commit 3499aac: every task is readable, open tasks resume, waiting and ended ones stay."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest

from examples import FULL
from journal_file import journal_path
from old_journal import OldProject
from ostler.model.attempt import Attempt
from ostler.model.event import Event
from ostler.model.notice import Notice
from ostler.model.state import State
from ostler.testing.fake_agent import fake_agent

OWN_FILE = 'echo "more" >> "$(basename "$PWD").txt"'  # no two tasks change the same file
HOURS = 3600.0

# Status, code, and the stage at which the engine resumes, of each situation in the fixture.
SITUATIONS = {
    "completed": ("completed", None, "closed"),
    "failed": ("failed", "AGENT_FAILED", "closed"),
    "quarantined": ("quarantined", "AGENT_FAILED", "closed"),
    "cancelled": ("cancelled", "ABORTED", "closed"),
    "needs_review": ("needs_review", None, "checking"),
    "merge_gate": ("needs_review", None, "merging"),
    "document_review": ("needs_review", None, "checking"),
    "gate_rejected": ("blocked", "GATE_REJECTED", "checking"),
    "conflict": ("blocked", "MERGE_CONFLICT", "publishing"),
    "blocked": ("blocked", "AGENT_BLOCKED", "ready"),
    "paused_in_call": ("paused", None, "ready"),
    "paused_before_start": ("paused", None, "new"),
    "iteration_limit": ("paused", "ITERATION_LIMIT", "ready"),
    "over_budget": ("paused", "BUDGET_EXCEEDED", "ready"),
    "deferred": ("deferred", "QUOTA_EXCEEDED", "ready"),
    "pending": ("pending", None, "new"),
    "revision": ("revision", None, "ready"),
    "answered": ("pending", None, "ready"),
    "rewound": ("pending", None, "new"),
    "pipeline_post": ("pending", None, "new"),
    "stopped": ("pending", "INTERRUPTED", "ready"),
    "killed_in_call": ("pending", "INTERRUPTED", "ready"),
    "killed_in_second_phase": ("pending", "INTERRUPTED", "ready"),
    "killed_at_new": ("pending", "INTERRUPTED", "new"),
    "killed_at_turned": ("pending", "INTERRUPTED", "turned"),
    "killed_at_answered": ("pending", "INTERRUPTED", "answered"),
    "killed_at_checking": ("pending", "INTERRUPTED", "checking"),
    "killed_at_merging": ("pending", "INTERRUPTED", "merging"),
    "killed_at_publishing": ("pending", "INTERRUPTED", "publishing"),
    "killed_at_done": ("pending", "INTERRUPTED", "done"),
    "killed_at_ended": ("completed", None, "ended"),
}
# Status of the open tasks that do not complete when every ready task is run.
NOT_COMPLETED = {"revision": "needs_review", "pipeline_post": "needs_review", "not_before": "pending"}


@pytest.fixture
def project(tmp_path: Path) -> Iterator[OldProject]:
    made = OldProject(tmp_path)
    made.behave(edits={}, script=OWN_FILE)
    (made.root / "notified").mkdir()
    yield made
    made.close()


@pytest.fixture(scope="module")
def readable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OldProject]:
    """A project that no test of this module changes."""
    made = OldProject(tmp_path_factory.mktemp("old"))
    yield made
    made.close()


def decide(project: OldProject, name: str, *decision: str) -> None:
    verb, *rest = decision
    project.ostler(verb, project.id_of(name), *rest)


def finish(project: OldProject, name: str, code: int = 0) -> dict:
    """Run one task and show it."""
    project.ostler("run", project.id_of(name), code=code)
    return project.show(project.id_of(name))


def test_the_fixture_holds_every_situation(readable: OldProject) -> None:
    found = {
        name: (task["status"], task["code"], task["stage"])
        for name, task in readable.tasks.items()
        if name in SITUATIONS
    }
    assert found == SITUATIONS
    assert readable.manifest["tags_missing"] == []
    assert all(readable.manifest["rows"].values()), "a table of the fixture is empty"
    assert readable.tasks["several_models"]["attempts"] > 1
    killed = [task for name, task in readable.tasks.items() if name.startswith("killed_in")]
    assert [task["recorded_status"] for task in killed] == ["in_progress"] * 2


def test_every_task_is_listed_as_before(readable: OldProject) -> None:
    assert readable.statuses() == {name: task["status"] for name, task in readable.tasks.items()}


def test_tasks_are_shown_as_before(readable: OldProject) -> None:
    """One task of each status, stage and code; a third of them in make test."""
    for name, task in list(one_of_each(readable).items())[:: 1 if FULL else 3]:
        shown = readable.show(task["id"])
        assert (name, shown["status"], shown["code"]) == (name, task["status"], task["code"])
        assert len(shown["attempts"]) == task["attempts"], name


def test_every_event_is_printed(readable: OldProject) -> None:
    events = readable.events()
    assert len(events) == readable.manifest["rows"]["feed"]
    assert {event["task_id"] for event in events} == {task["id"] for task in readable.tasks.values()}
    text = readable.ostler("events").stdout
    assert text.count("task created") == len(readable.tasks)


def test_cost_counts_every_ended_attempt(readable: OldProject) -> None:
    for by in ("task", "model", "day"):
        assert readable.json("cost", "--by", by)["total"]["cost_usd"] > 1.0


@pytest.mark.full
@pytest.mark.parametrize("form", ["ndjson", "atif", "html"])
def test_tasks_are_exported(readable: OldProject, form: str) -> None:
    """One task of each status, stage and code."""
    chosen = [task["id"] for task in one_of_each(readable).values()]
    for task in chosen[:: 1 if form == "ndjson" else 6]:
        done = readable.ostler("export", task, "--format", form)
        assert task in done.stdout
        if form == "ndjson":
            assert all(json.loads(line) for line in done.stdout.splitlines())


def test_no_name_of_the_journal_is_lost(readable: OldProject) -> None:
    """Decoding the upgraded journal and encoding it again keeps every field.

    msgspec drops a field that was renamed in the code but not in store/renames.py, without an error.
    """
    readable.ostler("status")
    assert lost_fields(readable.database) == []


def test_a_lost_name_is_found(project: OldProject) -> None:
    """Positive control of the test above."""
    project.ostler("status")
    db = apsw.Connection(str(project.database))
    for table, column, place in (("task", "state", "$.plan.unknown"), ("feed", "body", "$.unknown")):
        text = f"json_insert(CAST({column} AS TEXT), ?, 1)"
        db.execute(f"UPDATE {table} SET {column} = CAST({text} AS BLOB)", (place,))
    db.close()
    found = lost_fields(project.database)
    assert {"state: unknown", "task_created: unknown", "task_claimed: unknown"} <= set(found)


def test_the_upgrade_is_reported_once_with_its_backup(tmp_path: Path) -> None:
    made = OldProject(tmp_path)
    backup = journal_path(made.root).with_name("ostler.db.v5.bak")
    done = made.ostler("status")
    upgraded = [line for line in done.stderr.splitlines() if "upgraded" in line]
    assert len(upgraded) == 1 and upgraded[0].endswith(f"backup: {backup}")
    assert backup.stat().st_mode & 0o777 == 0o600
    assert "upgraded" not in made.ostler("status").stderr
    backup.replace(made.database)
    assert made.statuses() == {name: task["status"] for name, task in made.tasks.items()}
    made.close()


def test_models_show_the_recorded_limit(readable: OldProject) -> None:
    text = readable.ostler("models", OSTLER_RUN__EXECUTOR="codex").stdout
    assert "limit" in text


@pytest.mark.full
def test_open_tasks_resume_and_the_others_stay(project: OldProject) -> None:
    before = project.statuses()
    positions = last_positions(project)
    is_open = {name for name, status in before.items() if status in ("pending", "revision")}
    killed = {name for name in is_open if name.startswith("killed_at")}
    repeated = {name for name in killed if name[-1].isdigit()}  # at the same stage as another one
    project.ostler("cancel", *(project.id_of(name) for name in repeated))
    # One at a time: tasks that merge into one branch would rebase each other's work.
    project.ostler("run", "-j", "1", *(project.id_of(name) for name in sorted(killed - repeated)))
    project.ostler("run", "--all", "-j", "2", code=None)
    expected = before | dict.fromkeys(is_open, "completed") | dict.fromkeys(repeated, "cancelled")
    assert project.statuses() == expected | NOT_COMPLETED
    later = last_positions(project)
    # A task at the stage "ended" still has a workspace to release.
    untouched = {name for name in set(before) - is_open if project.tasks[name]["stage"] != "ended"}
    changed = {name for name in untouched if later[project.id_of(name)] != positions[project.id_of(name)]}
    assert not changed
    project.check_store()


def test_a_killed_call_resumes_its_session_and_keeps_its_files(project: OldProject) -> None:
    shown = finish(project, "killed_in_call")
    first, second = shown["attempts"]
    assert (first["status"], second["status"], second["resumed"]) == ("interrupted", "succeeded", True)
    assert first["session_id"] == second["session_id"]
    assert [start["resumed"] for start in project.started()] == [True]
    assert shown["status"] == "completed"
    assert "line" in project.git("show", f"{shown['branch']}:killed_in_call.txt")


@pytest.mark.full
def test_a_finished_phase_is_not_repeated(project: OldProject) -> None:
    before = project.show(project.id_of("killed_in_second_phase"))
    shown = finish(project, "killed_in_second_phase")
    assert [attempt["phase"] for attempt in shown["attempts"]] == ["implement", "test", "test"]
    assert shown["attempts"][2]["session_id"] == shown["attempts"][1]["session_id"]
    assert shown["attempts"][2]["resumed"]
    assert shown["phases"][0]["commit"] == before["phases"][0]["commit"] is not None


@pytest.mark.full
def test_posted_feedback_reaches_the_agent(project: OldProject) -> None:
    shown = finish(project, "answered")
    assert shown["status"] == "completed"
    assert "It is swordfish." in project.prompts("answered")[-1]
    assert "It is swordfish." not in project.prompts("answered")[0]


@pytest.mark.full
def test_a_rejection_reaches_the_agent(project: OldProject) -> None:
    shown = finish(project, "revision", code=4)
    assert shown["status"] == "needs_review"
    assert "Make it shorter." in project.prompts("revision")[-1]


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "decision"),
    [
        ("needs_review", ("approve", "-m", "Good.")),
        ("merge_gate", ("approve",)),
        ("document_review", ("approve",)),
        ("gate_rejected", ("approve",)),
        ("blocked", ("resume", "-m", "The password is swordfish.")),
        ("reported", ("resume", "-m", "Blue.")),
        ("paused_in_call", ("resume",)),
        ("paused_before_start", ("resume",)),
        ("iteration_limit", ("resume",)),
        ("over_budget", ("retry", "--budget-usd", "5")),
        ("failed", ("retry",)),
        ("quarantined", ("retry",)),
        ("cancelled", ("retry",)),
        ("model_at_rest", ("retry",)),
        ("completed", ("rewind", "--to", "implement", "-m", "Do it again.")),
        ("skipped_phase", ("rewind", "--to", "implement")),
    ],
)
@pytest.mark.sampled(2)
def test_a_decision_continues_a_task(project: OldProject, name: str, decision: tuple[str, ...]) -> None:
    """A waiting task continues after its decision, an ended one is reopened; both complete."""
    if name == "model_at_rest":
        launcher = fake_agent(project.agents, "gemini", edits={}, script=OWN_FILE)
        project.environ["OSTLER_GEMINI_PATH"] = str(launcher)
        project.set_clock(HOURS)
    before = len(project.show(project.id_of(name))["attempts"])
    project.behave(edits={}, script=OWN_FILE, text="Text.\n\n<phase_complete>true</phase_complete>")
    decide(project, name, *decision)
    shown = finish(project, name)
    assert shown["status"] == "completed"
    assert len(shown["attempts"]) >= before
    if "-m" in decision and decision[0] != "approve":
        assert decision[-1] in project.prompts(name)[-1]


@pytest.mark.full
def test_a_waiting_task_is_sent_back(project: OldProject) -> None:
    decide(project, "needs_review", "reject", "-m", "Use fewer words.")
    assert project.show(project.id_of("needs_review"))["status"] == "revision"
    assert finish(project, "needs_review", code=4)["status"] == "needs_review"
    assert "Use fewer words." in project.prompts("needs_review")[-1]


@pytest.mark.full
def test_a_conflict_is_resolved_by_its_agent(project: OldProject) -> None:
    """Publishing follows the settings of this moment, so they have to allow it."""
    project.environ["OSTLER_GIT__ON_COMPLETE"] = "merge"
    project.behave(edits={}, files={"conflict.txt": "both\n"})
    decide(project, "conflict", "resume", "-m", "Keep both lines.")
    assert finish(project, "conflict")["status"] == "completed"
    assert project.git("show", "release:conflict.txt") == "both\n"


@pytest.mark.full
def test_a_deferred_task_waits_for_its_time(project: OldProject) -> None:
    task = project.id_of("deferred")
    assert finish(project, "deferred", code=5)["status"] == "deferred"
    assert project.started() == []
    project.set_clock(3 * HOURS)
    assert finish(project, "deferred")["status"] == "completed"
    assert [start["program"] for start in project.started()] == ["codex"]
    kinds = [event["type"] for event in project.events(task)]
    assert kinds.count("attempt_started") == 2


@pytest.mark.full
def test_a_message_that_was_not_delivered_is_sent(project: OldProject) -> None:
    project.set_clock(HOURS)
    finish(project, "pending")
    lines = (project.root / "notified" / "messages.jsonl").read_text().replace("}{", "}\n{").splitlines()
    sent = [json.loads(line)["task"]["id"] for line in lines]
    assert sent == [project.id_of("notified"), project.id_of("pending")]


def test_a_box_that_was_not_ticked_is_ticked_by_the_next_import(project: OldProject) -> None:
    assert "- [ ] Cannot tick this" in (project.root / "TODO.md").read_text()
    project.ostler("import", "--checklist", "TODO.md")
    assert "- [x] Cannot tick this" in (project.root / "TODO.md").read_text()


def one_of_each(project: OldProject) -> dict[str, dict[str, Any]]:
    """Return one task for each status, stage and code that occurs, by its name."""
    found = {
        (task["recorded_status"], task["stage"], task["code"]): name for name, task in project.tasks.items()
    }
    return {name: project.tasks[name] for name in found.values()}


def lost_fields(database: Path) -> list[str]:
    """Return the rows that lose a field, or cannot be decoded, when this version decodes and encodes them."""
    db = apsw.Connection(str(database))
    bodies = [(kind, body) for kind, body in db.execute("SELECT type, body FROM feed")]
    bodies += [("state", state) for (state,) in db.execute("SELECT state FROM task")]
    bodies += [("attempt", body) for (body,) in db.execute("SELECT body FROM attempt")]
    db.close()
    structs: dict[str, type] = {"state": State, "attempt": Attempt}
    structs |= {str(kind.__struct_config__.tag): kind for kind in (*Event.__args__, *Notice.__args__)}
    found: list[str] = []
    for kind, body in bodies:
        if kind not in structs:
            found.append(f"{kind}: unknown")
            continue
        try:
            read = msgspec.json.decode(body, type=structs[kind])
        except msgspec.ValidationError as error:
            found.append(f"{kind}: unreadable: {error}")
            continue
        missing = lost(msgspec.json.decode(body), msgspec.json.decode(msgspec.json.encode(read)))
        found += [f"{kind}: {name}" for name in missing]
    return found


def lost(before: Any, after: Any) -> list[str]:
    """Return the keys of `before`, at any depth, that are missing in `after`."""
    if isinstance(before, list):
        pairs = zip(before, after, strict=True)
        return [name for old, new in pairs for name in lost(old, new)]
    if not isinstance(before, dict):
        return []
    gone = [key for key in before if key not in after]
    inner = [name for key in before if key in after for name in lost(before[key], after[key])]
    return gone + inner


def last_positions(project: OldProject) -> dict[str, int]:
    """Return the position of each task's last event."""
    return {event["task_id"]: event["seq"] for event in project.events()}
