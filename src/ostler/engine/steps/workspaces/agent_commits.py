"""Takes over the commits that an agent made in the private git directory of its sandbox."""

from __future__ import annotations

from ostler.engine.steps.services import StepServices
from ostler.engine.steps.workspaces.worktree import find_worktree
from ostler.errors import WarningCode
from ostler.git.private.importing import Imported, import_commits
from ostler.git.private.private_git import GIT
from ostler.git.private.ref_names import HEADS, TAGS
from ostler.model.state import State
from ostler.model.warning import WarningDetail

_SHOWN = 5


def take_agent_commits(state: State, services: StepServices) -> tuple[WarningDetail, ...]:
    """Import what an agent committed in its sandbox; return what is not on the task's branch."""
    worktree = find_worktree(state, services)
    if worktree is None or not worktree.path.exists():
        return ()
    return describe_import(import_commits(services.layout.sandbox(state.task) / GIT, worktree))


def describe_import(imported: Imported) -> tuple[WarningDetail, ...]:
    """Return other branches, tags and the stash of the agent, and refused commits, as warnings."""
    lines = [f"{_name(ref)} of the agent is kept as {kept}" for ref, kept in imported.kept.items()]
    more = len(lines) - _SHOWN
    shown = [*lines[:_SHOWN], f"{more} more refs of the agent are kept"] if more > 0 else lines
    details = [WarningDetail(WarningCode.BRANCH_MOVED, line) for line in shown]
    if imported.problem:
        details.append(WarningDetail(WarningCode.REPOSITORY_CHANGED, imported.problem))
    return tuple(details)


def _name(ref: str) -> str:
    for root, kind in ((HEADS, "the branch"), (TAGS, "the tag")):
        if ref.startswith(root):
            return f"{kind} {ref.removeprefix(root)}"
    return "the stash"
