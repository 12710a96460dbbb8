"""What decides which bytes a file of a commit has when it is checked out."""

from __future__ import annotations

import hashlib

from ostler.git.command import run
from ostler.git.repository import Repository
from ostler.git.shield import entries_of

_CONVERTING = ("core.", "filter.", "extensions.")
_ORDINARY = {
    "core.repositoryformatversion": "0",
    "core.filemode": "true",
    "core.bare": "false",
    "core.logallrefupdates": "true",
}
_PARTIAL = ("core.sparsecheckout", "extensions.worktreeconfig", "index.sparse")


def rules_of(repository: Repository) -> str | None:
    """What decides how files are written, in short; None where a tree is not the whole commit."""
    entries = dict(entries_of(repository))
    if any(name in entries for name in _PARTIAL):
        return None
    unusual = {name: text for name, text in entries.items() if name.startswith(_CONVERTING)}
    unusual = {name: text for name, text in unusual.items() if _ORDINARY.get(name) != text}
    own = repository.common_dir / "info" / "attributes"
    attributes = own.read_text("utf-8", "surrogateescape") if own.is_file() else ""
    if not unusual and not attributes:
        return ""
    return hashlib.sha256(repr((sorted(unusual.items()), attributes)).encode("utf-8", "replace")).hexdigest()


def have_same_attributes(repository: Repository, one: str, other: str) -> bool:
    """Whether two commits say the same of how their files are written; no, where that cannot be told."""
    args = ("diff-tree", "-r", "-z", "--name-only", one, other, "--", ":(glob)**/.gitattributes")
    answer = run(repository, *args, accept=(0, 1, 128))
    return answer.status == 0 and not answer.stdout
