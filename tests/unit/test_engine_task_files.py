"""The files in a task's directory."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from msgspec.structs import replace

from ostler.engine.task_files import format_state_file, remove_partial_files
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
