"""The state file in a worktree, where an agent can put anything in its place."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ostler.engine.steps.agent_call.state_file import AgentState, read_agent_state
from ostler.prompt.report import StateFileReport


@pytest.mark.parametrize(
    "plant",
    [
        lambda folder, other: folder.symlink_to(other),
        lambda folder, other: folder.symlink_to("/nowhere"),
        lambda folder, other: folder.write_text("x"),
        lambda folder, other: os.mkfifo(folder),
        lambda folder, other: (folder / "state.yaml" / "deep").mkdir(parents=True),
        lambda folder, other: (folder / ".gitignore" / "deep").mkdir(parents=True),
        lambda folder, other: folder.mkdir() or (folder / "state.yaml").symlink_to(other / "state.yaml"),
    ],
    ids=["link", "dangling", "file", "pipe", "directory", "ignored", "linked file"],
)
def test_nothing_is_written_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plant: Callable[[Path, Path], object]
) -> None:
    """What an agent left in place of the folder is replaced, and a link is not followed."""
    monkeypatch.setattr(
        "ostler.engine.steps.agent_call.state_file.format_state_file", lambda state: "status: x\n"
    )
    other, tree = tmp_path / "other", tmp_path / "tree"
    other.mkdir()
    tree.mkdir()
    (other / "state.yaml").write_text("kept")
    plant(tree / ".ostler", other)
    written = AgentState(tree / ".ostler" / "state.yaml", None, None)  # pyright: ignore[reportArgumentType]
    written.write(None)  # pyright: ignore[reportArgumentType]
    assert written.text == "status: x\n"
    assert (tree / ".ostler" / "state.yaml").read_text() == "status: x\n"
    assert [one.name for one in other.iterdir()] == ["state.yaml"]
    assert (other / "state.yaml").read_text() == "kept"


def test_a_linked_folder_is_not_read(tmp_path: Path) -> None:
    """A state file behind a link is none of this task."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "state.yaml").write_text("status: completed\n")
    (tmp_path / ".ostler").symlink_to(tmp_path / "other")
    assert read_agent_state(tmp_path / ".ostler" / "state.yaml", "") == StateFileReport()
    assert read_agent_state(tmp_path / "other" / "state.yaml", "") != StateFileReport()
