"""Faults of the whole project end a run; no task fails because of them."""

from __future__ import annotations

import asyncio
import errno
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ostler.cli.terminal.error_output import report_error
from ostler.engine.core.step import PrepareWorkspace
from ostler.engine.steps import perform as performing
from ostler.engine.steps.project_fault import find_project_fault
from ostler.errors import Code, OstlerError, UsageError
from ostler.files.layout import Layout
from ostler.model.event import StepFailed
from ostler.model.ids import TaskId
from ostler.store.open_store import open_store

DENIED = OstlerError(Code.WORKSPACE_WRITE_FAILED, "cannot write x: permission denied")
STEP = PrepareWorkspace(TaskId("t-1"), "t-1/prepare")


@pytest.fixture
def services(tmp_path: Path) -> Any:
    layout = Layout(tmp_path)
    layout.worktrees.mkdir(parents=True)
    (tmp_path / "git" / "objects").mkdir(parents=True)
    repository = SimpleNamespace(common_dir=tmp_path / "git")
    return SimpleNamespace(layout=layout, repository=repository, store=open_store(layout))


def deny(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    """Root may write everywhere, so the result is simulated."""
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != place)


@pytest.mark.parametrize("place", [".", ".ostler", ".ostler/worktrees", "git/objects"])
def test_a_directory_without_permission_is_a_fault_of_the_project(
    services: Any, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Exit 2 with its path; with permission the same error is one of the task."""
    assert find_project_fault(DENIED, services) is None
    deny(monkeypatch, services.layout.root / place)
    fault = find_project_fault(DENIED, services)
    assert isinstance(fault, UsageError) and fault.exit == 2
    assert f"cannot write in {services.layout.root / place}: permission denied" in fault.message


def test_a_place_below_an_unreadable_directory_is_a_fault(
    services: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system does not answer whether it exists."""

    def exists(self: Path) -> bool:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))

    monkeypatch.setattr(Path, "exists", exists)
    fault = find_project_fault(DENIED, services)
    assert isinstance(fault, UsageError) and "permission denied" in fault.message


def test_a_step_without_permission_fails_or_ends_the_run(
    services: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PermissionError is no bug of Ostler: it fails the step, and a fault of the project ends the run."""

    async def dispatch(*_: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), "/some/file")

    monkeypatch.setattr(performing, "_dispatch", dispatch)
    monkeypatch.setattr(performing, "apply_protection", lambda _context, given: given)
    context: Any = None
    result = asyncio.run(performing.perform(STEP, context, services))
    assert result is not None and isinstance(result.event, StepFailed)
    assert "cannot write /some/file: permission denied" in result.event.message
    deny(monkeypatch, services.layout.view)
    with pytest.raises(UsageError, match="permission denied"):
        asyncio.run(performing.perform(STEP, context, services))


def test_a_command_without_permission_names_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    """It is not reported as a bug."""
    denied = PermissionError(errno.EACCES, os.strerror(errno.EACCES), "/some/file")
    assert report_error(denied, []) == 2
    assert "ostler: cannot write /some/file: permission denied" in capsys.readouterr().err
