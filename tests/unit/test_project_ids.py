"""Ids and names that become paths are checked by every entry point (A19)."""

from __future__ import annotations

import asyncio
import logging
import os
import re
from pathlib import Path

import pytest

from executor_world import ExecutorWorld
from ostler import Ostler
from ostler.calls.cli_executor import CliExecutor
from ostler.calls.plugins import PluginRegistry
from ostler.config.settings import Settings
from ostler.errors import OstlerError, UsageError
from ostler.model.call import SessionStarted
from ostler.model.ids import TaskId, adopt_task_id, explain_ambiguous, is_task_id
from ostler.model.task import Task
from ostler.project.agents.agent_session import create_session
from ostler.project.agents.stored_session import LOG, find_session, output_path, rename_session, save_session
from ostler.project.pipelines.file import read_pipeline
from ostler.project.project import Project
from ostler.testing.mocks import MockCommandRunner

LOGGER = logging.getLogger(__name__)
BAD = [
    "../../../evil",
    "..",
    "/tmp/evil",
    " ",
    "-rf",
    "a",
    "A-task",
    "a b c",
    "task\n",
    "a" * 41,
    "a\0b",
    "é-task",
]


@pytest.mark.parametrize("bad", BAD)
def test_the_library_refuses_an_id_that_is_no_file_name(bad: str, tmp_path: Path) -> None:
    """Ostler.add raises UsageError and writes nothing."""
    root = tmp_path / "a" / "b" / "project"
    root.mkdir(parents=True)

    async def add() -> None:
        async with Ostler.open(root) as ostler:
            with pytest.raises(UsageError, match="invalid task id"):
                await ostler.add(Task("A title", id=TaskId(bad)))
            assert ostler.tasks() == []

    asyncio.run(add())
    assert list((root / ".ostler" / "tasks").iterdir()) == []
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("bad", BAD)
def test_the_seeds_executor_refuses_it_too(bad: str, tmp_path: Path) -> None:
    """AgentExecutor.execute returns a failure and calls no model."""
    world = ExecutorWorld(tmp_path)
    result = world.execute(Task("A title", id=TaskId(bad), skill="research"))
    assert result.status == "failed"
    assert "invalid task id" in str(result)
    assert world.client.calls == []


@pytest.mark.parametrize("bad", ["../../../evil", "-rf", "/x", ".", "_a", "a/b", "x" * 65])
def test_a_step_of_a_pipeline_has_a_plain_id(bad: str, tmp_path: Path) -> None:
    """The error has file and line."""
    path = tmp_path / "release.yaml"
    path.write_text(f"steps:\n  - skill: research\n    id: '{bad}'\n")
    with pytest.raises(OstlerError, match=r"release\.yaml:3: .*invalid id"):
        read_pipeline(path)


@pytest.mark.parametrize("role", ["../../../etc/passwd", "/etc/passwd", ""])
def test_a_role_is_never_a_path(role: str, tmp_path: Path) -> None:
    """A role is found by its name in a list, so that it cannot name another file."""
    from ostler.prompt.role import find_agent

    with pytest.raises(UsageError, match="unknown role"):
        find_agent(role, tmp_path)


def test_an_agent_that_chooses_its_session_id_chooses_no_path(tmp_path: Path) -> None:
    """Session file and transcript stay in their folder, whatever id the agent reports."""
    with Project.open(tmp_path, {}, create=True) as project:
        session = create_session("scripted", "implementer", "", tmp_path)
        save_session(project, session)
        named = rename_session(project, session, SessionStarted("../../../../evil").session_id)
        sessions = (tmp_path / ".ostler" / "sessions").resolve()
        assert output_path(project, named, LOG).resolve().parent == sessions
        assert [path.name for path in sessions.iterdir()] == [".._.._.._.._evil.json"]
        assert find_session(project, "../../").session_id == "../../../../evil"


@pytest.mark.parametrize(
    ("foreign", "adopted"),
    [
        ("TASK-001", r"task-001"),
        ("task-001", r"task-001"),
        ("product-marketing-context-20251116-a1b2c3", r"product-marketing-context-20251116-[a-z0-9]{4}"),
        ("a.b_c", r"a-b-c-[a-z0-9]{4}"),
        ("A", r"a-[a-z0-9]{4}"),
        ("x" * 200, r"x{35}-[a-z0-9]{4}"),
    ],
)
def test_an_id_of_another_program_is_adopted(foreign: str, adopted: str) -> None:
    """It is a task id, and always the same one."""
    found = adopt_task_id(foreign)
    assert re.fullmatch(adopted, found) and is_task_id(found) and adopt_task_id(foreign) == found


@pytest.mark.parametrize(
    "bad", ["../../../evil", "..", "/tmp/evil", " ", "-rf", "a b c", "task\n", "a\0b", ""]
)
def test_a_path_is_not_adopted(bad: str) -> None:
    """Only plain words are ids of other programs."""
    with pytest.raises(UsageError, match="invalid task id"):
        adopt_task_id(bad)


def test_two_long_ids_stay_apart() -> None:
    """The tail depends on the whole id."""
    assert adopt_task_id("x" * 50) != adopt_task_id("x" * 51)


@pytest.mark.parametrize("bad", ["../../../evil", "/tmp/evil", " ", "-rf", ""])
def test_a_call_without_a_project_refuses_it_too(bad: str, tmp_path: Path) -> None:
    """CliExecutor.execute raises UsageError and starts nothing."""
    runner = MockCommandRunner()
    executor = CliExecutor(Settings(), runner, PluginRegistry(LOGGER), LOGGER, home=tmp_path)
    with pytest.raises(UsageError, match="invalid task id"):
        asyncio.run(executor.execute("Say hello", task_id=bad))
    executor.close()
    assert runner.commands == []


def test_an_ambiguous_prefix_names_how_many_ids_it_has() -> None:
    """Five of them, and the number of the others."""
    assert explain_ambiguous("a", ["a1", "a2"]).message == "a is ambiguous: a1, a2"
    message = explain_ambiguous("a", [f"a{number}" for number in range(9)]).message
    assert message == "a is ambiguous: a0, a1, a2, a3, a4 and 4 more"
