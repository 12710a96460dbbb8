"""Which tools claude may use in a project: .claude/settings.json and settings.local.json, as its flags (C23).

The files are read in the project's own checkout, never in the worktree that an agent writes to: no agent
widens what it may do next time. Where an agent works in the checkout itself, only `deny` is taken. Nothing
but the two lists is read; hooks, env and modes of these files are none of ours.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
from msgspec import Struct

from ostler.files.layout import Layout
from ostler.model.call import AgentCall

SOURCES = {"project": "settings.json", "local": "settings.local.json"}  # as --setting-sources calls them
FLAGS = ("--allowedTools", "--disallowedTools", "--setting-sources")

_SPELLINGS = {"--allowedTools": "--allowed-tools", "--disallowedTools": "--disallowed-tools"}
_RULE = re.compile(r"[A-Za-z][\w.*-]*(\([^\x00-\x1f\x7f]*\))?")
_LARGEST = 1 << 20


class _Permissions(Struct, frozen=True):
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class _File(Struct, frozen=True):
    permissions: _Permissions = _Permissions()


class Rules(Struct, frozen=True):
    """What a project's files say, and what is wrong with them."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    sources: tuple[str, ...] | None = None  # the files that claude itself may read; None: all of them
    problems: tuple[str, ...] = ()

    def flags(self, args: tuple[str, ...]) -> tuple[str, ...]:
        """One flag for each rule, except for those that the executor's own args have."""
        wanted = {"--allowedTools": self.allow, "--disallowedTools": self.deny}
        if self.sources is not None:
            wanted["--setting-sources"] = (",".join(self.sources),)
        free = {flag: values for flag, values in wanted.items() if not _configured(flag, args)}
        return tuple(f"{flag}={value}" for flag, values in free.items() for value in values)

    def warnings(self, args: tuple[str, ...]) -> tuple[str, ...]:
        """What a person should know: mistakes in the files, and what claude is kept from reading."""
        if self.sources is None or _configured("--setting-sources", args):
            return self.problems
        unread = [name for name in SOURCES if name not in self.sources]
        return (*self.problems, *(_kept_from(name) for name in unread))


def read_rules(call: AgentCall) -> Rules:
    """The rules for this call; a file that is broken is a problem to tell, and counts as absent."""
    work = Path(call.cwd)
    project = Path(call.env.get("OSTLER_PROJECT") or work)
    own = [_read(project / ".claude" / name) for name in SOURCES.values()]
    in_place = "OSTLER_PROJECT" in call.env and _is_in_checkout(work, project)
    allow = () if in_place else tuple(rule for rules in own for rule in rules.allow)
    return Rules(
        allow=tuple(dict.fromkeys(allow)),
        deny=tuple(dict.fromkeys(rule for rules in own for rule in rules.deny)),
        sources=None if in_place else _sources(project, work),
        problems=tuple(problem for rules in own for problem in rules.problems),
    )


def _kept_from(source: str) -> str:
    also = ", and without the project's CLAUDE.md" if source == "project" else ""
    file = f".claude/{SOURCES[source]}"
    return f"{file} in the worktree is unlike the one in the checkout: claude works without it{also}"


def _sources(project: Path, work: Path) -> tuple[str, ...] | None:
    """All but those whose file in the worktree is unlike the project's: an agent may have written it."""
    strange = [name for name, file in SOURCES.items() if _differs(work, project, file)]
    return ("user", *(name for name in SOURCES if name not in strange)) if strange else None


def _differs(work: Path, project: Path, file: str) -> bool:
    theirs, ours = (_bytes(place / ".claude" / file) for place in (work, project))
    return theirs is not None and theirs != ours


def _read(path: Path) -> Rules:
    content = _bytes(path)
    if content is None:
        return Rules()
    try:
        found = msgspec.json.decode(content, type=_File).permissions
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Rules(problems=(f"{path} is not used: {error}",))
    wrong = [rule for rule in (*found.allow, *found.deny) if not _RULE.fullmatch(rule)]
    return Rules(
        allow=tuple(rule for rule in found.allow if rule not in wrong),
        deny=tuple(rule for rule in found.deny if rule not in wrong),
        problems=tuple(f"{path}: {rule!r:.80} is not a rule, and is not used" for rule in wrong),
    )


def _bytes(path: Path) -> bytes | None:
    """The content of a plain file; None when there is none, b"" for what cannot be read."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            return file.read(_LARGEST + 1)
    except OSError:
        return b""


def _is_in_checkout(work: Path, project: Path) -> bool:
    """Whether the agent works among the person's own files, and not in a worktree of a task."""
    place, root = work.resolve(), project.resolve()
    return place.is_relative_to(root) and not place.is_relative_to(Layout(root).worktrees)


def _configured(flag: str, args: tuple[str, ...]) -> bool:
    given = {word.partition("=")[0] for word in args}
    return flag in given or _SPELLINGS.get(flag) in given
