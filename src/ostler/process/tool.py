"""Runs helper programs (git, gh, `agent --version`) with a timeout, or in the foreground."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from tempfile import TemporaryFile
from types import FrameType

from msgspec import Struct


class ToolResult(Struct, frozen=True):
    status: int  # 0 to 255, or minus the signal number
    stdout: bytes
    stderr: bytes


class BoundedOutput(Struct, frozen=True):
    """The first bytes of a program's output."""

    data: bytes
    truncated: bool  # the program was killed, as its output is longer
    status: int
    stderr: bytes


_POLL_SECONDS = 0.1
_INTERRUPTED = ToolResult(-signal.SIGINT, b"", b"")


class ToolTimeout(Exception):
    """The tool exceeded its timeout and was killed with its process group."""


class _Process(subprocess.Popen[bytes]):
    """A process whose end is noticed at once."""

    def wait(self, timeout: float | None = None) -> int:
        # With a timeout, Popen looks for the end after 1 ms, 2 ms, 4 ms: more than a short git command takes.
        if timeout is not None and self.returncode is None:  # pyright: ignore[reportUnnecessaryComparison]
            ends_at = time.monotonic() + timeout
            _wait_for_exit(self.pid, timeout)
            timeout = max(0.0, ends_at - time.monotonic())
        return super().wait(timeout)


def _wait_for_exit(pid: int, timeout_seconds: float) -> None:
    """Return when a child has exited, or after the timeout; at once where the system cannot tell."""
    open_process = getattr(os, "pidfd_open", None)
    if open_process is None:  # macOS
        return
    try:
        descriptor = open_process(pid)
    except OSError:  # an old kernel
        return
    try:
        exited = select.poll()
        exited.register(descriptor, select.POLLIN)
        exited.poll(max(0.0, timeout_seconds) * 1000)
    finally:
        os.close(descriptor)


def run_tool(
    argv: list[str],
    *,
    env: dict[str, str],
    cwd: str,
    stdin: bytes = b"",
    timeout_seconds: float = 60.0,
    pass_fds: tuple[int, ...] = (),
    is_stopped: Callable[[], bool] | None = None,
) -> ToolResult:
    """Run a program with exactly this environment. Raises OSError when it cannot start.

    The program inherits `pass_fds`: a lock that must be held as long as it runs. It is killed, with
    ToolTimeout, when `is_stopped` returns True.
    """
    result = _run_once(argv, env, cwd, stdin, timeout_seconds, pass_fds, is_stopped)
    if result == _INTERRUPTED:
        # Ctrl-C reached the child between fork and setsid, so the program has not started yet.
        result = _run_once(argv, env, cwd, stdin, timeout_seconds, pass_fds, is_stopped)
    return result


def _run_once(
    argv: list[str],
    env: dict[str, str],
    cwd: str,
    stdin: bytes,
    timeout_seconds: float,
    pass_fds: tuple[int, ...],
    is_stopped: Callable[[], bool] | None,
) -> ToolResult:
    with _Process(
        argv,
        env=env,
        cwd=cwd,
        stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        pass_fds=pass_fds,
    ) as process:
        try:
            stdout, stderr = _communicate(process, stdin, timeout_seconds, is_stopped)
        except subprocess.TimeoutExpired:
            raise ToolTimeout(f"{argv[0]} did not exit within {timeout_seconds:g} s") from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        return ToolResult(process.returncode, stdout, stderr)


def _communicate(
    process: subprocess.Popen[bytes],
    stdin: bytes,
    timeout_seconds: float,
    is_stopped: Callable[[], bool] | None,
) -> tuple[bytes, bytes]:
    """Return the output; raise TimeoutExpired after the timeout, or soon after it is stopped."""
    if is_stopped is None:
        return process.communicate(stdin or None, timeout=timeout_seconds)
    until = time.monotonic() + timeout_seconds
    while True:
        try:
            return process.communicate(stdin or None, timeout=_POLL_SECONDS)
        except subprocess.TimeoutExpired:
            if is_stopped() or time.monotonic() >= until:
                raise


def read_tool_output(
    argv: list[str], *, env: dict[str, str], cwd: str, limit: int, timeout_seconds: float
) -> BoundedOutput:
    """Run a program, and kill it once its output is longer than `limit` bytes.

    Raises OSError when it cannot start, and ToolTimeout.
    """
    with (
        TemporaryFile() as errors,
        subprocess.Popen(
            argv,
            env=env,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        ) as process,
    ):
        assert process.stdout is not None
        timer = threading.Timer(timeout_seconds, process.kill)
        timer.start()
        try:
            data = process.stdout.read(limit + 1)
            if len(data) > limit:
                process.kill()
            status = process.wait()
            is_late = not timer.is_alive()
        finally:
            timer.cancel()
        if is_late:
            raise ToolTimeout(f"{argv[0]} did not exit within {timeout_seconds:g} s")
        errors.seek(0)
        return BoundedOutput(data[:limit], len(data) > limit, status, errors.read())


def run_in_foreground(argv: list[str], cwd: str | None = None, env: dict[str, str] | None = None) -> int:
    """Run a program on our terminal and return its status; 127 when it cannot be started.

    Ctrl-C is for the program: this process waits until it ends.
    """
    # A handler instead of SIG_IGN, which the program would inherit; only the main thread can set one.
    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, _do_nothing) if main else None
    try:
        return subprocess.run(argv, check=False, cwd=cwd, env=env).returncode
    except OSError:
        return 127
    finally:
        if main:
            signal.signal(signal.SIGINT, before)


def _do_nothing(number: int, frame: FrameType | None) -> None:
    """Leave the signal to the program in the foreground."""
