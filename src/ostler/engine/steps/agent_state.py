"""The agent's own state file: a copy in its workspace, read back when it has ended (C85)."""

from __future__ import annotations

from pathlib import Path

from ostler.engine.projection import state_yaml
from ostler.engine.steps.tools import Case, Tools
from ostler.engine.steps.workspace import worktree_of
from ostler.files.atomic import write_projection
from ostler.prompt.report import Reading, read_state_word

_FOLDER, _FILE = ".ostler", "state.yaml"
_LARGEST_BYTES = 1 << 18


def state_file(case: Case, tools: Tools) -> Path:
    """Where the agent finds it: in its worktree, or beside the task's papers where there is none."""
    worktree = worktree_of(case.state, tools)
    if worktree is None:
        return tools.layout.task(case.state.task) / "agent-state.yaml"
    return worktree.path / _FOLDER / _FILE


def hand_out(path: Path, case: Case) -> str:
    """Write it anew, so that any word found in it later is the agent's; its text."""
    if path.parent.name == _FOLDER:
        path.parent.mkdir(exist_ok=True)
        write_projection(path.parent / ".gitignore", b"*\n")
    text = state_yaml(case.state)
    write_projection(path, text.encode())
    return text


def take_back(path: Path, handed: str) -> Reading:
    """What the agent wrote into it; one that is gone, or as it was handed out, says nothing."""
    try:
        if path.is_symlink() or not path.is_file():
            return Reading()
        with path.open("rb") as file:
            text = file.read(_LARGEST_BYTES).decode("utf-8", "replace")
    except OSError as error:
        return Reading(warning=f"the agent's state file cannot be read: {error.strerror}")
    return Reading() if text == handed else read_state_word(text)
