"""Finds secrets in the commits of a task before they are pushed or merged."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from ostler.errors import Code, GitError
from ostler.git.publish.patch import AddedText, read_added
from ostler.git.repository import Repository
from ostler.git.run.command import LONG_SECONDS, run_git
from ostler.secrets.find import Found
from ostler.secrets.find import find_secrets as find_in_text

ALLOW_MARKER = b"ostler:allow-secret"  # in a line that is a false positive
_MAX_PIECE_BYTES = 1_000_000  # a line can be as long as a file
_MAX_LISTED = 5
_SECRET_FILE = re.compile(rb"(?:^|/)\.env(?:\.(?!example$|sample$|template$|dist$)[^/]+)?$")
_LOG = ("log", "--format=commit %H", "--reverse", "--no-color")
_PATCHES = ("-p", "-U0", "-M", "--text", "--no-ext-diff", "--no-textconv", "--submodule=short")
_PREFIXES = ("--src-prefix=a/", "--dst-prefix=b/")
_NAMES = ("-z", "--name-only", "-M")
_PEOPLE_AND_MESSAGE = "%H%n%an%n%ae%n%cn%n%ce%n%B"
_SETTINGS = {"core.quotePath": "false", "i18n.logOutputEncoding": "UTF-8"}
# A file that an agent wrote cannot end the history before a commit; grafts are never read.
_WHOLE_HISTORY = {"GIT_SHALLOW_FILE": ""}


class Secret(Struct, frozen=True):
    """The location and the kind of a likely secret; never its value."""

    path: str
    line: int  # 0: the file as a whole
    kind: str
    commit: str

    def __str__(self) -> str:
        location = f"{self.path}:{self.line}" if self.line else self.path
        return f"{location} ({self.kind}, commit {self.commit[:10]})"


class SecretsFound(Struct, frozen=True):
    """The likely secrets of a branch: those that refuse it, and those that a mark in their line allows."""

    refused: tuple[Secret, ...] = ()
    allowed: tuple[Secret, ...] = ()


class _Match(Struct, frozen=True):
    secret: Secret
    text: bytes
    is_registered: bool
    is_marked: bool


def find_secrets(repository: Repository, base: str, tip: str) -> SecretsFound:
    """Return the likely secrets that the commits after base add, oldest first."""
    span = f"{base}..{tip}"
    with TemporaryDirectory(prefix="ostler-scan-", ignore_cleanup_errors=True) as directory:
        patch = Path(directory, "patch")
        _log(repository, span, *_PATCHES, *_PREFIXES, "--no-merges", f"--output={patch}")
        merges = _log(repository, span, *_PATCHES, *_PREFIXES, "--merges", "-c").splitlines(keepends=True)
        with patch.open("rb") as file:
            lines = iter(partial(file.readline, _MAX_PIECE_BYTES), b"")
            matches = [match for added in read_added(chain(lines, merges)) for match in _scan(added)]
    found = _apply_marks(matches)
    others = (*_find_in_names(repository, span), *_find_in_messages(repository, span))
    return SecretsFound((*found.refused, *others), found.allowed)


def _scan(added: AddedText) -> Iterator[_Match]:
    """Yield the secrets in the text, also if it is UTF-16: its letters are separated by zero bytes."""
    texts = (added.text, added.text.replace(b"\0", b"")) if b"\0" in added.text else (added.text,)
    for text in texts:
        for found in filter(_is_refused, find_in_text(text)):
            line = added.line + text.count(b"\n", 0, found.start)
            yield _Match(
                Secret(added.path, line, found.kind, added.commit),
                text[found.start : found.end],
                found.is_registered,
                ALLOW_MARKER in _lines_of(text, found),
            )


def _lines_of(text: bytes, found: Found) -> bytes:
    end = text.find(b"\n", found.end)
    return text[text.rfind(b"\n", 0, found.start) + 1 : end if end >= 0 else len(text)]


def _apply_marks(matches: Iterable[_Match]) -> SecretsFound:
    """Allow a value everywhere that one line allows, unless it is registered: an agent can write the mark."""
    found = list(matches)
    marked = {match.text for match in found if match.is_marked}
    registered = {match.text for match in found if match.is_registered}
    allowed = {match.secret for match in found if match.text in marked - registered}
    refused = dict.fromkeys(match.secret for match in found if match.text not in marked - registered)
    return SecretsFound(tuple(refused), tuple(sorted(allowed, key=str)))


def _find_in_names(repository: Repository, span: str) -> Iterator[Secret]:
    """Yield the secrets in the names of new and renamed files, and new files of secrets."""
    for commit, name in _list_names(repository, span, "--diff-filter=AR"):
        for found in filter(_is_refused, find_in_text(name)):
            yield Secret(f"the name of a file in {_folder(name, found)}", 0, found.kind, commit)
    for commit, name in _list_names(repository, span, "--diff-filter=A"):
        if _SECRET_FILE.search(name):
            yield Secret(os.fsdecode(name), 0, "a file of secrets", commit)


def _list_names(repository: Repository, span: str, which: str) -> Iterator[tuple[str, bytes]]:
    commit = ""
    for options in (("--no-merges",), ("--merges", "-c")):
        for entry in _log(repository, span, *_NAMES, which, *options).split(b"\0"):
            name = entry.removeprefix(b"\n")
            if re.fullmatch(rb"commit [0-9a-f]{40,64}", name):
                commit = name[7:].decode()
            elif name:
                yield commit, name


def _folder(name: bytes, found: Found) -> str:
    """Return the folders before the secret."""
    return os.fsdecode(name[: name.rfind(b"/", 0, found.start) + 1]) or "the top folder"


def _find_in_messages(repository: Repository, span: str) -> Iterator[Secret]:
    """Yield the secrets in the messages of commits and in the names of their authors."""
    log = _log(repository, span, "-z", f"--format={_PEOPLE_AND_MESSAGE}")
    for entry in log.split(b"\0"):
        commit, _, text = entry.partition(b"\n")
        for found in filter(_is_refused, find_in_text(text)):
            yield Secret("the commit message", 0, found.kind, commit.decode())


def _is_refused(found: Found) -> bool:
    return found.refused_in_commits


def _log(repository: Repository, span: str, *options: str) -> bytes:
    args = (*_LOG, *options, "--end-of-options", span, "--")
    return run_git(
        repository, *args, settings=_SETTINGS, env=_WHOLE_HISTORY, timeout_seconds=LONG_SECONDS
    ).stdout


def require_no_secrets(repository: Repository, base: str, tip: str, done: str = "pushed") -> str:
    """Raise with the locations of likely secrets; `done` is what does not happen because of them.

    Return a note that names those that a mark in their line allows: an agent can write the mark.
    """
    found = find_secrets(repository, base, tip)
    if not found.refused:
        return _describe_allowed(found.allowed)
    message = f"nothing was {done} because of likely secrets: {_list(found.refused)}"
    hint = (
        "remove them from the branch's commits (for example with ostler rewind), then run ostler retry; "
        f"for a false positive that is not a registered secret, put {ALLOW_MARKER.decode()} in its line, "
        "or set git.allow_secrets"
    )
    raise GitError(Code.PUBLISH_FAILED, message, hint)


def _describe_allowed(allowed: tuple[Secret, ...]) -> str:
    if not allowed:
        return ""
    return f"check what {ALLOW_MARKER.decode()} in the branch allows: {_list(allowed)}"


def _list(secrets: tuple[Secret, ...]) -> str:
    more = f" and {len(secrets) - _MAX_LISTED} more" if len(secrets) > _MAX_LISTED else ""
    return ", ".join(map(str, secrets[:_MAX_LISTED])) + more
