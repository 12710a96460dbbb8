"""Recorded workflows are continued by the code of this version, which is checked as strictly as possible."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer

from ostler.engine.temporal import workflows
from recorded_workflows import list_histories

SOURCE = Path(workflows.__file__)
FIRST_STEP = "        return await workflow.execute_activity("


def replay(module: ModuleType, history: Path) -> None:
    """Replay without pass-through of our modules: they are loaded again, in the sandbox, where a clock or
    randomness is refused also when a module is imported.
    """
    replayer = Replayer(workflows=[module.TaskWorkflow, module.BoardWorkflow])
    recorded = WorkflowHistory.from_json("recorded", history.read_text())
    asyncio.run(replayer.replay_workflow(recorded))


def change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> ModuleType:
    """Return the module of the workflows with one text replaced."""
    text = SOURCE.read_text()
    assert text.count(old) == 1
    path = tmp_path / "changed_workflows.py"
    path.write_text(text.replace(old, new))
    monkeypatch.syspath_prepend(tmp_path)
    spec = importlib.util.spec_from_file_location("changed_workflows", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "changed_workflows", module)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("history", list_histories(), ids=lambda path: path.stem)
def test_recorded_workflows_are_replayed(history: Path) -> None:
    """Each release keeps its histories, as its workflows may be open during an upgrade."""
    replay(workflows, history)


@pytest.mark.parametrize("clock", ["__import__('time').time()", "__import__('random').random()"])
def test_a_clock_in_a_workflow_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: str
) -> None:
    """A workflow that reads a clock or a random number would take another way when it is replayed."""
    module = change(tmp_path, monkeypatch, FIRST_STEP, f"        {clock}\n{FIRST_STEP}")
    with pytest.raises(Exception, match="Cannot access"):
        replay(module, find("task-whole"))


def test_another_order_of_steps_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step before the recorded first one does not fit the history."""
    module = change(tmp_path, monkeypatch, FIRST_STEP, f"        await workflow.sleep(1)\n{FIRST_STEP}")
    with pytest.raises(Exception, match=r"[Nn]ondeterminism"):
        replay(module, find("task-whole"))


def find(name: str) -> Path:
    return next(path for path in list_histories() if path.stem.endswith(name))
