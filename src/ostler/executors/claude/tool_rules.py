"""Passes the tool rules of .claude/settings.json and settings.local.json to claude as flags (C23).

It adds one rule for each command of a gate, so that an agent can run the checks of the project.

The files are read in the checkout of the project, not in the worktree of the agent: an agent cannot extend
its own permissions. When an agent works in the checkout itself, only `deny` is used. Hooks, variables and
modes of these files are not read. A file that is malformed is an error: its `deny` rules would be lost.
"""

from __future__ import annotations

import errno
import json
import re
import stat
from pathlib import Path

import msgspec
from msgspec import Struct

from ostler.errors import Problem
from ostler.executors.program.spec import ExtraArguments
from ostler.files.layout import Layout
from ostler.model.call import AgentCall

# The keys are the names that --setting-sources takes.
SOURCES = {"project": "settings.json", "local": "settings.local.json"}
FLAGS = ("--allowedTools", "--disallowedTools", "--setting-sources")

_SPELLINGS = {"--allowedTools": "--allowed-tools", "--disallowedTools": "--disallowed-tools"}
_RULE = re.compile(r"[A-Za-z][\w.*-]*(\([^\x00-\x1f\x7f]*\))?")
_MAX_BYTES = 1 << 20


class _Permissions(Struct, frozen=True):
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class _File(Struct, frozen=True):
    permissions: _Permissions = _Permissions()


class ToolRules(Struct, frozen=True):
    """The rules of a project, and the mistakes in its files."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    sources: tuple[str, ...] | None = None  # the files that claude itself may read; None: all
    problems: tuple[Problem, ...] = ()

    def build_flags(self, args: tuple[str, ...]) -> tuple[str, ...]:
        """Return one flag for each rule, without flags that the settings of the executor pass."""
        values_by_flag = {"--allowedTools": self.allow, "--disallowedTools": self.deny}
        if self.sources is not None:
            values_by_flag["--setting-sources"] = (",".join(self.sources),)
        unset = {flag: values for flag, values in values_by_flag.items() if not _configured(flag, args)}
        return tuple(f"{flag}={value}" for flag, values in unset.items() for value in values)

    def list_warnings(self, args: tuple[str, ...]) -> tuple[str, ...]:
        """Return the allow rules that are not used, and the files that claude does not read."""
        mistakes = tuple(one.text for one in self.problems if one.severity == "warning")
        if self.sources is None or _configured("--setting-sources", args):
            return mistakes
        unread = [name for name in SOURCES if name not in self.sources]
        return (*mistakes, *(_unread_warning(name) for name in unread))


def extra_arguments(call: AgentCall, args: tuple[str, ...]) -> ExtraArguments:
    """Return the flags of the project's tool rules, and the warnings about its files."""
    rules = read_tool_rules(call)
    refusal = "\n".join(one.text for one in rules.problems if one.severity == "error")
    return ExtraArguments(rules.build_flags(args), rules.list_warnings(args), refusal)


def find_rule_problems(project: Path) -> list[Problem]:
    """Return the mistakes in the files of a project, with their lines."""
    return [problem for name in SOURCES.values() for problem in _read(project, name).problems]


def read_tool_rules(call: AgentCall) -> ToolRules:
    """Return the rules for this call; an invalid file is a problem."""
    work = Path(call.cwd)
    project = Path(call.env.get("OSTLER_PROJECT") or work)
    files = [_read(project, name) for name in SOURCES.values()]
    in_place = "OSTLER_PROJECT" in call.env and _is_in_checkout(work, project)
    allow = () if in_place else tuple(rule for rules in files for rule in rules.allow)
    allow = (*allow, *_allow_commands(call.allowed_commands))
    return ToolRules(
        allow=tuple(dict.fromkeys(allow)),
        deny=tuple(dict.fromkeys(rule for rules in files for rule in rules.deny)),
        sources=None if in_place else _sources(project, work),
        problems=tuple(problem for rules in files for problem in rules.problems),
    )


def _allow_commands(commands: tuple[str, ...]) -> tuple[str, ...]:
    """Return a rule for each command without wildcards; claude checks each part of `a && b`."""
    parts = (part.strip() for command in commands for part in (command, *command.split("&&")))
    rules = (f"Bash({part})" for part in parts if part)
    return tuple(rule for rule in dict.fromkeys(rules) if _RULE.fullmatch(rule) and "*" not in rule)


def _unread_warning(source: str) -> str:
    also = " and without the project's CLAUDE.md" if source == "project" else ""
    file = f".claude/{SOURCES[source]}"
    return f"{file} in the worktree differs from the one in the checkout: claude runs without it{also}"


def _sources(project: Path, work: Path) -> tuple[str, ...] | None:
    """Return the sources whose file in the worktree is that of the project: an agent may change it."""
    changed = [name for name, file in SOURCES.items() if _differs(work, project, file)]
    return ("user", *(name for name in SOURCES if name not in changed)) if changed else None


def _differs(work: Path, project: Path, file: str) -> bool:
    try:
        in_worktree, in_project = (_read_bytes(root / ".claude" / file) for root in (work, project))
    except OSError:
        return True
    return in_worktree is not None and in_worktree != in_project


def _read(project: Path, name: str) -> ToolRules:
    file = f".claude/{name}"
    try:
        content = _read_bytes(project / ".claude" / name)
    except OSError as error:
        return ToolRules(problems=(Problem(file, 0, "", f"cannot be read: {error.strerror}"),))
    if content is None:
        return ToolRules()
    try:
        found = msgspec.json.decode(content, type=_File).permissions
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return ToolRules(problems=(_explain(error, content, file),))
    invalid = [rule for rule in (*found.allow, *found.deny) if not _RULE.fullmatch(rule)]
    return ToolRules(
        allow=tuple(rule for rule in found.allow if rule not in invalid),
        deny=tuple(rule for rule in found.deny if rule not in invalid),
        problems=tuple(_refuse_rule(rule, rule in found.deny, content, file) for rule in invalid),
    )


def _refuse_rule(rule: str, denies: bool, content: bytes, file: str) -> Problem:
    line = _line_of(content, msgspec.json.encode(rule))
    message = f"{rule!r:.80} is not a valid rule and is not used"
    return Problem(file, line, "permissions", message, "error" if denies else "warning")


def _explain(error: Exception, content: bytes, file: str) -> Problem:
    """Return the problem of a malformed file, with the line of the mistake or of the wrong value."""
    reason, _, place = str(error).partition(" - at `$.")
    key = place.partition("`")[0].partition("[")[0]
    try:
        json.loads(content)
    except json.JSONDecodeError as mistake:
        return Problem(file, mistake.lineno, "", f"not valid JSON: {mistake.msg} (column {mistake.colno})")
    except (UnicodeDecodeError, RecursionError):
        return Problem(file, 0, "", f"not valid JSON: {reason}")
    line = _line_of(content, f'"{key.rpartition(".")[2]}"'.encode())
    return Problem(file, line, key, reason[:1].lower() + reason[1:])


def _line_of(content: bytes, text: bytes) -> int:
    """Return the line of a text in a file; the first line when it is written differently."""
    at = content.find(text)
    return content.count(b"\n", 0, at) + 1 if at >= 0 else 1


def _read_bytes(path: Path) -> bytes | None:
    """Return the content of a file, None if nothing is there.

    Raises OSError for anything else, such as a directory or a broken link: its rules are not known.
    """
    for place in (path.parent, path):
        try:
            is_link = stat.S_ISLNK(place.lstat().st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return None
        if is_link and not place.exists():
            raise OSError(errno.ENOENT, f"{place.name} is a broken link")
    mode = path.stat().st_mode  # a pipe is not opened, because that blocks
    if not stat.S_ISREG(mode):
        what = "it is a directory" if stat.S_ISDIR(mode) else "it is not a regular file"
        raise OSError(errno.EINVAL, what)
    with path.open("rb") as file:
        return file.read(_MAX_BYTES + 1)


def _is_in_checkout(work: Path, project: Path) -> bool:
    """Return whether the agent works in the checkout of the project, and not in a worktree of a task."""
    directory, root = work.resolve(), project.resolve()
    return directory.is_relative_to(root) and not directory.is_relative_to(Layout(root).worktrees)


def _configured(flag: str, args: tuple[str, ...]) -> bool:
    configured = {arg.partition("=")[0] for arg in args}
    return flag in configured or _SPELLINGS.get(flag) in configured
