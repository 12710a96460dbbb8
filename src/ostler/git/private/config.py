"""The configuration of a task's git directory: settings of the user's repository that run no program."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from fnmatch import fnmatchcase

from ostler.git.identity import Identity
from ostler.git.private.remotes import Remotes, find_remotes
from ostler.git.run.program import search_path
from ostler.git.run.safe_config import Entry

_COPIED = (
    *("core.filemode", "core.ignorecase", "core.symlinks", "core.precomposeunicode", "core.protect*"),
    *("core.autocrlf", "core.eol", "core.safecrlf", "core.whitespace", "core.quotepath", "core.abbrev"),
    *("core.sparsecheckout", "core.sparsecheckoutcone", "core.bigfilethreshold", "core.compression"),
    *("core.checkstat", "core.trustctime", "core.commentchar", "core.preloadindex", "index.version"),
    *("i18n.*", "diff.algorithm", "diff.renames", "diff.renamelimit", "diff.noprefix", "diff.context"),
    *("merge.conflictstyle", "merge.renames", "merge.renamelimit", "merge.ff", "merge.*.name"),
    *("rerere.enabled", "rerere.autoupdate", "pull.rebase", "pull.ff", "rebase.autosquash"),
    *("rebase.autostash", "commit.cleanup", "commit.verbose", "status.*", "log.date", "log.decorate"),
    *("column.*", "branch.*.remote", "branch.*.merge", "branch.*.rebase", "branch.autosetup*"),
    *("submodule.*.url", "submodule.*.active", "submodule.*.branch", "lfs.url", "fetch.prune"),
    *("extensions.objectformat", "extensions.partialclone"),
)
_EMPTY_IS_TRUE = ("core.sparsecheckout", "core.sparsecheckoutcone", "core.filemode", "core.ignorecase")
# Git flushes no objects that it writes one by one. After a power cut they are empty, and git writes no object
# again of which it has a file: the next commit with the same content cannot be read.
FLUSHED_OBJECTS = (("core.fsync", "committed,reference"), ("core.fsyncmethod", "batch"))
_ALWAYS = (
    *FLUSHED_OBJECTS,
    ("core.repositoryformatversion", "1"),
    ("core.bare", "false"),
    ("core.logallrefupdates", "true"),
    ("core.splitindex", "false"),  # the index is imported as one file
    ("core.fsmonitor", "false"),
    ("gc.autodetach", "false"),  # nothing runs on after its git command
    ("maintenance.auto", "false"),
    ("push.default", "current"),  # so that a push without arguments is refused with the same sentence
    ("advice.detachedhead", "false"),
)
_LFS = (
    ("filter.lfs.clean", "git-lfs clean -- %f"),
    ("filter.lfs.smudge", "git-lfs smudge --skip -- %f"),
    ("filter.lfs.required", "true"),
)


def build_config(entries: Iterable[Entry], identity: Identity, ssh_program: str) -> bytes:
    """Return the text of the configuration; no remote of it can be pushed to."""
    listed = tuple(entries)
    own = (*_ALWAYS, ("user.name", identity.name), ("user.email", identity.email))
    remotes = find_remotes(listed)
    guards = (*remotes.guarded_settings(), ("core.sshcommand", ssh_program))
    lfs = _LFS if shutil.which("git-lfs", path=search_path()) else ()
    return format_config((*_copy_settings(listed, remotes), *lfs, *own, *guards))


def format_config(entries: Iterable[Entry]) -> bytes:
    """Return entries as a configuration file, in their order."""
    lines: list[str] = []
    for name, value in entries:
        section, _, rest = name.partition(".")
        subsection, _, key = rest.rpartition(".")
        header = f"[{section} {quote_value(subsection)}]" if subsection else f"[{section}]"
        lines.append(f"{header}\n\t{key} = {quote_value(value)}\n")
    return "".join(lines).encode("utf-8", "surrogateescape")


def quote_value(value: str) -> str:
    """Return a value or the name of a subsection in quotes."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


def read_object_format(entries: Iterable[Entry]) -> str:
    """Return the hash function of the objects: sha1 or sha256."""
    return dict(entries).get("extensions.objectformat", "sha1").lower()


def is_partial_clone(entries: Iterable[Entry]) -> bool:
    """Return whether objects may be missing, because a remote has them."""
    return any(
        name == "extensions.partialclone" or (name.startswith("remote.") and name.endswith(".promisor"))
        for name, _ in entries
    )


def _copy_settings(entries: tuple[Entry, ...], remotes: Remotes) -> list[Entry]:
    copied = [(name, _fill(name, value)) for name, value in entries if _is_copied(name)]
    return [(name, value) for name, value in copied if value and _is_one_line(name)] + list(remotes.settings)


def _is_copied(name: str) -> bool:
    # A subsection can contain dots and any text: only its first and last part decide.
    return any(fnmatchcase(name.lower(), pattern) for pattern in _COPIED)


def _fill(name: str, value: str) -> str:
    return "true" if not value and name in _EMPTY_IS_TRUE else value


def _is_one_line(name: str) -> bool:
    return "\n" not in name
