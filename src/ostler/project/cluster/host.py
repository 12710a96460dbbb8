"""The name of this machine in the records of a cluster."""

from __future__ import annotations

import os

from ostler.files.atomic import create_exclusive, make_private_dir
from ostler.files.layout import Layout
from ostler.lazy import lazy_pattern

_FILE = "host"
_NOT_IN_A_NAME = lazy_pattern(r"[^A-Za-z0-9-]+")


def read_host_id(layout: Layout) -> str:
    """Return the host name and a random word that is created once with the clone of the project.

    With the same host name, two clones are two hosts: neither has the worktrees of the other.
    """
    make_private_dir(layout.state)
    if not (found := find_host_id(layout)):
        create_exclusive(layout.state / _FILE, os.urandom(3).hex().encode())
        found = find_host_id(layout)
    return found


def find_host_id(layout: Layout) -> str:
    """Return the id of this host; empty if no worker has run in this clone."""
    try:
        word = (layout.state / _FILE).read_text("ascii").strip()
    except FileNotFoundError:
        return ""
    name = _NOT_IN_A_NAME.sub("-", os.uname().nodename.partition(".")[0]).strip("-")
    return f"{name or 'host'}-{word}"
