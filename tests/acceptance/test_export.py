"""ostler export: the record of a task for others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from world import World

KEY = "sk-ant-" + "api03-" + "A1b2C3d4" * 12


@pytest.fixture
def reported(world: World) -> tuple[World, str]:
    """A completed task whose agent printed a key."""
    world.behave(text=f"The key is {KEY}. <phase_complete>true</phase_complete>")
    task = world.new("Add a <greeting>", "-d", f"Use {KEY}")
    world.ostler("run", task)
    return world, task


def lines(world: World, task: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in world.ostler("export", task).stdout.splitlines()]


def test_everything_is_exported_once_and_the_last_line_counts_it(reported: tuple[World, str]) -> None:
    """The head is versioned; events are those of the feed, and the last line counts them all."""
    world, task = reported
    found = lines(world, task)
    assert found[0]["schema"] == "ostler.export/1" and found[0]["task"]["id"] == task
    assert found[-1] == {"kind": "end", "lines": len(found)}
    events = [line["event"]["seq"] for line in found if line["kind"] == "event"]
    assert events == [event["seq"] for event in world.events(task)]
    log = [line["entry"]["type"] for line in found if line["kind"] == "log"]
    assert log[0] == "attempt_began" and log[-1] == "attempt_ended" and "tool_used" in log
    (prompt,) = [line for line in found if line["kind"] == "prompt"]
    assert "Add a <greeting>" in prompt["text"]
    assert any("fake-agent.txt" in line["patch"] for line in found if line["kind"] == "diff")


@pytest.mark.parametrize("kind", ["ndjson", "atif", "html"])
def test_no_key_and_no_place_of_this_machine_leaves_it(kind: str, reported: tuple[World, str]) -> None:
    """In any format: in the task, the prompt, the log and the events."""
    world, task = reported
    text = world.ostler("export", task, "--format", kind).stdout
    assert KEY not in text and str(world.root) not in text
    assert "[redacted:" in text


def test_a_trajectory_is_one_document_in_a_file(reported: tuple[World, str], tmp_path: Path) -> None:
    """-o writes it completely; the prompt and the agent's texts are its steps."""
    world, task = reported
    world.ostler("export", task, "--format", "atif", "-o", str(tmp_path / "t.json"))
    found = json.loads((tmp_path / "t.json").read_text())
    assert found["schema_version"] == "ATIF-v1.4" and found["session_id"] == task
    assert {step["source"] for step in found["steps"]} == {"user", "agent", "system"}


def test_the_page_contains_all_that_it_needs(reported: tuple[World, str]) -> None:
    """It has no address of a server, and no text of the task as markup."""
    world, task = reported
    page = world.ostler("export", task, "--format", "html").stdout
    assert "src=" not in page and "<link" not in page and "http://127" not in page
    assert "<greeting>" not in page and "Add a &lt;greeting&gt;" in page


def test_a_task_that_was_never_run_can_be_exported(world: World) -> None:
    """The export has fewer parts."""
    task = world.new()
    assert [line["kind"] for line in lines(world, task)] == ["task", "request", "event", "end"]
    assert world.ostler("export", "nobody", code=2).stderr.startswith("ostler: no task nobody")
