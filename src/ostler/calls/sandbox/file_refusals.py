"""Finds refused access to files in the output of programs: hidden files are reported as missing."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec import Raw, Struct

from ostler.files.protected import EXECUTED
from ostler.model.call import AccessRefused, AgentEvent, ToolReturned, ToolUsed
from ostler.model.policy.sandbox import Refusal
from ostler.sandbox.box.box import Box
from ostler.sandbox.mounts import Mount

_MAX_REFUSALS = 20  # per attempt or log
_MAX_TEXT, _MAX_LINE = 400_000, 2_000
_MAX_INPUTS = 200  # tools whose result is awaited
_MISSING = re.compile(
    r"no such file|not a directory|not found|does ?n[o']t exist|do not exist|cannot find"
    r"|permission denied|operation not permitted|\b(?:ENOENT|ENOTDIR|EACCES|EPERM)\b",
    re.IGNORECASE,
)
_READ_ONLY = re.compile(r"read-only file ?system|\bEROFS\b", re.IGNORECASE)
_SHELL = re.compile(r"^(?:/\S*/)?\w*sh: (?:line )?\d+: ")  # the shell is not what was refused
_QUOTED = re.compile("'([^'\n]+)'|\"([^\"\n]+)\"|`([^`\n]+)`|\u2018([^\u2019\n]+)\u2019")
_BARE = re.compile(r"(?<![\w./~-])(?:~/|\.\./|/)[^\s:,;()<>|=]*")
_RELATIVE = re.compile(r"(?<![\w/~-])[\w.][\w./-]*")
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/proc", "/sys", "/dev", "/run")
# No setting is suggested for what other programs log in with.
_CREDENTIALS = (
    *(
        ".ssh",
        ".aws",
        ".azure",
        ".gnupg",
        ".netrc",
        ".kube",
        ".docker",
        ".git-credentials",
        ".npmrc",
        ".pypirc",
    ),
    *(".pgpass", ".my.cnf", ".vault-token", ".password-store", ".terraform.d", ".mozilla", ".thunderbird"),
    *(
        ".config/gh",
        ".config/gcloud",
        ".config/git",
        ".config/op",
        ".config/google-chrome",
        ".config/chromium",
    ),
    *(".cargo/credentials.toml", ".cargo/credentials", ".m2/settings.xml", ".gradle/gradle.properties"),
    *(".claude", ".claude.json", ".codex", ".gemini", ".qwen", ".copilot", ".cursor", ".config/opencode"),
    *(".local/share/opencode", ".local/share/keyrings", ".bash_history", ".zsh_history"),
)


class Sight(Struct, frozen=True):
    """What a program inside can reach, and what it must not."""

    directory: Path  # of the program
    home: Path  # of the user; inside, another directory is mounted there
    mounts: tuple[Mount, ...]  # in order
    pinned: tuple[Path, ...] = ()  # configuration that is mounted read-only
    records: tuple[Path, ...] = ()  # of Ostler: journal, other tasks
    private_home: Path | None = None  # the directory that is mounted at `home`
    left_out: tuple[str, ...] = ()  # of the home directory: FILE or FILE#KEY that sandbox.home brings in
    agent: bool = True  # False: a gate or setup command

    def shows(self, path: Path) -> bool:
        """Return whether the path inside is the one of the host."""
        if any(path.is_relative_to(one) for one in _SYSTEM):
            return True
        if any(path.is_relative_to(one) for one in self.records) and not path.is_relative_to(self.directory):
            return False
        return self._is_in_private_home(path) or any(
            path.is_relative_to(one.destination) for one in self.mounts if one.destination != self.home
        )

    def _is_in_private_home(self, path: Path) -> bool:
        if self.private_home is None or not path.is_relative_to(self.home):
            return False
        return path != self.home and os.path.lexists(self.private_home / path.relative_to(self.home))


def create_sight(
    box: Box, records: tuple[Path, ...] = (), left_out: tuple[str, ...] = (), *, agent: bool = True
) -> Sight:
    """Return what a program in this box can reach; `records`: files of Ostler."""
    readable = (Mount(one, one) for one in box.readable)
    pinned = [one.destination for one in box.mounts if not one.writable]
    return Sight(
        box.directory,
        box.home_path,
        (*readable, *box.mounts),
        tuple(one for one in pinned if one.name.casefold() in EXECUTED),
        records,
        box.home,
        left_out,
        agent,
    )


class FileRefusals:
    """Reads the events of one attempt, and yields each refused path once."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._inputs: dict[str, tuple[str, ...]] = {}
        self._found: set[str] = set()

    def read(self, event: AgentEvent) -> Iterator[AccessRefused]:
        """Yield what the result of a tool reports as refused."""
        if isinstance(event, ToolUsed):
            if len(self._inputs) >= _MAX_INPUTS:
                self._inputs.pop(next(iter(self._inputs)))
            self._inputs[event.id] = _list_texts(event.input)
        elif isinstance(event, ToolReturned):
            texts = self._inputs.pop(event.id, ())
            for one in self._find_new(find_refusals(event.text, self._sight, texts)):
                yield AccessRefused("file", one.target, one.setting)

    def _find_new(self, refusals: Iterable[Refusal]) -> Iterator[Refusal]:
        for one in refusals:
            if one.target not in self._found and len(self._found) < _MAX_REFUSALS:
                self._found.add(one.target)
                yield one


def find_refusals(text: str, sight: Sight, inputs: tuple[str, ...] = ()) -> tuple[Refusal, ...]:
    """Return the refused paths in the output of a program; `inputs`: the arguments of the tool.

    Writes to read-only files are refusals for agents only: no setting allows them for a command.
    """
    found: dict[Path, Refusal] = {}
    for line in text[-_MAX_TEXT:].splitlines():
        if len(found) >= _MAX_REFUSALS:
            break
        if len(line) <= _MAX_LINE:
            for path, refusal in _read_line(line, sight, inputs):
                found.setdefault(path, refusal)
    return tuple(found.values())[:_MAX_REFUSALS]


def _read_line(line: str, sight: Sight, inputs: tuple[str, ...]) -> Iterator[tuple[Path, Refusal]]:
    if _READ_ONLY.search(line):
        if not sight.agent:
            return
        for path in _list_paths(_SHELL.sub("", line), sight, relative=True):
            if os.path.lexists(path) or path.parent.is_dir():
                yield path, Refusal("file", _shorten(path, sight), _suggest_writable(path, sight))
    elif _MISSING.search(line):
        missing = _list_missing(line, sight)
        # The tools of some agents do not repeat the path.
        named = missing or [one for text in inputs for one in _list_missing(text, sight)]
        for path in (one for one in named if os.access(one, os.R_OK)):
            yield path, Refusal("file", _shorten(path, sight), _suggest_path(path, sight))


def _list_missing(line: str, sight: Sight) -> list[Path]:
    """Return the paths that a line names and that are not there inside, whether they exist outside or not."""
    # `/` and the like are too short to be meant.
    return [one for one in _list_paths(line, sight) if len(one.parts) > 2 and not sight.shows(one)]


def _list_paths(line: str, sight: Sight, relative: bool = False) -> Iterator[Path]:
    """Yield the absolute paths that a line names."""
    quoted = ["".join(one) for one in _QUOTED.findall(line)]
    names = [one for one in quoted if relative or one.startswith(("/", "~/", "../"))]
    names += _BARE.findall(_QUOTED.sub(" ", line))
    if relative and not names:
        names += [one.rstrip(".") for one in _RELATIVE.findall(line) if "/" in one or one.startswith(".")]
    for name in dict.fromkeys(names):
        path = _resolve(name.rstrip("."), sight)
        if path is not None:
            yield path


def _resolve(name: str, sight: Sight) -> Path | None:
    if not name or "\0" in name:
        return None
    whole = sight.home / name[2:] if name.startswith("~/") else sight.directory / name
    return Path(os.path.normpath(whole))


def _suggest_writable(path: Path, sight: Sight) -> str:
    """Return the setting that lets a task change configuration; nothing for other read-only files."""
    top = next((one for one in sight.pinned if path.is_relative_to(one)), None)
    return f'sandbox.writable_config = ["{top.name}"]' if top is not None else ""


def _suggest_path(path: Path, sight: Sight) -> str:
    """Return the setting that makes a path readable; nothing for logins, records and whole directories."""
    for name in sight.left_out:
        if "#" not in name and path.is_relative_to(sight.home / name):
            return f'sandbox.home = ["{name}"]'
    secret = any(path.is_relative_to(sight.home / one) for one in _CREDENTIALS)
    broad = sight.home.is_relative_to(path)
    if secret or broad or any(path.is_relative_to(one) or one.is_relative_to(path) for one in sight.records):
        return ""
    return f'sandbox.allow_paths = ["{_shorten(path, sight)}"]'


def _shorten(path: Path, sight: Sight) -> str:
    """Return the path as a person writes it: below the working directory or the home directory."""
    if path.is_relative_to(sight.directory):
        return str(path.relative_to(sight.directory))
    return f"~/{path.relative_to(sight.home)}" if path.is_relative_to(sight.home) else str(path)


def _list_texts(raw: Raw) -> tuple[str, ...]:
    """Return the short texts among the arguments of a tool."""
    try:
        values = msgspec.json.decode(raw, type=dict[str, object]).values()
    except msgspec.MsgspecError:
        return ()
    return tuple(one for one in values if isinstance(one, str) and len(one) <= _MAX_LINE)
