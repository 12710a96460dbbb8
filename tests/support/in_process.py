"""Runs one command of the program in the process of the test, with the state of a new process."""

from __future__ import annotations

import ctypes
import functools
import gc
import io
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from ostler.__main__ import run_program
from ostler.process.forker_client import shared_forker

_PR_SET_CHILD_SUBREAPER = 36
_SETTLE_SECONDS = 20.0
_STREAMS = ("stdin", "stdout", "stderr")
_searched: set[str] = set()  # modules
_caches: list[functools._lru_cache_wrapper[object]] = []


def run_command(
    args: list[str], cwd: Path, environ: Mapping[str, str], stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run `ostler ARGS` and return its exit code and output; fail when threads or children are left."""
    threads, children = _threads(), set(_children())
    with ExitStack() as changes:
        changes.callback(gc.collect)
        out, err = (changes.enter_context(_descriptor(number)) for number in (1, 2))
        changes.enter_context(_descriptor(0, stdin.encode()))
        changes.enter_context(_process_state(args, cwd, environ, below=cwd.parent))
        code = _call_main()
        if shared_forker.cache_info().currsize:
            shared_forker().close()
        left = _await_end(threads, children)
        sys.stdout.flush()
        sys.stderr.flush()
        texts = [_read_all(copy) for copy in (out, err)]
    assert not left, f"ostler {' '.join(args)} left {left}"
    return subprocess.CompletedProcess(["ostler", *args], code, *texts)


def _call_main() -> int:
    """Call the program's entry point; return the exit code that a new process would have."""
    if temporal := sys.modules.get("ostler.engine.temporal.connection"):
        temporal.CONNECTED.clear()  # a test may have connected; only a command of its own would end here
    try:
        return run_program()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except Exception:  # noqa: BLE001  (Python prints it and exits with 1; the caller looks for the traceback)
        traceback.print_exc()
        return 1


@contextmanager
def _descriptor(number: int, content: bytes = b"") -> Iterator[int]:
    """Replace a standard descriptor by a file in memory; the value is a second descriptor of that file."""
    copy = os.memfd_create(_STREAMS[number])
    os.write(copy, content)
    os.lseek(copy, 0, os.SEEK_SET)
    saved = os.dup(number)
    os.dup2(copy, number)
    try:
        yield copy
    finally:
        os.dup2(saved, number)
        os.close(saved)
        os.close(copy)


@contextmanager
def _process_state(args: list[str], cwd: Path, environ: Mapping[str, str], below: Path) -> Iterator[None]:
    """Set what a new process starts with, and restore what this one had."""
    with ExitStack() as restored:
        for change in (_python_state(args), _environment(environ), _signals(), _hooks(), _modules(below)):
            restored.enter_context(change)
        restored.callback(os.chdir, os.getcwd())
        restored.callback(_refuse_orphans)
        os.chdir(cwd)
        _clear_caches()
        yield


@contextmanager
def _python_state(args: list[str]) -> Iterator[None]:
    saved = sys.argv, sys.stdin, sys.stdout, sys.stderr, sys.path[:]
    sys.argv = ["ostler", *args]
    sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False), "utf-8", "surrogateescape")
    sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), "utf-8", "surrogateescape")
    sys.stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False), "utf-8", "backslashreplace")
    try:
        yield
    finally:
        sys.argv, sys.stdin, sys.stdout, sys.stderr, sys.path[:] = saved


@contextmanager
def _environment(environ: Mapping[str, str]) -> Iterator[None]:
    saved = dict(os.environ)
    _set_environment(environ)
    try:
        yield
    finally:
        _set_environment(saved)


def _set_environment(environ: Mapping[str, str]) -> None:
    before = os.environ.get("TZ")
    os.environ.clear()
    os.environ.update(environ)
    if os.environ.get("TZ") != before:
        time.tzset()


@contextmanager
def _signals() -> Iterator[None]:
    saved = {number: signal.getsignal(number) for number in signal.valid_signals()}
    try:
        yield
    finally:
        for number, handler in saved.items():
            if handler is not None and signal.getsignal(number) != handler:
                signal.signal(number, handler)


@contextmanager
def _hooks() -> Iterator[None]:
    """Undo pytest's hooks, so that a lost exception is printed to stderr, as in a new process."""
    root = logging.getLogger()
    saved = sys.unraisablehook, threading.excepthook, root.handlers[:], root.level
    sys.unraisablehook, threading.excepthook = sys.__unraisablehook__, threading.__excepthook__
    root.handlers.clear()
    root.setLevel(logging.WARNING)
    try:
        yield
    finally:
        sys.unraisablehook, threading.excepthook, root.handlers[:], level = saved
        root.setLevel(level)


@contextmanager
def _modules(below: Path) -> Iterator[None]:
    """Unload the modules that the command imported from the test's directory, such as plugins."""
    saved = set(sys.modules)
    try:
        yield
    finally:
        for name in sys.modules.keys() - saved:
            if Path(getattr(sys.modules[name], "__file__", None) or "/").is_relative_to(below):
                del sys.modules[name]


def _refuse_orphans() -> None:
    """A run makes its process a subreaper; a test's process is not one."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def _clear_caches() -> None:
    for name in sys.modules.keys() - _searched:
        _searched.add(name)
        if name.startswith("ostler."):
            found = vars(sys.modules[name]).values()
            _caches.extend(value for value in found if isinstance(value, functools._lru_cache_wrapper))
    for cached in _caches:
        cached.cache_clear()


def _await_end(threads: set[threading.Thread], children: set[int]) -> list[str]:
    """Wait for the threads and children that the command started; return those that do not end."""
    deadline = time.monotonic() + _SETTLE_SECONDS
    for thread in _threads() - threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    while started := [pid for pid in _children() if pid not in children and not _collect(pid)]:
        if time.monotonic() > deadline:
            break
        time.sleep(0.005)
    alive = [thread.name for thread in _threads() - threads]
    return alive + [f"{pid} {Path(f'/proc/{pid}/cmdline').read_bytes()!r}" for pid in started]


def _threads() -> set[threading.Thread]:
    """Return all threads except those in which a server of the test answers requests."""
    return {thread for thread in threading.enumerate() if "process_request" not in thread.name}


def _collect(pid: int) -> bool:
    with suppress(ChildProcessError):
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    return True


def _children() -> list[int]:
    found: list[int] = []
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended
            found += map(int, (task / "children").read_text().split())
    return found


def _read_all(descriptor: int) -> str:
    """Return all that was written, with the line ends that subprocess returns."""
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, size, 0).decode().replace("\r\n", "\n").replace("\r", "\n")
