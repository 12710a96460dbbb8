"""Settings that override the repository's configuration, so that nothing in it is executed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from ostler.git.repository import Repository
from ostler.git.run.failure import classify_failure
from ostler.git.run.program import clean_environment, execute_git, settings_environment
from ostler.lazy import lazy_pattern
from ostler.process.tool import ToolResult

# Without quotes, escapes, comments, continued lines and sections with a dot, which have rules of their own.
_PLAIN_SECTION = lazy_pattern(rb'\[([A-Za-z0-9-]+)(?: "([A-Za-z0-9_./@+-]*)")?\]')
_PLAIN_VALUE = lazy_pattern(rb"[ \t]*([A-Za-z][A-Za-z0-9-]*) = ([A-Za-z0-9_./:@+*-]+)")
Entry = tuple[str, str]  # a setting's full name and its value

FIXED_SETTINGS = {
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
    "core.logAllRefUpdates": "true",  # push.py finds our earlier commits in the branch's reflog
    "core.safecrlf": "false",
    "core.fsync": "committed,reference",  # a commit in the journal must survive a power failure
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

# The value for each setting that names a program, by the last part of its name.
_SAFE_VALUES = {
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
_SAFE_SECTION_VALUES = {"alias": "version", "pager": "false"}


class SafeConfig(Struct, frozen=True):
    """The overrides for one repository."""

    settings: dict[str, str]
    required_filters: frozenset[str]  # filters that the repository requires for a commit


def read_safe_config(repository: Repository) -> SafeConfig:
    """Return the overrides for the repository's current configuration."""
    return _build_safe_config(read_config_entries(repository))


def read_config_entries(repository: Repository) -> tuple[Entry, ...]:
    """Return all entries of the repository's configuration; the last one of a name applies."""
    texts = [
        _read_config_file(file)
        for file in (repository.common_dir / "config", repository.git_dir / "config.worktree")
    ]
    if any(text is None or b"include" in text.lower() for text in texts):
        return _list_with_git(repository)  # included files may change without notice
    return tuple(entry for text in texts if text for entry in _parse_config_text(text))


def _read_config_file(file: Path) -> bytes | None:
    """Return the content of a configuration file, empty if it is missing; None if only git can read it."""
    if not os.path.lexists(file):
        return b""
    try:
        return file.read_bytes() if file.is_file() else None
    except OSError:
        return None


def _build_safe_config(entries: Iterable[Entry]) -> SafeConfig:
    all_entries = tuple(entries)
    overrides = {name: value for name, _ in all_entries if (value := _get_safe_value(name)) is not None}
    required = frozenset(_filter_name(name) for name, value in all_entries if _is_required(name, value))
    return SafeConfig({**FIXED_SETTINGS, **overrides}, required)


@lru_cache(maxsize=64)
def _parse_config_text(text: bytes) -> tuple[Entry, ...]:
    """Parse a configuration text; cached, as the same text has the same entries."""
    if (plain := parse_plain(text)) is not None:
        return plain
    args = ("config", "--file", "-", "--list", "-z")
    return _parse(args, execute_git(args, _environment(), Path("/"), stdin=text), Path("the repository"))


def parse_plain(text: bytes) -> tuple[Entry, ...] | None:
    """Parse a text with nothing but sections and plain values, as git writes it; None if only git can."""
    entries: list[Entry] = []
    section = ""
    for line in text.split(b"\n"):
        if found := _PLAIN_VALUE.fullmatch(line):
            if not section:
                return None
            entries.append((f"{section}.{found[1].decode().lower()}", found[2].decode()))
        elif found := _PLAIN_SECTION.fullmatch(line):
            below = f".{found[2].decode()}" if found[2] is not None else ""
            section = f"{found[1].decode().lower()}{below}"
        elif line.strip(b" \t"):
            return None
    return tuple(entries)


def _list_with_git(repository: Repository) -> tuple[Entry, ...]:
    args = ("config", "--list", "-z", "--includes")
    pinned = {"GIT_DIR": str(repository.git_dir), "GIT_COMMON_DIR": str(repository.common_dir)}
    return _parse(
        args, execute_git(args, _environment() | pinned, repository.common_dir), repository.work_tree
    )


def _environment() -> dict[str, str]:
    return clean_environment() | settings_environment({})


def _parse(args: tuple[str, ...], finished: ToolResult, path: Path) -> tuple[Entry, ...]:
    if finished.status != 0:
        raise classify_failure(args, finished.stderr, path)
    entries = os.fsdecode(finished.stdout).split("\0")[:-1]
    return tuple((name, value) for name, _, value in (entry.partition("\n") for entry in entries))


def _get_safe_value(name: str) -> str | None:
    section, _, rest = name.partition(".")
    if section in _SAFE_SECTION_VALUES:
        return _SAFE_SECTION_VALUES[section]
    return _SAFE_VALUES.get(rest.rpartition(".")[2])


def _is_required(name: str, value: str) -> bool:
    off = value.lower() in ("false", "no", "off", "0")
    return name.startswith("filter.") and name.endswith(".required") and not off


def _filter_name(name: str) -> str:
    return name.removeprefix("filter.").removesuffix(".required")
