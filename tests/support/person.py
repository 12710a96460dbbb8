"""A person at a terminal: starts a program in one, reads its output, and types."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

_ENTER = 'exec "$@" <>"$0" >&0 2>&1'  # the first terminal that a session opens is its controlling one
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")


class Person:
    """Use as a context manager: processes still running at its end are killed."""

    def __init__(self, argv: list[str], cwd: Path, environ: Mapping[str, str]) -> None:
        self._terminal, inside = pty.openpty()
        self._program = subprocess.Popen(
            ["sh", "-c", _ENTER, os.ttyname(inside), *argv],
            cwd=cwd,
            env=dict(environ) | {"TERM": "xterm"},
            start_new_session=True,
        )
        self._inside: int | None = inside  # held until the program has it: the terminal would end before
        self.seen = ""
        self.raw = ""  # the same with control sequences
        self._read = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._program.poll() is None:
            self._program.kill()
        self._program.wait()
        self._let_go()
        os.close(self._terminal)

    @property
    def pid(self) -> int:
        return self._program.pid

    def type(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def read_until(self, text: str, seconds: float = 60.0) -> str:
        """Return the output from the end of the last reading to the end of this text."""
        until = time.monotonic() + seconds
        while text not in self.seen[self._read :]:
            assert time.monotonic() < until and self._listen(), f"{text!r} does not appear:\n{self.seen}"
        begun, self._read = self._read, self.seen.index(text, self._read) + len(text)
        return self.seen[begun : self._read]

    def answer(self, keys: str) -> None:
        """Wait for the question, then type."""
        self.read_until("q stop > ")
        self.type(keys)

    def leave(self, seconds: float = 60.0) -> int:
        """Read to the end; return the exit code."""
        until = time.monotonic() + seconds
        while self._listen():
            assert time.monotonic() < until, f"it does not end:\n{self.seen}"
        return self._program.wait(seconds)

    def _listen(self) -> bool:
        """Read the available output within a moment; return False at its end."""
        if not select.select([self._terminal], [], [], 0.2)[0]:
            if self._program.poll() is not None:
                self._let_go()
            return True
        try:
            chunk = os.read(self._terminal, 65536)
        except OSError:  # Linux: the program has closed the terminal
            return False
        self._let_go()
        text = chunk.decode("utf-8", "replace")
        self.raw += text
        self.seen += _ESCAPES.sub("", text).replace("\r\n", "\n")
        return bool(chunk)

    def _let_go(self) -> None:
        if self._inside is not None:
            os.close(self._inside)
            self._inside = None
