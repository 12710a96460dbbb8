"""The values of the search for package indexes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from msgspec import Struct

Kind = Literal["python", "links", "npm", "cargo", "go", "gem", "conda", "maven"]
"""What an index serves; `links`: one page of links, as `pip --find-links` reads it."""


class Index(Struct, frozen=True):
    """One package index; its URL can hold a password and is not shown."""

    kind: Kind
    url: str


class Found(Struct, frozen=True):
    """What the settings of one tool name."""

    indexes: tuple[Index, ...] = ()
    paths: tuple[Path, ...] = ()  # local indexes and directories of packages
    certificates: tuple[str, ...] = ()  # paths of certificates that the tool trusts
    files: tuple[tuple[Path, bytes], ...] = ()  # settings files of the user, without secrets
    watched: tuple[Path, ...] = ()  # files that can change the answer; they need not exist
    notes: tuple[str, ...] = ()
    failed: bool = False  # a tool did not answer


class Indexes(Struct, frozen=True):
    """What a sandbox allows so that the tools can install packages."""

    hosts: tuple[str, ...] = ()  # HOST or HOST:PORT
    directories: tuple[Path, ...] = ()  # to mount read-only
    files: dict[str, bytes] = {}  # for the private HOME: relative path and content, without secrets
    notes: tuple[str, ...] = ()  # what was not found out or is left out
    local_ports: tuple[int, ...] = ()  # indexes on 127.0.0.1 of this machine
    environment: dict[str, str] = {}  # variables that name indexes, without secrets
    urls: tuple[tuple[Kind, str], ...] = ()  # the indexes, without secrets


def join_found(parts: Iterable[Found]) -> Found:
    """Return everything that the parts name, each once."""
    every = tuple(parts)
    return Found(
        tuple(dict.fromkeys(one for part in every for one in part.indexes)),
        tuple(dict.fromkeys(one for part in every for one in part.paths)),
        tuple(dict.fromkeys(one for part in every for one in part.certificates)),
        tuple(dict.fromkeys(one for part in every for one in part.files)),
        tuple(dict.fromkeys(one for part in every for one in part.watched)),
        tuple(dict.fromkeys(one for part in every for one in part.notes)),
        any(part.failed for part in every),
    )
