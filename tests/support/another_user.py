"""Runs programs as a user who is not root, with the files of this interpreter readable for that user."""

from __future__ import annotations

import shlex
import stat
import subprocess
import sys
from pathlib import Path

import ostler

USER = 54321  # no user of this machine has it


REFUSE = "echo 0 > /proc/sys/user/max_user_namespaces"


def as_user(*, user_namespaces: bool = True) -> tuple[str, ...]:
    """Return the arguments before those of a program that runs as another user. Only root can use them."""
    become = f'exec setpriv --reuid {USER} --regid {USER} --clear-groups -- "$@"'
    return _in_namespaces([*_open_directories(), become], user_namespaces)


def as_root_without_user_namespaces() -> tuple[str, ...]:
    """Return the arguments before those of a program that runs as root, but cannot make user namespaces."""
    return _in_namespaces(['exec "$@"'], user_namespaces=False)


def in_container() -> tuple[str, ...]:
    """Return the arguments before those of a program that has no rights and cannot make namespaces."""
    return ("bwrap", "--dev-bind", "/", "/", "--unshare-user", "--disable-userns", "--cap-drop", "ALL", "--")


def _in_namespaces(lines: list[str], user_namespaces: bool) -> tuple[str, ...]:
    # A namespace of its own has its own limit.
    own = (
        ()
        if user_namespaces
        else (sys.executable, "-I", str(Path(__file__).with_name("own_user_namespace.py")))
    )
    refuse = [] if user_namespaces else [REFUSE]
    return (*own, "unshare", "--mount", "--", "/bin/sh", "-ec", "\n".join([*refuse, *lines]), "sh")


def _open_directories() -> list[str]:
    """Return shell lines that mount the needed directories below those that only root can enter."""
    needed = {Path(one) for one in (sys.base_prefix, sys.prefix, Path(ostler.__file__).parents[1])}
    closed: dict[Path, list[Path]] = {}
    for one in sorted(needed):
        if outer := _find_closed(one):
            closed.setdefault(outer, []).append(one)
    lines = ["staged=$(mktemp -d)", 'mount -t tmpfs none "$staged"']
    for number, (outer, inner) in enumerate(closed.items()):
        for index, one in enumerate(inner):
            place = f'"$staged"/{number}-{index}'
            lines += [f"mkdir {place}", f"mount --bind {shlex.quote(str(one))} {place}"]
        lines.append(f"mount -t tmpfs -o mode=755 none {shlex.quote(str(outer))}")
        for index, one in enumerate(inner):
            path = shlex.quote(str(one))
            lines += [f"mkdir -p {path}", f'mount --bind "$staged"/{number}-{index} {path}']
    return [*lines, 'umount "$staged" 2>/dev/null || true']


def _find_closed(path: Path) -> Path | None:
    """Return the topmost directory on the way that other users cannot enter."""
    around = (one for one in reversed(path.parents) if not one.stat().st_mode & stat.S_IXOTH)
    return next(around, None)


def can_use() -> bool:
    """Return whether programs can be started as another user here."""
    tried = subprocess.run([*as_user(), "true"], capture_output=True, check=False)
    return tried.returncode == 0
