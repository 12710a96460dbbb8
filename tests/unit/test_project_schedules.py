"""Schedules: due times start once, and the file is read again."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ostler.model.ids import TaskId
from ostler.model.task import Task
from ostler.project.project import Project
from ostler.project.running.scheduled_runs import find_schedule, list_schedules, start_now
from ostler.project.running.schedules import Scheduler, add_scheduled_tasks, find_schedules
from ostler.views.lists.schedules import ScheduledRun

SIX = datetime(2026, 11, 16, 6, 0, tzinfo=UTC).timestamp()  # a Monday
TASK = '---\ntitle: Tidy up\nschedule: "{line}"\n---\n\nAll of it.\n'
SKILL = "---\nname: copy\ndescription: copy\nsquad: creative\n---\nYou write copy.\n"
PIPELINE = (
    'name: any name\nschedule: "0 6 * * 1"\ngoal: Sell hay\nsteps:\n  - copy\n  - {id: mail, skill: copy}\n'
)


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path, ".agents/tasks/tidy.md", TASK.format(line="0 6 * * 1"))
    write(tmp_path, ".agents/skills/copy/SKILL.md", SKILL)
    return tmp_path


@pytest.fixture
def project(root: Path) -> Iterator[Project]:
    with Project.open(root, {}, create=True) as made:
        yield made


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def due(timetable: Scheduler, now: float) -> list[tuple[str, float]]:
    return [(one.name, at) for one, at in timetable.take_due(now)]


def test_it_comes_once_and_in_its_minute(root: Path) -> None:
    """The minute of the start counts, the one before does not."""
    timetable = Scheduler(root, SIX - 30)
    assert due(timetable, SIX - 0.5) == []
    assert due(timetable, SIX + 0.5) == [("tidy", SIX)]
    assert due(timetable, SIX + 1.5) == []
    assert due(Scheduler(root, SIX + 59), SIX + 59) == [("tidy", SIX)]
    assert due(Scheduler(root, SIX + 60), SIX + 60) == []


def test_a_machine_that_slept_does_it_once(root: Path) -> None:
    """The latest time counts; a clock that is set back changes nothing."""
    write(root, ".agents/tasks/tidy.md", TASK.format(line="*/5 * * * *"))
    timetable = Scheduler(root, SIX - 1)
    assert due(timetable, SIX + 3600) == [("tidy", SIX + 3600)]
    assert due(timetable, SIX) == []
    assert due(timetable, SIX + 301) == [("tidy", SIX + 300)]


def test_files_are_read_again_when_they_change(root: Path) -> None:
    """New and changed files are read, and an error is reported once."""
    timetable = Scheduler(root, SIX - 90)
    assert timetable.reload() == []
    write(root, ".agents/tasks/more.md", TASK.format(line="1 6 * * *"))
    write(root, ".agents/pipelines/bad.yaml", "schedule: 0 25 * * *\nsteps: [copy]\n")
    (mistake,) = timetable.reload()
    assert mistake.endswith("bad.yaml:1: schedule: '0 25 * * *': bad hour")
    write(root, ".agents/tasks/more.md", TASK.format(line="2 6 * * 1"))
    assert timetable.reload() == []
    assert [(one.name, at - SIX) for one, at in timetable.list_upcoming(SIX - 1)] == [
        ("tidy", 0),
        ("more", 120),
    ]


def test_files_with_mistakes_are_left_out(root: Path) -> None:
    """Each is named with file and line; the others keep their schedules."""
    write(root, ".agents/tasks/tidy.md", TASK.format(line="0 6 * * *"))
    write(root, ".agents/tasks/x.md", TASK.format(line="never"))
    write(root, ".agents/pipelines/y.yaml", "schedule: daily\nsteps: []\n")
    timetable = Scheduler(root, SIX)
    reported = timetable.skipped
    assert [one.name for one, _ in timetable.list_upcoming(SIX)] == ["tidy"]
    assert ".agents/tasks/x.md:3: schedule" in reported[0] and "a pipeline needs steps" in reported[1]


def test_a_task_is_begun_once_for_each_time(project: Project) -> None:
    """A due time starts one task with any number of workers, also after one was killed in between."""
    (tidy,), _ = find_schedules(project.layout.root)
    (first,) = add_scheduled_tasks(project, tidy, SIX)
    assert add_scheduled_tasks(project, tidy, SIX) == []
    (second,) = add_scheduled_tasks(project, tidy, SIX + 604800)
    assert (first, second) == ("tidy-up-202611160600", "tidy-up-202611230600")
    task = project.task(first)
    assert (task.body, task.sender) == ("All of it.", "schedule")
    assert task.source == "schedule:.agents/tasks/tidy.md@202611160600"


def test_two_tasks_of_one_title_at_one_time(project: Project) -> None:
    """Both are started, each once."""
    write(project.layout.root, ".agents/tasks/other.md", TASK.format(line="0 6 * * 1"))
    found, _ = find_schedules(project.layout.root)
    tasks = [task for one in (*found, *found) for task in add_scheduled_tasks(project, one, SIX)]
    assert len(tasks) == len(set(tasks)) == 2


def test_a_pipeline_is_begun_once_for_each_time(project: Project) -> None:
    """All tasks or none; files with similar names have separate runs."""
    for name in ("week_ly", "week-ly"):
        write(project.layout.root, f".agents/pipelines/{name}.yaml", PIPELINE)
    found = [one for one in find_schedules(project.layout.root)[0] if one.kind == "pipeline"]
    counts = [len(add_scheduled_tasks(project, one, SIX)) for one in (*found, *found)]
    assert counts == [2, 2, 0, 0]
    runs = sorted({row.pipeline for row in project.journal.rows()})
    assert runs == ["week-ly-202611160600", "week-ly-202611160600-2"]


def test_many_workers_begin_it_once(project: Project) -> None:
    """Several processes at the same time."""
    write(project.layout.root, ".agents/pipelines/weekly.yaml", PIPELINE)
    found, _ = find_schedules(project.layout.root)

    def work(_: int) -> int:
        with Project.open(project.layout.root, {}) as mine:
            return sum(len(add_scheduled_tasks(mine, one, SIX)) for one in found)

    with ThreadPoolExecutor(6) as threads:
        assert sum(threads.map(work, range(6))) == 3
    assert len(project.journal.rows()) == 3


def test_the_list_has_the_last_run_of_each_schedule(root: Path, project: Project) -> None:
    """The newest one that the schedule itself started; a task with such a name does not count."""
    write(root, ".agents/pipelines/weekly.yaml", PIPELINE)
    project.add(Task("Tidy up", id=TaskId("tidy-up-209911160600")))
    assert {one.name: one.last for one in list_schedules(project, SIX).schedules} == {
        "tidy": None,
        "weekly": None,
    }
    for kind, name in (("task", "tidy"), ("pipeline", "weekly")):
        scheduled = find_schedule(project, kind, name)
        assert scheduled is not None
        assert start_now(project, scheduled, SIX - 3600)
        assert start_now(project, scheduled, SIX + 1)
        assert start_now(project, scheduled, SIX + 59) == []  # in the same minute
    last = {one.name: one.last for one in list_schedules(project, SIX).schedules}
    at = "2026-11-16T06:00:00.000Z"
    assert last["tidy"] == ScheduledRun(at, "pending", "tidy-up-202611160600", None)
    assert last["weekly"] == ScheduledRun(at, "pending", None, "weekly-202611160600")
    assert find_schedule(project, "task", "weekly") is None
