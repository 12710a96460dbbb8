"""A project that is looked at, and its settings, which are read only when they are needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.errors import SettingsInvalid
from ostler.model.task import Task
from ostler.project.project import Project

BROKEN = '[run]\njobs = "two"\n'


def test_tasks_can_be_looked_at_whatever_is_wrong_with_the_settings(tmp_path: Path) -> None:
    """A mistake in ostler.toml stops what needs the settings, and nothing else."""
    with Project.open(tmp_path, {}, create=True) as project:
        task = project.add(Task("Look at me"))
    (tmp_path / "ostler.toml").write_text(BROKEN)
    with Project.open(tmp_path, {}) as project:
        assert [view.id for view in project.tasks()] == [task.id]
        with pytest.raises(SettingsInvalid, match=r"run\.jobs"):
            _ = project.settings


def test_a_mistake_in_the_settings_leaves_no_project_behind(tmp_path: Path) -> None:
    """What would write reads the settings first."""
    (tmp_path / "ostler.toml").write_text(BROKEN)
    with pytest.raises(SettingsInvalid):
        Project.open(tmp_path, {}, create=True)
    assert [path.name for path in tmp_path.iterdir()] == ["ostler.toml"]
