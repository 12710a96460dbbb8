"""PrepareWorkspace: the worktree, with what [workspace] puts into it once."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
from msgspec.structs import replace

from ostler.config.settings import WorkspaceSettings
from ostler.engine.steps.busy import busy
from ostler.engine.steps.furnish import Room, furnish
from ostler.engine.steps.keep import put_back, take_target_in
from ostler.engine.steps.tools import Case, Tools, to_its_end
from ostler.engine.steps.workspace import prepare, worktree_of
from ostler.files.atomic import flush_disk, write_projection
from ostler.git.index import count_files
from ostler.git.repository import Worktree
from ostler.model.event import TaskStarted
from ostler.model.state import State

_DONE = "ostler-prepared"  # beside what git keeps of the worktree: gone with it, and out of the tree
_NOTES = "workspace"
_LOG = "workspace.log"


async def prepare_workspace(case: Case, tools: Tools) -> TaskStarted:
    """Make the workspace, or make sure that it is as it was left; what [workspace] wants is done once."""
    files = count_files(tools.repository) if tools.repository and case.state.base is None else 0
    with busy("makes the worktree" if files else "makes the workspace", case, tools, files=files):
        started = await to_its_end(_make_or_find, case.state, tools)
    state = replace(case.state, worktree=started.worktree, branch=started.branch, base=started.base)
    worktree = worktree_of(state, tools)
    if worktree is not None:
        await _make_ready(worktree, case, tools)
    return started


def _make_or_find(state: State, tools: Tools) -> TaskStarted:
    started = prepare(state, tools)
    if state.reset_to is not None:
        put_back(state, started, tools)
    return started if state.onto is None else take_target_in(state, started, state.onto, tools)


async def _make_ready(worktree: Worktree, case: Case, tools: Tools) -> None:
    settings = tools.settings.workspace
    if settings == WorkspaceSettings(timeout_seconds=settings.timeout_seconds):
        return
    done, wanted = worktree.repository.git_dir / _DONE, _fingerprint(settings)
    if _read(done) == wanted:
        return
    home = tools.layout.task(case.state.task)
    untouched = not tools.journal.attempts(case.state.task)
    room = Room(worktree.repository, worktree.cwd, home / _LOG, home / _NOTES, untouched)
    await furnish(room, case, tools)
    await to_its_end(
        flush_disk, tools.layout.worktrees
    )  # a power cut must not leave it done with empty files
    write_projection(done, wanted)


def _fingerprint(settings: WorkspaceSettings) -> bytes:
    return hashlib.sha256(msgspec.json.encode(settings)).hexdigest().encode()


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return b""
