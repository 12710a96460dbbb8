"""Short helper programs (git, gh, an agent's --version): started here, waited for, bounded in time."""

from __future__ import annotations

import os
import signal
import subprocess

from msgspec import Struct


class Finished(Struct, frozen=True):
    status: int  # 0..255, or minus the signal that ended it
    stdout: bytes
    stderr: bytes


class ToolTimeout(Exception):
    """The tool did not end in time and was killed with its process group."""


def run_tool(
    argv: list[str],
    *,
    env: dict[str, str],
    cwd: str,
    stdin: bytes = b"",
    timeout_seconds: float = 60.0,
    keep: tuple[int, ...] = (),
) -> Finished:
    """Run a program to its end with exactly this environment. Raises OSError when it cannot start.

    `keep` are descriptors that it inherits: a lock that must last as long as the program does.
    """
    with subprocess.Popen(
        argv,
        env=env,
        cwd=cwd,
        stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        pass_fds=keep,
    ) as process:
        try:
            out, err = process.communicate(stdin or None, timeout=timeout_seconds)
        except subprocess.TimeoutExpired:
            raise ToolTimeout(f"{argv[0]} did not end within {timeout_seconds:g} s") from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        return Finished(process.returncode, out, err)
