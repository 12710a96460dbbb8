"""The state file in the agent's workspace, read again after the call (C85)."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from msgspec.structs import replace

from ostler.engine.steps.services import StepServices, TaskContext
from ostler.engine.steps.workspaces.worktree import find_worktree
from ostler.engine.task_files import AGENT_STATE, format_state_file, write_state_file
from ostler.files.atomic import make_private_dir, write_projection
from ostler.model.state import State
from ostler.prompt.report import StateFileReport, parse_state_file
from ostler.text import describe_os_error

_FOLDER, _FILE = AGENT_STATE.split("/")
_IGNORED = ".gitignore"
_LARGEST_BYTES = 1 << 18


def agent_state_path(context: TaskContext, services: StepServices) -> Path:
    """Return its path: in the worktree, or in the directory for agents if there is none."""
    worktree = find_worktree(context.state, services)
    if worktree is None:
        return services.layout.desk(context.state.task) / "agent-state.yaml"
    return worktree.path / _FOLDER / _FILE


class AgentState:
    """The copy of state.yaml that an agent may change."""

    def __init__(self, path: Path, context: TaskContext, services: StepServices) -> None:
        self.text = ""  # as written; another text is the agent's
        self.began_ns: int | None = None  # when it was first written, by the clock of the worktree's files
        self._path = path
        self._context = context
        self._services = services

    def write(self, state: State) -> None:
        path = self._path
        if path.parent.is_symlink():  # an agent has replaced the directory
            path.parent.unlink()
        if path.parent.name == _FOLDER:
            _remake_folder(path.parent)
            _write_unless_equal(path.parent / _IGNORED, b"*\n")
        else:
            make_private_dir(path.parent)
        self.text = format_state_file(state)
        write_projection(path, self.text.encode())
        self.began_ns = self.began_ns or path.lstat().st_ctime_ns

    def note_session(self, session_id: str) -> None:
        """Add the agent's session to state.yaml, and to the copy unless the agent has changed it."""
        if session_id == self._context.state.session_id:
            return  # both have it
        state = replace(self._context.state, session_id=session_id)
        write_state_file(state, self._services.layout)
        if _read(self._path) == self.text:
            self.write(state)


def _remake_folder(folder: Path) -> None:
    """Create the folder; what an agent put in its place, such as a link to another directory, is removed."""
    if folder.is_symlink() or not folder.is_dir():
        folder.unlink(missing_ok=True)
    folder.mkdir(exist_ok=True)
    for name in (_IGNORED, _FILE):
        place = folder / name
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)


def _write_unless_equal(path: Path, data: bytes) -> None:
    """Write a small file that every call needs, unless it is there already."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        pass  # missing, or an agent has put something else in its place
    else:
        with os.fdopen(descriptor, "rb") as file:
            if file.read(len(data) + 1) == data:
                return
    write_projection(path, data)


def read_agent_state(path: Path, written: str) -> StateFileReport:
    """Return the status that the agent wrote; nothing if the file is missing or unchanged."""
    try:
        text = _read(path)
    except OSError as error:
        return StateFileReport(warning=f"the agent's state file cannot be read: {describe_os_error(error)}")
    return StateFileReport() if text in (None, written) else parse_state_file(text)


def _read(path: Path) -> str | None:
    """Return the text of the file; None if an agent has removed it or put something else in its place."""
    if path.is_symlink() or path.parent.is_symlink() or not path.is_file():
        return None
    with path.open("rb") as file:
        return file.read(_LARGEST_BYTES).decode("utf-8", "replace")
