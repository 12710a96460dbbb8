"""The files in a task's directory."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest
import yaml
from msgspec.structs import replace

from ostler.engine import task_files
from ostler.engine.task_files import format_state_file, remove_partial_files, write_state_file
from ostler.files.disk import to_disk_error
from ostler.files.layout import Layout
from ostler.model.ids import TaskId
from ostler.model.task import Task
from ostler.project.project import Project
from ostler.sources.task_file import read_task

HOSTILE = "---\ntitle: other\n---\n\n# Goal\r\n\n```\n---\n```\n  trailing  \n\n"


@pytest.mark.parametrize("title", ["Greet", 'Say "hi": #1', "Grüße 😀", "- no", "null", "a\\b"])
def test_a_task_is_found_as_it_was_given(tmp_path: Path, title: str) -> None:
    """task.md is parsed as the same task, and state.yaml is valid YAML with its title."""
    with Project.open(tmp_path, {}, create=True) as project:
        task = project.add(Task(title, HOSTILE, weight="large", tags=("a", "b")))
        home = project.layout.task(task.id)
        assert read_task((home / "task.md").read_bytes().decode(), "task.md") == task
        state = project.state(task.id)
        assert yaml.safe_load(format_state_file(state))["title"] == title
        reported = replace(state, message="two\nlines\u2028and more")
        assert yaml.safe_load(format_state_file(reported))["message"] == reported.message


@pytest.mark.parametrize("folder", [".", "prompts", "gates", "workspace"])
def test_partial_files_of_a_killed_run_are_removed(tmp_path: Path, folder: str) -> None:
    """In every directory of the task; a file of a person stays."""
    layout, task = Layout(tmp_path), TaskId("add-a-greeting-k4mh")
    place = layout.task(task) / folder
    place.mkdir(parents=True)
    partial, own = place / ".999999999-0123456789abcdef.tmp", place / "notes.tmp"
    partial.touch()
    own.touch()
    remove_partial_files(task, layout)
    assert (partial.exists(), own.exists()) == (False, True)


@pytest.mark.parametrize("fault", [errno.ENOSPC, errno.EROFS, errno.EIO, errno.EACCES, errno.EMFILE])
def test_a_record_that_is_durable_does_not_fail_because_of_its_files(
    tmp_path: Path, fault: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The task is added once, whatever the disk says to the file that shows it; a line names both."""

    def refuse(path: Path, data: bytes) -> None:
        raise to_disk_error(path, OSError(fault, os.strerror(fault)))

    monkeypatch.setattr(task_files, "write_projection", refuse)
    with Project.open(tmp_path, {}, create=True) as project:
        task = project.add(Task("Greet", "Say hello"))
        assert [row.id for row in project.journal.rows()] == [task.id]
        assert not (project.layout.task(task.id) / "task.md").exists()
    assert f"task.md of {task.id} could not be written" in caplog.text


def test_a_state_whose_directory_was_deleted_is_recorded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Not only the directory of the task: also that of all tasks and of the whole state."""
    with Project.open(tmp_path, {}, create=True) as project:
        task = project.add(Task("Greet", "Say hello"))
        shutil.rmtree(project.layout.state)
        write_state_file(project.state(task.id), project.layout)
    assert f"state.yaml of {task.id} could not be written" in caplog.text
