"""A project loads its settings only when they are needed."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from journal_values import make_attempt
from ostler.errors import SettingsInvalid, UsageError
from ostler.model.task import Task
from ostler.project.project import Project
from ostler.prompt.report import parse_report

BROKEN = '[run]\njobs = "two"\n'


def test_tasks_can_be_looked_at_whatever_is_wrong_with_the_settings(tmp_path: Path) -> None:
    """An invalid ostler.toml stops only what needs the settings."""
    with Project.open(tmp_path, {}, create=True) as project:
        task = project.add(Task("Look at me"))
    (tmp_path / "ostler.toml").write_text(BROKEN)
    with Project.open(tmp_path, {}) as project:
        assert [view.id for view in project.tasks()] == [task.id]
        with pytest.raises(SettingsInvalid, match=r"run\.jobs"):
            _ = project.settings


def test_a_mistake_in_the_settings_leaves_no_project_behind(tmp_path: Path) -> None:
    """Writing reads the settings first."""
    (tmp_path / "ostler.toml").write_text(BROKEN)
    with pytest.raises(SettingsInvalid):
        Project.open(tmp_path, {}, create=True)
    assert [path.name for path in tmp_path.iterdir()] == ["ostler.toml"]


def test_an_attempt_that_is_over_cannot_report(tmp_path: Path) -> None:
    """A process of an earlier attempt cannot report for the current one."""
    with Project.open(tmp_path, {}, create=True) as project:
        task = project.add(Task("Greet")).id
        first = project.journal.begin_attempt(make_attempt(task))
        project.report(task, first, parse_report("complete", ""))
        project.journal.end_attempt(replace(make_attempt(task, first), status="failed", duration_ms=1))
        before = project.journal.position()
        with pytest.raises(UsageError, match="has ended"):
            project.report(task, first, parse_report("complete", ""))
        second = project.journal.begin_attempt(make_attempt(task))
        with pytest.raises(UsageError, match="has ended"):
            project.report(task, first, parse_report("complete", ""))
        assert second == first + 1
        assert "agent_reported" not in str(project.journal.feed(before))


def test_a_settings_file_alone_makes_a_project(tmp_path: Path) -> None:
    """After `ostler config init` the list of tasks is empty; without the file there is no project."""
    with pytest.raises(UsageError, match="no Ostler project"):
        Project.open(tmp_path, {})
    (tmp_path / "ostler.toml").touch()
    with Project.open(tmp_path, {}) as project:
        assert project.tasks() == []


def test_a_command_creates_a_project_with_its_first_record(tmp_path: Path) -> None:
    """One that fails before leaves nothing behind."""
    with Project.open(tmp_path, {}, create=True, defer=True) as project:
        assert project.settings.run.jobs == 2 and list(tmp_path.iterdir()) == []
        project.add(Task("Greet"))
    assert (tmp_path / ".ostler").is_dir()
