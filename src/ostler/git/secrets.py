"""Keys and passwords that must not leave with a push, known by their look; nothing is guessed."""

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
from ostler.git.command import LONG_SECONDS, run
from ostler.git.repository import Repository

ALLOWED = b"ostler:allow-secret"  # in a line whose look deceives
_PIECE_BYTES = 1_000_000  # a line may be as long as a file
_MOST_TOLD = 5
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
_HINT = re.compile(rb"A[KS]IA|gh[pousr]_|github_pat_|sk-|xox[abeoprs]-|AIza|-----BEGIN |/\.env")
_SECRET_FILE = re.compile(rb"(?:^|/)\.env(?:\.(?!example$|sample$|template$|dist$)[^/]+)?$")
_HUNK = re.compile(rb"@@@* (?:-\S+ )+\+(\d+)")
_SHOW = ("log", "--format=commit %H", "--reverse", "-p", "-U0", "-M", "--text", "--no-color")
_PLAIN = ("--no-ext-diff", "--no-textconv", "--submodule=short", "--src-prefix=a/", "--dst-prefix=b/")
_NAMES_AS_THEY_ARE = {"core.quotePath": "false"}


class Secret(Struct, frozen=True):
    """Where something stands that looks like a secret; never what it is."""

    path: str
    line: int  # 0: the file as a whole
    kind: str
    commit: str

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place} ({self.kind}, commit {self.commit[:10]})"


class _Found(Struct, frozen=True):
    secret: Secret
    text: bytes
    allowed: bool


class _Place:
    """Where in a patch we are."""

    def __init__(self) -> None:
        self.commit = self.path = ""
        self.line = 0
        self.mark = b"+"  # as many as a commit has parents: a line that none of them has
        self.is_new = False
        self.is_open = False  # the last piece did not end its line

    def find(self, text: bytes) -> Iterator[_Found]:
        """What looks like a secret in the next line of the patch, or piece of one."""
        yield from self._match(text) if self.is_open else self._read(text)
        self.is_open = not text.endswith(b"\n")

    def _read(self, text: bytes) -> Iterator[_Found]:
        if text.startswith(b"commit "):
            self.commit = text[7:].decode().strip()
        elif text.startswith(b"--- "):
            self.is_new = text.startswith(b"--- /dev/null")
        elif text.startswith(b"+++ ") and not self.line:
            yield from self._enter(text)
        elif text.startswith(b"@@"):
            self._jump(text)
        elif text.startswith(b"diff --"):
            self.line = 0
        elif self.line and not text.startswith(b"\\") and b"-" not in text[: len(self.mark)]:
            yield from self._look(text)

    def _enter(self, text: bytes) -> Iterator[_Found]:
        name = text[4:].rstrip(b"\n").rstrip(b"\t").strip(b'"').removeprefix(b"b/")
        self.path = os.fsdecode(name)
        if self.is_new and _SECRET_FILE.search(name):
            yield _Found(Secret(self.path, 0, "a file of secrets", self.commit), name, allowed=False)

    def _jump(self, text: bytes) -> None:
        found = _HUNK.match(text)
        self.line = int(found[1]) if found else 0
        self.mark = b"+" * (len(text) - len(text.lstrip(b"@")) - 1)

    def _look(self, text: bytes) -> Iterator[_Found]:
        if text.startswith(self.mark):
            yield from self._match(text)
        self.line += 1

    def _match(self, text: bytes) -> Iterator[_Found]:
        for match in _SECRET.finditer(text) if _HINT.search(text) else ():
            secret = Secret(self.path, self.line, _KINDS[match.lastgroup or ""][0], self.commit)
            yield _Found(secret, match[0], ALLOWED in text)


def find_secrets(repository: Repository, base: str, tip: str) -> tuple[Secret, ...]:
    """What looks like a secret in the lines and files that the commits after base add, oldest first."""
    with TemporaryDirectory(prefix="ostler-scan-", ignore_cleanup_errors=True) as directory:
        patch = Path(directory, "patch")
        _show(repository, base, tip, "--no-merges", f"--output={patch}")
        merges = _show(repository, base, tip, "--merges", "-c").splitlines(keepends=True)
        with patch.open("rb") as file:
            lines = iter(partial(file.readline, _PIECE_BYTES), b"") if _may_have(file) else ()
            return scan(chain(lines, merges))


def scan(lines: Iterable[bytes]) -> tuple[Secret, ...]:
    """The secrets of a patch; one that a line of it allows is allowed wherever it stands."""
    place = _Place()
    found = [one for line in lines for one in place.find(line)]
    allowed = {one.text for one in found if one.allowed}
    return tuple(dict.fromkeys(one.secret for one in found if one.text not in allowed))


def hide_secrets(text: str) -> str:
    """The same text for others to read, with the kind of each secret in its place."""

    def name(match: re.Match[bytes]) -> bytes:
        return b"(%s, not shown)" % _KINDS[match.lastgroup or ""][0].encode()

    without_keys = _WHOLE_KEY.sub(name, text.encode("utf-8", "replace"))
    return _SECRET.sub(name, without_keys).decode()


def _may_have(file: BinaryIO) -> bool:
    """One quick look at the whole, which is all that most changes need."""
    if not os.fstat(file.fileno()).st_size:
        return False
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as patch:
        return _HINT.search(patch) is not None


def _show(repository: Repository, base: str, tip: str, *which: str) -> bytes:
    args = (*_SHOW, *_PLAIN, *which, "--end-of-options", f"{base}..{tip}", "--")
    return run(repository, *args, settings=_NAMES_AS_THEY_ARE, timeout_seconds=LONG_SECONDS).stdout


def refuse_secrets(repository: Repository, base: str, tip: str) -> None:
    """Raise with the places of what looks like a secret, before it leaves this machine."""
    found = find_secrets(repository, base, tip)
    if not found:
        return
    more = f" and {len(found) - _MOST_TOLD} more" if len(found) > _MOST_TOLD else ""
    message = f"nothing was pushed, as it has secrets: {', '.join(map(str, found[:_MOST_TOLD]))}{more}"
    hint = (
        "take them out of the branch's commits (ostler rewind does the work anew), then ostler retry; "
        f"if it is none, put {ALLOWED.decode()} in its line, or set git.allow_secrets"
    )
    raise GitError(Code.PUBLISH_FAILED, message, hint)
