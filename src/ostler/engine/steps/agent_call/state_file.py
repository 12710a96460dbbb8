"""The state file in the agent's workspace, read again after the call (C85)."""

from __future__ import annotations

import shutil
from pathlib import Path

from ostler.engine.steps.services import StepServices, TaskContext
from ostler.engine.steps.workspaces.worktree import find_worktree
from ostler.engine.task_files import AGENT_STATE, format_state_file
from ostler.files.atomic import make_private_dir, write_projection
from ostler.prompt.report import StateFileReport, parse_state_file

_FOLDER, _FILE = AGENT_STATE.split("/")
_IGNORED = ".gitignore"
_LARGEST_BYTES = 1 << 18


def agent_state_path(context: TaskContext, services: StepServices) -> Path:
    """Return its path: in the worktree, or in the directory for agents if there is none."""
    worktree = find_worktree(context.state, services)
    if worktree is None:
        return services.layout.desk(context.state.task) / "agent-state.yaml"
    return worktree.path / _FOLDER / _FILE


def write_agent_state(path: Path, context: TaskContext) -> str:
    """Write the file and return its text; later changes are the agent's."""
    if path.parent.is_symlink():  # an agent has replaced the directory
        path.parent.unlink()
    if path.parent.name == _FOLDER:
        _remake_folder(path.parent)
        write_projection(path.parent / _IGNORED, b"*\n")
    else:
        make_private_dir(path.parent)
    text = format_state_file(context.state)
    write_projection(path, text.encode())
    return text


def _remake_folder(folder: Path) -> None:
    """Create the folder; what an agent put in its place, such as a link to another directory, is removed."""
    if folder.is_symlink() or not folder.is_dir():
        folder.unlink(missing_ok=True)
    folder.mkdir(exist_ok=True)
    for name in (_IGNORED, _FILE):
        place = folder / name
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)


def read_agent_state(path: Path, written: str) -> StateFileReport:
    """Return the status that the agent wrote; nothing if the file is missing or unchanged."""
    try:
        if path.is_symlink() or path.parent.is_symlink() or not path.is_file():
            return StateFileReport()
        with path.open("rb") as file:
            text = file.read(_LARGEST_BYTES).decode("utf-8", "replace")
    except OSError as error:
        return StateFileReport(warning=f"the agent's state file cannot be read: {error.strerror}")
    return StateFileReport() if text == written else parse_state_file(text)
