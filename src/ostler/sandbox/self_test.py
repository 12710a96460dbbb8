"""Checks once per process that an isolation works: with its real arguments, on files made for it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from ostler.process.tool import ToolResult, ToolTimeout, run_tool
from ostler.sandbox.bubblewrap import wrap_with_bubblewrap
from ostler.sandbox.mounts import Mount, View
from ostler.sandbox.unshare import wrap_with_unshare

_SECONDS = 20.0
_ADVICE = ("Run '", "See '")  # the last line of docker and podman, after the reason
# The work tree of the user must be hidden, a mounted directory read-only, other processes invisible.
_CHECK = """
test "$(cat which)" = commit || exit 11
test ! -e "$USER_TREE/secret" || exit 12
test "$(cat kept/which)" = user || exit 13
if echo x 2>/dev/null > kept/new; then exit 14; fi
echo x > written || exit 15
if test -e "/proc/$OUTSIDE/stat" && test "$OUTSIDE" -gt 9; then exit 16; fi
if test -n "$NO_NETWORK" && grep -qv 'lo:\\||' /proc/net/dev; then exit 17; fi
"""
_Wrap = Callable[[View, Path], tuple[str, ...]]


@cache
def why_bubblewrap_fails(program: str, network: bool) -> str:
    """Return why bubblewrap cannot be used here; empty if it works."""
    return _run_check(lambda view, private: wrap_with_bubblewrap(program, view), network)


@cache
def why_unshare_fails(program: str, network: bool) -> str:
    """Return why unshare cannot be used here; empty if it works."""
    return _run_check(lambda view, private: wrap_with_unshare(program, view, private), network)


def _run_check(wrap: _Wrap, network: bool) -> str:
    with tempfile.TemporaryDirectory(prefix="ostler-isolation-") as name:
        directory = Path(os.path.realpath(name))
        user, tree = directory / "user", directory / "tree"
        for path, text in (
            (user, "user"),
            (tree, "commit"),
            (user / "kept", "user"),
            (tree / "kept", "commit"),
        ):
            path.mkdir()
            (path / "which").write_text(text)
        (user / "secret").write_text("secret")
        mounts = (Mount(tree, user, writable=True), Mount(user / "kept", user / "kept"))
        return _run(wrap(View(mounts, user, network), directory), user, network)


def _run(prefix: tuple[str, ...], user: Path, network: bool) -> str:
    env = {
        "PATH": os.environ.get("PATH", os.defpath),
        "USER_TREE": str(user),
        "OUTSIDE": str(os.getpid()),
        "NO_NETWORK": "" if network else "1",
    }
    argv = [*prefix, "/bin/sh", "-c", _CHECK]
    try:
        ended = run_tool(argv, env=env, cwd=str(user.parent), timeout_seconds=_SECONDS)
    except (OSError, ToolTimeout) as error:
        return str(error)
    if ended.status == 0:
        return "" if (user.parent / "tree" / "written").exists() else "its files are not written"
    return describe_exit(ended)


def describe_exit(ended: ToolResult) -> str:
    """Return the exit of a self-test with the last line of its error output that is not about help."""
    lines = ended.stderr.decode("utf-8", "replace").splitlines()
    last = [line.strip() for line in lines if line.strip() and not line.startswith(_ADVICE)][-1:]
    return f"its self-test failed (exit {ended.status}" + "".join(f": {one}" for one in last) + ")"
