"""Record histories from acceptance tests: run it once for new rules, before they are released.

    PYTHONPATH=tests:tests/support .venv/bin/python tests/data/histories/record.py RULES

Histories of released rules are never recorded again: they are what those versions decided. The records of
each task of the tests below are written with the state changes and the step that follows. Rules that are not
the newest are recorded by the program as long as it has them; of a test that fails with older rules, too.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from ostler.engine.core import rules

# Tests of each way of a task through its stages; most make one or two tasks.
TESTS = (
    "test_first_hour.py::test_the_demo_runs_from_nothing",
    "test_review_loop.py::test_a_rejection_reaches_the_same_session[claude-small]",
    "test_review_loop.py::test_a_failed_test_gate_continues_the_session_of_implement[claude]",
    "test_review_loop.py::test_findings_of_an_ai_gate_reach_the_same_session",
    "test_review_loop.py::test_a_rewind_starts_a_new_session",
    "test_questions.py::test_the_same_answer_with_new_changes_goes_on",
    "test_questions.py::test_work_without_a_change_is_reported_once_and_then_reviewed",
    "test_gates.py::test_a_gate_that_always_fails_blocks_the_task",
    "test_gates.py::test_kill_during_a_gate_asks_it_once_more",
    "test_publish_moved.py::test_work_that_the_target_broke_goes_back",
    "test_publish_moved.py::test_feedback_lets_an_agent_solve_a_conflict",
    "test_publishing.py::test_a_conflict_waits_for_a_person",
    "test_publishing.py::test_a_merge_leaves_the_checkout_alone",
    "test_workflow.py::test_a_failing_test_becomes_a_pull_request",
    "test_documents.py::test_a_reviewer_sends_it_back_to_the_same_session_until_it_is_good",
    "test_documents.py::test_a_writer_that_asks_blocks_its_task_and_writes_nothing",
    "test_dependencies.py::test_a_task_before_it_that_was_cancelled_blocks_it_in_the_next_run",
    "test_endings.py::test_a_rate_limit_defers_the_task_with_a_time",
    "test_endings.py::test_a_task_that_ended_badly_is_opened_again_by_retry[failed]",
    "test_endings.py::test_a_killed_run_leaves_a_task_that_the_next_run_finishes",
    "test_endings.py::test_cancel_from_another_terminal_stops_the_agent",
    "test_step.py::test_stopping_leaves_the_task_to_be_resumed",
    "test_accepting.py::test_completed_work_becomes_a_pull_request",
    "test_accepting.py::test_a_rebase_with_a_conflict_waits_for_a_person",
    "test_accepting.py::test_an_approval_can_be_taken_back_until_a_run_acts_on_it",
    "test_accepting.py::test_a_request_to_publish_can_be_taken_back",
    "test_edit.py::test_a_changed_task_file_is_taken_in_by_the_next_run",
)
_SELECT = """
    SELECT task, seq, at, CAST(body AS TEXT), step, basis FROM feed
    WHERE seq IS NOT NULL ORDER BY task, seq"""


class Recorder:
    """Keeps the tasks of each project when its test closes it."""

    def __init__(self) -> None:
        self.histories: dict[str, list[dict[str, Any]]] = {}
        self._test = ""

    @pytest.hookimpl
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self._test = item.name.partition("[")[0].removeprefix("test_").replace("_", " ")

    @pytest.hookimpl
    def pytest_configure(self) -> None:
        from journal_file import journal_path
        from world import World

        close = World.close

        def record_and_close(world: World) -> None:
            close(world)
            # `ostler demo` makes a project of its own, beside that of the test.
            for root in (world.root, world.root.parent / "demo"):
                if journal_path(root).exists():
                    self.record(root, self._test)

        World.close = record_and_close

    def record(self, root: Path, name: str) -> None:
        from histories import decode_records, describe
        from journal_file import journal_path

        for number, found in enumerate(_read_tasks(journal_path(root), str(root.parent)), 1):
            made = zip(found, describe(decode_records(found)), strict=True)
            self.histories[f"{name}, {number}"] = [{"record": record} | result for record, result in made]


def _read_tasks(database: Path, place: str) -> Iterator[list[dict[str, Any]]]:
    with apsw.Connection(str(database)) as connection:
        rows = connection.execute(_SELECT).fetchall()
    for task in sorted({row[0] for row in rows}):
        yield [
            {"task": row[0], "seq": row[1], "at": round(row[2], 3), "step": row[4], "basis": row[5]}
            | {"event": json.loads(row[3].replace(place, "/home/ada"))}
            for row in rows
            if row[0] == task
        ]


def _record_tests(recorder: Recorder) -> None:
    tests = [f"tests/acceptance/{name}" for name in TESTS]
    pytest.main(["-q", "-p", "no:cacheprovider", *tests], plugins=[recorder])


def _record_old_journal(recorder: Recorder) -> None:
    """Record the tasks of a project that a version with the first rules has written."""
    from old_journal import OldProject

    with tempfile.TemporaryDirectory() as place:
        project = OldProject(Path(place))
        project.program("status")  # upgrades the journal
        recorder.record(project.root, "3499aac")


def main() -> None:
    # The modules that create and claim tasks read the constant when they are imported.
    rules.RULES = int(sys.argv[1])
    recorder = Recorder()
    (_record_old_journal if sys.argv[1] == "1" else _record_tests)(recorder)

    from histories import HISTORIES, write_histories

    write_histories(HISTORIES / f"rules-{sys.argv[1]}.jsonl.xz", recorder.histories)


if __name__ == "__main__":
    main()
