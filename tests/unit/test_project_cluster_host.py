"""The name of a machine in the records of a cluster."""

from __future__ import annotations

import os
import re
from collections import namedtuple
from pathlib import Path

import pytest

from ostler.cli.terminal.task_table import HEADER, format_row
from ostler.engine.records import append_event
from ostler.files.layout import Layout
from ostler.model.event import TaskClaimed
from ostler.model.task import Task
from ostler.project.cluster.claimed import is_claimed_here
from ostler.project.cluster.host import read_host_id
from ostler.project.project import Project

System = namedtuple("System", ["nodename"])


@pytest.mark.parametrize(
    ("name", "start"),
    [("db-1.acme.io", "db-1-"), ("Büro pc", "B-ro-pc-"), ("", "host-"), ("...", "host-")],
)
def test_the_id_is_the_host_name_and_a_word_of_the_clone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, start: str
) -> None:
    """It stays the same in one clone, and differs in another one on the same machine."""
    monkeypatch.setattr(os, "uname", lambda: System(name))
    one, two = (Layout(tmp_path / folder) for folder in "ab")
    found = read_host_id(one)
    assert re.fullmatch(rf"{re.escape(start)}[0-9a-f]{{6}}", found)
    assert read_host_id(one) == found
    assert read_host_id(two) != found


def test_a_task_of_another_host_is_claimed(tmp_path: Path) -> None:
    """It is in progress there, and no process of this machine has it."""
    with Project.open(tmp_path, {}, create=True) as project:
        task = project.add(Task("Paint")).id
        assert not project.is_claimed(task)
        append_event(project.journal, task, TaskClaimed("other:1:a", host="other-1a2b3c"), project.now())
        assert project.is_claimed(task) and not is_claimed_here(task, project.layout)
        view = project.show(task)
        assert (view.status, view.host) == ("in_progress", "other-1a2b3c")
        assert format_row(view)[HEADER.index("worker")] == "other-1a2b3c"
        own = read_host_id(project.layout)
        append_event(project.journal, task, TaskClaimed("own:1:a", host=own), project.now())
        assert not project.is_claimed(task), "its run on this host is dead"
        assert project.show(task).status == "pending"
