"""Finds secrets in the commits of a task before they are pushed or merged."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from msgspec import Struct

from ostler.errors import Code, GitError
from ostler.git.repository import Repository
from ostler.git.run.command import LONG_SECONDS, run_git
from ostler.secrets.find import Found
from ostler.secrets.find import find_secrets as find_in_text

ALLOW_MARKER = b"ostler:allow-secret"  # in a line that is a false positive
_MAX_PIECE_BYTES = 1_000_000  # a line can be as long as a file
_MAX_SECRET_BYTES = 16_384  # of a secret between two pieces
_NEW_FILE_OF_SECRETS = b"/.env"
_MAX_LISTED = 5
_SECRET_FILE = re.compile(rb"(?:^|/)\.env(?:\.(?!example$|sample$|template$|dist$)[^/]+)?$")
_HUNK = re.compile(rb"@@@* (?:-\S+ )+\+(\d+)")
_LOG = ("log", "--format=commit %H", "--reverse", "-p", "-U0", "-M", "--text", "--no-color")
_PLAIN_OUTPUT = ("--no-ext-diff", "--no-textconv", "--submodule=short", "--src-prefix=a/", "--dst-prefix=b/")
_UNQUOTED_PATHS = {"core.quotePath": "false"}


class Secret(Struct, frozen=True):
    """The location and the kind of a likely secret; never its value."""

    path: str
    line: int  # 0: the file as a whole
    kind: str
    commit: str

    def __str__(self) -> str:
        location = f"{self.path}:{self.line}" if self.line else self.path
        return f"{location} ({self.kind}, commit {self.commit[:10]})"


class _Match(Struct, frozen=True):
    secret: Secret
    text: bytes
    allowed: bool


class _PatchReader:
    """Reads a patch line by line and tracks the position."""

    def __init__(self) -> None:
        self.commit = self.path = ""
        self.line = 0
        self.mark = b"+"  # one + per parent: a line that no parent has
        self.is_new = False
        self.is_open = False  # the last piece did not end its line

    def find(self, text: bytes) -> Iterator[_Match]:
        """Yield the likely secrets in the next line of the patch, or part of a line."""
        yield from self._scan_text(text) if self.is_open else self._read_line(text)
        self.is_open = not text.endswith(b"\n")

    def _read_line(self, text: bytes) -> Iterator[_Match]:
        if text.startswith(b"commit "):
            self.commit = text[7:].decode().strip()
        elif text.startswith(b"--- "):
            self.is_new = text.startswith(b"--- /dev/null")
        elif text.startswith(b"+++ ") and not self.line:
            yield from self._start_file(text)
        elif text.startswith(b"@@"):
            self._start_hunk(text)
        elif text.startswith(b"diff --"):
            self.line = 0
        elif self.line and not text.startswith(b"\\") and b"-" not in text[: len(self.mark)]:
            yield from self._scan_line(text)

    def _start_file(self, text: bytes) -> Iterator[_Match]:
        name = text[4:].rstrip(b"\n").rstrip(b"\t").strip(b'"').removeprefix(b"b/")
        self.path = os.fsdecode(name)
        if self.is_new and _SECRET_FILE.search(name):
            yield _Match(Secret(self.path, 0, "a file of secrets", self.commit), name, allowed=False)

    def _start_hunk(self, text: bytes) -> None:
        found = _HUNK.match(text)
        self.line = int(found[1]) if found else 0
        self.mark = b"+" * (len(text) - len(text.lstrip(b"@")) - 1)

    def _scan_line(self, text: bytes) -> Iterator[_Match]:
        if text.startswith(self.mark):
            yield from self._scan_text(text)
        self.line += 1

    def _scan_text(self, text: bytes) -> Iterator[_Match]:
        for found in filter(_is_refused, find_in_text(text)):
            secret = Secret(self.path, self.line, found.kind, self.commit)
            yield _Match(secret, text[found.start : found.end], ALLOW_MARKER in text)


def find_secrets(repository: Repository, base: str, tip: str) -> tuple[Secret, ...]:
    """Return the likely secrets that the commits after base add, oldest first."""
    with TemporaryDirectory(prefix="ostler-scan-", ignore_cleanup_errors=True) as directory:
        patch = Path(directory, "patch")
        _log_patches(repository, base, tip, "--no-merges", f"--output={patch}")
        merges = _log_patches(repository, base, tip, "--merges", "-c").splitlines(keepends=True)
        with patch.open("rb") as file:
            lines = iter(partial(file.readline, _MAX_PIECE_BYTES), b"") if _may_contain_secrets(file) else ()
            in_files = scan_patch(chain(lines, merges))
    return (*in_files, *_find_in_messages(repository, base, tip))


def _find_in_messages(repository: Repository, base: str, tip: str) -> Iterator[Secret]:
    """Yield the secrets in the messages of commits, which agents may write themselves."""
    args = ("log", "-z", "--format=%H%n%an%n%ae%n%B", "--reverse", "--end-of-options", f"{base}..{tip}", "--")
    for entry in run_git(repository, *args, timeout_seconds=LONG_SECONDS).stdout.split(b"\0"):
        commit, _, text = entry.partition(b"\n")
        for found in filter(_is_refused, find_in_text(text)):
            yield Secret("the commit message", 0, found.kind, commit.decode())


def scan_patch(lines: Iterable[bytes]) -> tuple[Secret, ...]:
    """Return the secrets of a patch; a value that one line allows is allowed everywhere."""
    reader = _PatchReader()
    found = [match for line in lines for match in reader.find(line)]
    allowed = {match.text for match in found if match.allowed}
    return tuple(dict.fromkeys(match.secret for match in found if match.text not in allowed))


def _is_refused(found: Found) -> bool:
    return found.refused_in_commits


def _may_contain_secrets(file: BinaryIO) -> bool:
    """Search the whole patch once; most patches need nothing more."""
    before = b""
    while piece := file.read(_MAX_PIECE_BYTES):
        if _NEW_FILE_OF_SECRETS in before + piece or any(map(_is_refused, find_in_text(before + piece))):
            file.seek(0)
            return True
        before = piece[-_MAX_SECRET_BYTES:]
    return False


def _log_patches(repository: Repository, base: str, tip: str, *which: str) -> bytes:
    args = (*_LOG, *_PLAIN_OUTPUT, *which, "--end-of-options", f"{base}..{tip}", "--")
    return run_git(repository, *args, settings=_UNQUOTED_PATHS, timeout_seconds=LONG_SECONDS).stdout


def require_no_secrets(repository: Repository, base: str, tip: str, done: str = "pushed") -> None:
    """Raise with the locations of likely secrets; `done` is what does not happen because of them."""
    found = find_secrets(repository, base, tip)
    if not found:
        return
    more = f" and {len(found) - _MAX_LISTED} more" if len(found) > _MAX_LISTED else ""
    message = (
        f"nothing was {done} because of likely secrets: {', '.join(map(str, found[:_MAX_LISTED]))}{more}"
    )
    hint = (
        "remove them from the branch's commits (for example with ostler rewind), then run ostler retry; "
        f"for a false positive, put {ALLOW_MARKER.decode()} in its line, or set git.allow_secrets"
    )
    raise GitError(Code.PUBLISH_FAILED, message, hint)
