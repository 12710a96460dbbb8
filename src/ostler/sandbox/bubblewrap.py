"""Starts a command with bubblewrap in its own view of the file system."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

from ostler.sandbox.mounts import View

# bwrap ends at SIGTERM, and the command would be killed with it: only the command receives the signal.
_KEEP_ALIVE = 'trap "" TERM INT HUP; exec "$0" "$@"'
_RESET = ("env", "--default-signal=TERM,INT,HUP")


def find_bubblewrap(environ: Mapping[str, str]) -> str | None:
    """Return the path of bwrap; None if it is not installed."""
    path = environ.get("PATH", os.defpath)
    # Below the working directory, a task could have put one.
    absolute = [one for one in path.split(os.pathsep) if one.startswith("/")]
    return shutil.which("bwrap", path=os.pathsep.join(absolute))


def wrap_with_bubblewrap(program: str, view: View) -> tuple[str, ...]:
    """Return the arguments before those of the command."""
    mounts = [
        argument
        for one in view.mounts
        for argument in ("--bind" if one.writable else "--ro-bind", str(one.source), str(one.destination))
    ]
    return (
        "/bin/sh", "-c", _KEEP_ALIVE, program,
        "--dev-bind", "/", "/", *mounts,
        "--unshare-pid", "--proc", "/proc", *(() if view.network else ("--unshare-net",)),
        "--die-with-parent", "--chdir", str(view.directory), "--", *_RESET,
    )  # fmt: skip
