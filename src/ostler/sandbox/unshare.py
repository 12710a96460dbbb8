"""Starts a command with unshare(1) in its own view of the file system, where bubblewrap is missing."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path

from ostler.sandbox.mounts import Mount, View

_PROGRAMS = ("unshare", "mount", "setpriv")
# The command must not undo the mounts.
_DROP = "setpriv --inh-caps=-all --ambient-caps=-all --bounding-set=-all --"
_STAGED = "mounts"  # in the private directory: a work tree is hidden before its directories are mounted


def find_unshare(environ: Mapping[str, str]) -> str | None:
    """Return the path of unshare if all programs for it are installed."""
    found = [shutil.which(name, path=environ.get("PATH")) for name in _PROGRAMS]
    return found[0] if all(found) else None


def wrap_with_unshare(program: str, view: View, private: Path) -> tuple[str, ...]:
    """Return the arguments before those of the command."""
    network = () if view.network else ("--net",)
    return (
        program, "--user", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", *network,
        "--map-current-user", "--keep-caps", "--", "/bin/sh", "-ec", _write_script(view, private), "sh",
    )  # fmt: skip


def _write_script(view: View, private: Path) -> str:
    staging = shlex.quote(str(private / _STAGED))
    lines = [f"mkdir -p {staging}", f"mount -t tmpfs ostler {staging}"]
    for number, mount in enumerate(view.mounts):
        lines += _stage(mount, f"{staging}/{number}")
    for number, mount in enumerate(view.mounts):
        lines += _mount(mount, f"{staging}/{number}")
    return "\n".join((*lines, f"cd {shlex.quote(str(view.directory))}", f'exec {_DROP} "$@"'))


def _stage(mount: Mount, stage: str) -> list[str]:
    make = "mkdir" if mount.source.is_dir() else "touch"
    return [f"{make} {stage}", f"mount --rbind {shlex.quote(str(mount.source))} {stage}"]


def _mount(mount: Mount, stage: str) -> list[str]:
    place = shlex.quote(str(mount.destination))
    lines = [f"mount --rbind {stage} {place}"]
    if not mount.writable:
        # A user namespace must keep the restrictions of the file system.
        plain = f"mount -o remount,bind,ro {place} 2>/dev/null"
        lines.append(f"{plain} || mount -o remount,bind,ro,nosuid,nodev {place}")
    return lines
