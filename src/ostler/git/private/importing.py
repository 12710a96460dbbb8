"""Imports what an agent committed in its private git directory, as if it had used the worktree's own.

An agent without a sandbox moves the task's branch and HEAD of the worktree itself, and the next checkpoint
continues from both. Here the same refs are moved afterwards: the task's branch to the agent's commit, HEAD to
the agent's HEAD, and the index becomes a copy of the agent's. Other branches, tags and the stash of the agent
are kept below refs/ostler/agent; no ref of the user moves.

After a crash at any point, a second call completes it. A second call after the task's branch went on, which
is possible if a power cut lost the record, moves the branch only forward.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct
from msgspec.structs import replace

from ostler.errors import GitError
from ostler.files.failpoint import reach
from ostler.git.commit.heads import Heads, attach_head, find_merge_base, move_branch, read_heads
from ostler.git.identity import OSTLER
from ostler.git.private.agent_refs import AgentRefs, read_agent_refs
from ostler.git.private.lfs import import_large_files
from ostler.git.private.private_git import GIT, MODULES
from ostler.git.private.quarantine import (
    MAX_INDEX_BYTES,
    Quarantine,
    find_types,
    is_refusal,
    open_quarantine,
    take_objects,
)
from ostler.git.private.record import PrivateRecord, hash_index, read_record, write_record
from ostler.git.private.ref_names import HEADS, STASH, SYMBOLIC, TAGS, resolve_ref
from ostler.git.private.submodules import find_submodules
from ostler.git.private.untrusted import TooLarge, is_real_directory, read_untrusted
from ostler.git.private.user_refs import read_head
from ostler.git.repository import Worktree
from ostler.git.run.command import run_git
from ostler.git.run.failure import with_git_errors
from ostler.git.run.lock import clear_lock_file, hold_lock
from ostler.git.worktree.registration import require_worktree
from ostler.git.worktree.trash import empty_trash

_KEPT = "refs/ostler/agent"
_MAX_KEPT = 200
_MAX_REASON = 200
_GIT_PREFIX = re.compile(r"\b(?:fatal|error): ")
_REASON = "commits of the agent"


class Imported(Struct, frozen=True):
    """What was taken over."""

    commit: str = ""  # the agent's commit on the task's branch or HEAD; empty: it made none
    kept: dict[str, str] = {}  # other branches, tags and the stash, with the refs that keep them
    problem: str = ""  # why commits were not taken over; their files are in the worktree


class _Tips(Struct, frozen=True):
    """The commits that are new or moved since the last import."""

    branch: str = ""
    head: str = ""
    others: dict[str, str] = {}

    def all(self) -> list[str]:
        return [one for one in (self.branch, self.head, *self.others.values()) if one]

    def own(self) -> _Tips:
        return _Tips(self.branch, self.head)


def kept_agent_ref(task: str, ref: str) -> str:
    """Return the ref that keeps a branch, a tag or the stash of the agent of a task."""
    return f"{_KEPT}/{task}/{ref.removeprefix('refs/')}"


@with_git_errors
def import_commits(place: Path, worktree: Worktree) -> Imported:
    """Import the commits of an agent that no longer runs; without a private directory there are none."""
    if not is_real_directory(place / GIT):
        return Imported()
    empty_trash(place)
    require_worktree(worktree)
    imported = _import(place, worktree)
    problems = [imported.problem, *(_import_submodules(place, worktree))]
    return replace(imported, problem=next(filter(None, problems), ""))


def _import_submodules(place: Path, worktree: Worktree) -> list[str]:
    """Import the commits in submodules, and return the problems; HEAD of a submodule is usually detached."""
    problems: list[str] = []
    for name, one in find_submodules(worktree.repository).items():
        if is_real_directory(place / MODULES / name / GIT):
            branch = read_head(one).removeprefix(SYMBOLIC).removeprefix(HEADS)
            own = Worktree(one.work_tree, branch, "", one.work_tree, one)
            problems.append(_import(place / MODULES / name, own).problem)
            problems += _import_submodules(place / MODULES / name, own)
    return problems


def _import(place: Path, worktree: Worktree) -> Imported:
    with hold_lock(worktree.repository.git_dir):
        record = read_record(place)
        try:
            agent = read_agent_refs(place / GIT)
            tips = _find_tips(agent, record, worktree)
            index = hash_index(read_untrusted(place, f"{GIT}/index", MAX_INDEX_BYTES))
            if not tips.all() and index in ("", record.index):
                return Imported()
            import_large_files(place / GIT, worktree.repository)
            with open_quarantine(place, worktree.repository) as made:
                imported = _take(made, worktree, tips, agent, record)
                # Without a new index or commit the worktree's own fits, and can be newer.
                if index != record.index and (imported.commit or made.index.exists()):
                    _install_index(made, worktree)
                reach("import.index")
        except TooLarge as error:
            return Imported(problem=_describe_refusal(str(error)))
        write_record(place, _update_record(record, agent, index))
        return imported


def _update_record(record: PrivateRecord, agent: AgentRefs, index: str) -> PrivateRecord:
    of_user = record.refs.keys() - record.own.keys()
    own = {name: value for name, value in agent.refs.items() if name not in of_user}
    return PrivateRecord(record.refs | agent.refs, own, agent.head or record.head, index)


def _find_tips(agent: AgentRefs, record: PrivateRecord, worktree: Worktree) -> _Tips:
    moved = {name: value for name, value in agent.refs.items() if record.refs.get(name) != value}
    others = sorted(name for name in moved if name.startswith((HEADS, TAGS)) or name == STASH)
    head = agent.head_commit
    is_same = agent.head == record.head and head == resolve_ref(record.refs, record.head)
    return _Tips(
        moved.get(worktree.ref, ""),
        "" if is_same else head,
        {name: moved[name] for name in others[:_MAX_KEPT] if name != worktree.ref},
    )


def _take(
    made: Quarantine, worktree: Worktree, tips: _Tips, agent: AgentRefs, record: PrivateRecord
) -> Imported:
    """Take over the objects, then move the refs."""
    types = find_types(made, tips.all())
    sound = _Tips(
        _require_commit(tips.branch, types),
        _require_commit(tips.head, types),
        {name: value for name, value in tips.others.items() if _fits(name, types.get(value, ""))},
    )
    known = set(record.refs.values()) | {worktree.base}
    taken, has_index, problem = _take_objects(made, worktree, sound, known - {""})
    if taken is None:
        made.index.unlink(missing_ok=True)
        return Imported(problem=problem)
    reach("import.packed")
    _move_refs(worktree, taken, agent, record)
    kept = _keep_others(worktree, taken.others)
    reach("import.moved")
    if not has_index:
        made.index.unlink(missing_ok=True)
    lost = sorted({*tips.all()} - {*taken.all()})
    if lost and not problem:
        problem = _describe_refusal(f"{lost[0]} is not a commit")
    return Imported(taken.branch or taken.head, kept, problem)


def _describe_refusal(reason: str) -> str:
    """Return why commits were not taken over; only git's own words, without the paths of the quarantine."""
    words = _GIT_PREFIX.split(reason)[-1]
    shown = "".join(one if one.isprintable() else "?" for one in words)[:_MAX_REASON]
    return f"commits of the agent were refused, only its files are in the task's commit: {shown}"


def _require_commit(name: str, types: Mapping[str, str]) -> str:
    return name if types.get(name) == "commit" else ""


def _fits(ref: str, kind: str) -> bool:
    """Return whether git allows a ref to an object of this type."""
    return bool(kind) if ref.startswith(TAGS) else kind == "commit"


def _take_objects(
    made: Quarantine, worktree: Worktree, tips: _Tips, known: set[str]
) -> tuple[_Tips | None, bool, str]:
    """Take over as much as is sound: all, all without the index, or only the task's commits.

    Returns the tips, whether the index is usable, and why others were not taken over.
    """
    problem = ""
    has_index = made.index.exists()
    for wanted, with_index in ((tips, has_index), (tips, False), (tips.own(), False)):
        try:
            take_objects(made, worktree.repository, wanted.all(), known, with_index=with_index)
        except GitError as error:
            if not is_refusal(error):
                raise
            problem = _describe_refusal(error.message)
            continue
        return wanted, with_index, "" if wanted is tips else problem
    return None, False, problem


def _move_refs(worktree: Worktree, tips: _Tips, agent: AgentRefs, record: PrivateRecord) -> None:
    heads = read_heads(worktree)
    is_moved = not tips.branch or _may_move(worktree, heads, tips.branch, record)
    if tips.branch and is_moved and heads.tip != tips.branch:
        move_branch(worktree, heads, tips.branch, OSTLER, reason=_REASON)
    reach("import.branch")
    is_on_branch = agent.head == f"{SYMBOLIC}{worktree.ref}" and is_moved
    if is_on_branch and tips.branch and not heads.attached:
        attach_head(worktree)
    elif not is_on_branch and tips.head:
        # The checkpoint continues from the branch and from HEAD, so that no commit is lost.
        message = ("-m", f"ostler: {_REASON}")
        run_git(worktree.repository, "update-ref", "--no-deref", *message, "HEAD", tips.head)


def _may_move(worktree: Worktree, heads: Heads, tip: str, record: PrivateRecord) -> bool:
    """Return whether the branch can be set to the agent's commit: no one else moved it meanwhile."""
    if not heads.branch_exists or heads.tip in (tip, record.refs.get(worktree.ref)):
        return True
    return find_merge_base(worktree, heads.tip, tip) == heads.tip


def _keep_others(worktree: Worktree, others: Mapping[str, str]) -> dict[str, str]:
    """Set a ref for each other branch, tag or stash; return the new names."""
    task = worktree.path.name
    refs = {name: kept_agent_ref(task, name) for name in others}
    lines = "".join(f"update {refs[name]} {value}\n" for name, value in others.items())
    args = ("update-ref", "--no-deref", "--stdin")
    if others and run_git(worktree.repository, *args, stdin=lines.encode(), accept=(0, 1, 128)).status:
        # An earlier branch has the name of a directory of this one: the commits themselves are kept.
        refs = {name: f"{_KEPT}/{task}/commits/{value}" for name, value in others.items()}
        lines = "".join(f"update {refs[name]} {value}\n" for name, value in others.items())
        run_git(worktree.repository, *args, stdin=lines.encode())
    return refs


def _install_index(made: Quarantine, worktree: Worktree) -> None:
    """Replace the worktree's index by the agent's; without one, the next checkpoint builds it."""
    git_dir = worktree.repository.git_dir
    if not made.index.exists():
        (git_dir / "index").unlink(missing_ok=True)
        return
    clear_lock_file(git_dir / "index.lock", worktree.repository)
    with TemporaryDirectory(prefix="ostler-", dir=git_dir) as directory:
        copy = Path(directory, "index")
        shutil.copy2(made.index, copy)
        copy.replace(git_dir / "index")
