"""What [workspace] puts into each worktree and each checkout of a gate, besides the commit."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from ostler.config.settings import WorkspaceSettings
from ostler.engine.steps.shell import Shell, run_shell, went_wrong
from ostler.engine.steps.tools import Case, Tools, to_its_end
from ostler.errors import Code, OstlerError
from ostler.files.atomic import make_private_dir, write_projection
from ostler.files.placing import plan_copies, plan_links, put
from ostler.git.command import as_stdin
from ostler.git.exclude import list_untracked, write_exclude
from ostler.git.repository import Repository
from ostler.git.trash import erase

_OURS = (".git", ".ostler")


class Room(Struct, frozen=True):
    """A checkout that is to be prepared."""

    repository: Repository
    directory: Path  # the project's own in it
    log: Path  # what the setup prints
    notes: Path | None = None  # where it is written down what was put there; None: nobody asks again
    untouched: bool = True  # no agent has worked in it


async def furnish(room: Room, case: Case, tools: Tools) -> None:
    """Copy, link and set up, so that nothing of it is ever taken for the agent's work."""
    settings = tools.settings.workspace
    placed = await to_its_end(_fill, room, settings, tools.layout.root)
    if not settings.setup:
        return
    before = () if room.untouched else await to_its_end(list_untracked, room.repository)
    shell = Shell(settings.setup, room.directory, room.log, settings.timeout_seconds)
    ended = await run_shell(shell, case, tools)
    if ended.status != 0 or ended.stopped:
        message = f"workspace.setup failed: {went_wrong(shell, ended)}; its output is in {shell.log}"
        raise OstlerError(Code.WORKSPACE_WRITE_FAILED, message, "mend [workspace] setup, then: ostler retry")
    await to_its_end(_pass_over_what_is_new, room, before, placed)


def _fill(room: Room, settings: WorkspaceSettings, root: Path) -> list[str]:
    _check(settings)
    placements = plan_copies(root, room.directory, settings.copy)
    placements += plan_links(root, room.directory, settings.link)
    prefix = f"{room.repository.prefix}/" if room.repository.prefix else ""
    placed = [prefix + one.path for one in placements]
    _pass_over(room, placed, [])  # first, for the case of a kill
    staging = room.repository.work_tree.parent / f".filling-{room.repository.work_tree.name}"
    erase(staging, staging.parent)
    if placements:
        make_private_dir(staging)
        put(placements, room.directory, staging)
        erase(staging, staging.parent)
    return placed


def _check(settings: WorkspaceSettings) -> None:
    for name in (*settings.copy, *settings.link):
        if name.removeprefix("./").split("/")[0] in _OURS:
            message = f"[workspace] must not put {name} into a workspace, which has one of its own"
            raise OstlerError(Code.CONFIG_INVALID, message, "take it out of [workspace] in ostler.toml")


def _pass_over_what_is_new(room: Room, before: tuple[str, ...], placed: list[str]) -> None:
    made = set(list_untracked(room.repository)) - set(before)
    if made:
        _pass_over(room, placed, sorted(made))


def _pass_over(room: Room, placed: list[str], made: list[str]) -> None:
    """Let the paths not be committed, nor those of earlier times."""
    all_placed, all_made = _note(room.notes, "placed", placed), _note(room.notes, "made", made)
    write_exclude(room.repository, all_placed, all_made)


def _note(notes: Path | None, kind: str, paths: list[str]) -> tuple[str, ...]:
    """These paths with those that were noted before."""
    if notes is None:
        return tuple(paths)
    make_private_dir(notes)
    known = os.fsdecode((notes / kind).read_bytes()).split("\0")[:-1] if (notes / kind).is_file() else []
    all_of_them = tuple(dict.fromkeys((*known, *paths)))
    write_projection(notes / kind, as_stdin(all_of_them))
    return all_of_them
