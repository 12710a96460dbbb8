"""Finds keys and passwords by their format before they are pushed."""

from __future__ import annotations

import mmap
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

ALLOW_MARKER = b"ostler:allow-secret"  # in a line that is a false positive
_MAX_PIECE_BYTES = 1_000_000  # a line can be as long as a file
_MAX_LISTED = 5
_KINDS = {
    "aws": ("an AWS access key", rb"\b(?:AKIA|ASIA)(?![0-9A-Z]{9}EXAMPLE\b)[0-9A-Z]{16}\b"),
    "github": ("a GitHub token", rb"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,})"),
    "anthropic": ("an Anthropic key", rb"\bsk-ant-[A-Za-z0-9_-]{20,}"),
    "openai": ("an OpenAI key", rb"\bsk-(?:[A-Za-z0-9]{48}\b|(?:proj|svcacct|admin)-[A-Za-z0-9_-]{40,})"),
    "slack": ("a Slack token", rb"\bxox[abeoprs]-[0-9A-Za-z-]{20,}"),
    "google": ("a Google API key", rb"\bAIza[0-9A-Za-z_-]{35}(?![0-9A-Za-z_-])"),
    "private": ("a private key", rb"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"),
}
_SECRET = re.compile(b"|".join(b"(?P<%s>%s)" % (name.encode(), form) for name, (_, form) in _KINDS.items()))
_WHOLE_KEY = re.compile(rb"(?s)(?P<private>%s.*?(?:-----END [A-Z0-9 ]*-----|\Z))" % _KINDS["private"][1])
_QUICK_FILTER = re.compile(rb"A[KS]IA|gh[pousr]_|github_pat_|sk-|xox[abeoprs]-|AIza|-----BEGIN |/\.env")
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
        for match in _SECRET.finditer(text) if _QUICK_FILTER.search(text) else ():
            secret = Secret(self.path, self.line, _KINDS[match.lastgroup or ""][0], self.commit)
            yield _Match(secret, match[0], ALLOW_MARKER in text)


def find_secrets(repository: Repository, base: str, tip: str) -> tuple[Secret, ...]:
    """Return the likely secrets that the commits after base add, oldest first."""
    with TemporaryDirectory(prefix="ostler-scan-", ignore_cleanup_errors=True) as directory:
        patch = Path(directory, "patch")
        _log_patches(repository, base, tip, "--no-merges", f"--output={patch}")
        merges = _log_patches(repository, base, tip, "--merges", "-c").splitlines(keepends=True)
        with patch.open("rb") as file:
            lines = iter(partial(file.readline, _MAX_PIECE_BYTES), b"") if _may_contain_secrets(file) else ()
            return scan_patch(chain(lines, merges))


def scan_patch(lines: Iterable[bytes]) -> tuple[Secret, ...]:
    """Return the secrets of a patch; a value that one line allows is allowed everywhere."""
    reader = _PatchReader()
    found = [match for line in lines for match in reader.find(line)]
    allowed = {match.text for match in found if match.allowed}
    return tuple(dict.fromkeys(match.secret for match in found if match.text not in allowed))


def redact_secrets(text: str) -> str:
    """Replace each secret in the text by its kind."""

    def name(match: re.Match[bytes]) -> bytes:
        return b"(%s, not shown)" % _KINDS[match.lastgroup or ""][0].encode()

    without_keys = _WHOLE_KEY.sub(name, text.encode("utf-8", "replace"))
    return _SECRET.sub(name, without_keys).decode()


def _may_contain_secrets(file: BinaryIO) -> bool:
    """Search the whole patch once; most patches need nothing more."""
    if not os.fstat(file.fileno()).st_size:
        return False
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as patch:
        return _QUICK_FILTER.search(patch) is not None


def _log_patches(repository: Repository, base: str, tip: str, *which: str) -> bytes:
    args = (*_LOG, *_PLAIN_OUTPUT, *which, "--end-of-options", f"{base}..{tip}", "--")
    return run_git(repository, *args, settings=_UNQUOTED_PATHS, timeout_seconds=LONG_SECONDS).stdout


def require_no_secrets(repository: Repository, base: str, tip: str) -> None:
    """Raise with the locations of likely secrets."""
    found = find_secrets(repository, base, tip)
    if not found:
        return
    more = f" and {len(found) - _MAX_LISTED} more" if len(found) > _MAX_LISTED else ""
    message = (
        f"nothing was pushed because of likely secrets: {', '.join(map(str, found[:_MAX_LISTED]))}{more}"
    )
    hint = (
        "remove them from the branch's commits (for example with ostler rewind), then run ostler retry; "
        f"for a false positive, put {ALLOW_MARKER.decode()} in its line, or set git.allow_secrets"
    )
    raise GitError(Code.PUBLISH_FAILED, message, hint)
