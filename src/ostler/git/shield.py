"""Settings that win over the repository's own, so that nothing configured there is ever run."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from ostler.git.failure import explain
from ostler.git.program import clean_environment, execute, settings_environment
from ostler.git.repository import Repository
from ostler.process.tool import Finished

Entry = tuple[str, str]  # a setting's full name and its value

FIXED = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    "core.splitIndex": "false",
    "core.attributesFile": "/dev/null",
    "core.pager": "cat",
    "core.editor": "true",
    "sequence.editor": "true",
    "core.askPass": "true",
    "core.sshCommand": "false",
    "core.gitProxy": "",
    "core.alternateRefsCommand": "true",
    "core.logAllRefUpdates": "true",  # push.py knows our own older commits by the branch's log
    "core.safecrlf": "false",
    "core.fsync": "committed,reference",  # a commit in the journal must not vanish in a power cut
    "core.fsyncMethod": "batch",
    "diff.external": "",
    "diff.ignoreSubmodules": "all",
    "diff.submodule": "short",
    "status.submoduleSummary": "false",
    "interactive.diffFilter": "cat",
    "log.showSignature": "false",
    "commit.gpgSign": "false",
    "tag.gpgSign": "false",
    "gpg.program": "false",
    "gpg.ssh.defaultKeyCommand": "false",
    "i18n.commitEncoding": "UTF-8",
    "i18n.logOutputEncoding": "UTF-8",
    "protocol.ext.allow": "never",
    "safe.bareRepository": "explicit",
    "credential.helper": "",
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "uploadpack.packObjectsHook": "",
    "advice.detachedHead": "false",
}

# What to say instead of each setting that names a program, by the last word of its name.
_HARMLESS = {
    "clean": "",
    "smudge": "",
    "process": "",
    "required": "false",
    "textconv": "cat",
    "command": "false",
    "cmd": "false",
    "driver": "false",
    "helper": "",
    "program": "false",
    "defaultkeycommand": "false",
    "uploadpack": "false",
    "receivepack": "false",
    "vcs": "",
    "update": "none",
    "packobjectshook": "",
}
_HARMLESS_SECTIONS = {"alias": "version", "pager": "false"}


class Shield(Struct, frozen=True):
    """What is laid over one repository's configuration."""

    settings: dict[str, str]
    required_filters: frozenset[str]  # filters without which the repository wants nothing committed


def shield(repository: Repository) -> Shield:
    """The settings for this repository as its configuration is now."""
    return _shield(entries_of(repository))


def entries_of(repository: Repository) -> tuple[Entry, ...]:
    """All that the repository's own configuration says now; of the same name, the last one counts."""
    texts = [
        _text(file) for file in (repository.common_dir / "config", repository.git_dir / "config.worktree")
    ]
    if any(text is None or b"include" in text.lower() for text in texts):
        return _list(repository)  # other files take part, and they may change unseen
    return tuple(entry for text in texts if text for entry in _entries_of(text))


def _text(file: Path) -> bytes | None:
    """A configuration file's bytes, empty when it is missing; None when only git can tell."""
    if not os.path.lexists(file):
        return b""
    try:
        return file.read_bytes() if file.is_file() else None
    except OSError:
        return None


def _shield(entries: Iterable[Entry]) -> Shield:
    known = tuple(entries)
    harmless = {name: value for name, _ in known if (value := _instead_of(name)) is not None}
    required = frozenset(_filter_name(name) for name, value in known if _is_required(name, value))
    return Shield({**FIXED, **harmless}, required)


@lru_cache(maxsize=64)
def _entries_of(text: bytes) -> tuple[Entry, ...]:
    """The same text has the same entries, so git is asked once."""
    args = ("config", "--file", "-", "--list", "-z")
    return _parse(args, execute(args, _environment(), Path("/"), stdin=text), Path("the repository"))


def _list(repository: Repository) -> tuple[Entry, ...]:
    args = ("config", "--list", "-z", "--includes")
    pinned = {"GIT_DIR": str(repository.git_dir), "GIT_COMMON_DIR": str(repository.common_dir)}
    return _parse(args, execute(args, _environment() | pinned, repository.common_dir), repository.work_tree)


def _environment() -> dict[str, str]:
    return clean_environment() | settings_environment({})


def _parse(args: tuple[str, ...], finished: Finished, place: Path) -> tuple[Entry, ...]:
    if finished.status != 0:
        raise explain(args, finished.stderr, place)
    entries = os.fsdecode(finished.stdout).split("\0")[:-1]
    return tuple((name, value) for name, _, value in (entry.partition("\n") for entry in entries))


def _instead_of(name: str) -> str | None:
    section, _, rest = name.partition(".")
    if section in _HARMLESS_SECTIONS:
        return _HARMLESS_SECTIONS[section]
    return _HARMLESS.get(rest.rpartition(".")[2])


def _is_required(name: str, value: str) -> bool:
    off = value.lower() in ("false", "no", "off", "0")
    return name.startswith("filter.") and name.endswith(".required") and not off


def _filter_name(name: str) -> str:
    return name.removeprefix("filter.").removesuffix(".required")
