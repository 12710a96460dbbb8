"""The oracle of a cluster accepts good evidence, and each of its rules detects its own violation."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from cluster.evidence import Beat, Evidence, History, RefUpdate, find_overlaps, find_work, read_work
from cluster.oracle import RULES, check

TASK, FIRST, LAST = "a-task-ab12", "1" * 40, "2" * 40
HEARTBEAT = 3.0


def event(seq: int, kind: str, **more: object) -> dict[str, object]:
    return {"seq": seq, "time": f"2026-11-19T00:00:{seq:02}.000Z", "task_id": TASK, "type": kind, **more}


EVENTS = [
    event(1, "task_created"),
    event(2, "task_claimed", host="h1"),
    event(3, "attempt_started", number=1),
    event(4, "attempt_ended", number=1, status="succeeded"),
    event(5, "phase_completed", phase="implement", commit=FIRST),
    event(6, "attempt_started", number=2),
    event(7, "task_claimed", host="h2"),
    event(8, "attempt_ended", number=2, status="interrupted"),
    event(9, "attempt_started", number=3),
    event(10, "attempt_ended", number=3, status="succeeded"),
    event(11, "phase_completed", phase="test", commit=LAST),
    event(12, "task_completed"),
]
PHASES = [{"id": "implement"}, {"id": "test"}]


def beats(host: str, attempt: str, first: float, last: float) -> list[Beat]:
    return [Beat(host, TASK, attempt, 7, first + 0.1 * n) for n in range(round((last - first) * 10) + 1)]


ORDERLY = [*beats("h1", "1", 0, 5), *beats("h2", "3", 8, 9)]
GOOD = Evidence(
    tasks=[TASK],
    shown={TASK: {"status": "completed", "commit": LAST, "phases": PHASES}},
    events=EVENTS,
    followed=[one["seq"] for one in EVENTS],
    work=list(find_work(ORDERLY)),
    pull_requests=[(f"ostler/{TASK}", LAST)],
    ref_updates=[
        RefUpdate(f"refs/ostler/tasks/{TASK}", FIRST, LAST),
        RefUpdate(f"refs/heads/ostler/{TASK}", "0" * 40, LAST),
    ],
    history={TASK: [LAST, FIRST]},
    files={TASK: {"implement.txt": "call 1\n", "test.txt": "call 3\n"}},
    workflows=[History(f"store/{TASK}", 11, 1800, [])],
    left={"h1": []},
    errors={"h1": ""},
)
SUCCEEDED = event(8, "attempt_ended", number=2, status="succeeded")
# Attempt 2 ended before the next claim, and was recorded after it.
KEPT = SUCCEEDED | {"time": EVENTS[5]["time"]}
CLAIMED_AGAIN = event(7, "task_claimed", host="h1")
LONG = [*beats("h1", "1", 0, 12), *beats("h2", "3", 5, 12)]
BAD = {
    "lost": [
        replace(GOOD, shown={**GOOD.shown, TASK: {**GOOD.shown[TASK], "status": "in_progress"}}),
        replace(GOOD, tasks=[TASK, "another-cd34"]),
        replace(GOOD, tasks=[]),
    ],
    "finished_twice": [replace(GOOD, events=[*EVENTS, event(13, "task_completed")], followed=range(1, 14))],
    "double_effects": [
        replace(GOOD, pull_requests=[*GOOD.pull_requests, *GOOD.pull_requests]),
        replace(GOOD, pull_requests=[]),
        replace(GOOD, pull_requests=[(f"ostler/{TASK}", FIRST)]),
        replace(GOOD, ref_updates=[*GOOD.ref_updates, GOOD.ref_updates[1]]),
    ],
    "missing_work": [
        replace(GOOD, history={TASK: [LAST]}),
        replace(GOOD, files={TASK: {"test.txt": "call 3\n"}}),
    ],
    "two_agents": [replace(GOOD, work=list(find_work(LONG)))],
    "zombie_records": [
        replace(GOOD, events=[*EVENTS[:7], SUCCEEDED, *EVENTS[8:]]),
        replace(GOOD, events=[*EVENTS[:7], KEPT, *EVENTS[8:]]),
        replace(GOOD, events=[*EVENTS[:6], CLAIMED_AGAIN, SUCCEEDED, *EVENTS[8:]]),
    ],
    "missed_positions": [replace(GOOD, followed=[1, 2, 4]), replace(GOOD, followed=[2, 1, *range(3, 13)])],
    "large_histories": [
        replace(GOOD, workflows=[History(f"store/{TASK}", 11, 1800, ["a prompt"])]),
        replace(GOOD, workflows=[History(f"store/{TASK}", 200, 1800, [])]),
        replace(GOOD, workflows=[History(f"store/{TASK}", 11, 9000, [])]),
    ],
    "left_processes": [replace(GOOD, left={"h1": ["7 claude"]})],
    "tracebacks": [replace(GOOD, errors={"h1": "Traceback"})],
}


def test_good_evidence_is_accepted() -> None:
    """A task that moved to another host once, without any damage."""
    assert check(GOOD, HEARTBEAT) == []


def test_an_answer_that_its_host_has_kept_is_accepted() -> None:
    """The same host claims the task again, and records what its agent answered before."""
    assert check(replace(GOOD, events=[*EVENTS[:6], CLAIMED_AGAIN, KEPT, *EVENTS[8:]]), HEARTBEAT) == []


@pytest.mark.parametrize("rule", [rule.__name__ for rule in RULES])
def test_each_rule_detects_its_violation(rule: str) -> None:
    """Positive control: evidence with one fault is refused by this rule, and by no other."""
    for bad in BAD[rule]:
        found = {sentence.partition(":")[0] for sentence in check(bad, HEARTBEAT)}
        assert found == {rule}


def test_the_time_of_two_agents_is_measured() -> None:
    """The overlap is the time in which both worked, of any two agents of one task."""
    assert find_overlaps(find_work(ORDERLY)) == {}
    assert find_overlaps(find_work(LONG))[TASK] == pytest.approx(7, abs=0.01)


def test_a_frozen_agent_does_not_work() -> None:
    """The pause is no work; what it does afterwards is."""
    frozen = [*beats("h1", "1", 0, 2), *beats("h1", "1", 10, 10.5)]
    successor = beats("h2", "2", 4, 14)
    assert len(list(find_work(frozen))) == 2
    assert find_overlaps(find_work([*frozen, *successor]))[TASK] == pytest.approx(0.5, abs=0.01)


def test_a_line_that_is_being_written_is_ignored(tmp_path: Path) -> None:
    """The log may end within a line."""
    (tmp_path / "log").write_text('{"host":"h","task":"t","attempt":"1","pid":1,"at":1.5}\n{"ho')
    assert [(one.first, one.last) for one in read_work(tmp_path / "log")] == [(1.5, 1.5)]
