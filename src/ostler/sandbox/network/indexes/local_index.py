"""Package indexes in directories: where the files are that their pages link to."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from ostler.sandbox.network.indexes.address import read_address
from ostler.sandbox.network.indexes.learn import MAX_HOSTS, Learned
from ostler.sandbox.network.indexes.pages import read_html

_MAX_PAGES = 500
_MAX_BYTES = 2 * 1024 * 1024


def learn_local(directory: Path, home: Path) -> Learned:
    """Return the hosts and directories that the pages of a local index link to."""
    try:
        changed = directory.stat().st_mtime_ns
    except OSError:
        return Learned()
    return _learn(directory, home, changed)


@cache
def _learn(directory: Path, home: Path, changed: int) -> Learned:
    hosts: dict[str, None] = {}
    places: dict[Path, None] = {}
    refused: dict[Path, None] = {}
    for page in _list_pages(directory):
        for link in read_html(_read(page), page.as_uri()):
            address = read_address(link)
            if address is None:
                continue
            if address.host:
                hosts[address.host] = None
            elif address.path is not None and not address.path.is_relative_to(directory):
                place = Path(os.path.normpath(address.path)).parent
                (places if _is_near(place, directory, home) else refused)[place] = None
    note = f"{directory} links to {', '.join(map(str, refused))}: to allow it, set sandbox.allow_paths"
    return Learned(tuple(hosts)[:MAX_HOSTS], (), tuple(places), note if refused else "")


def _is_near(place: Path, directory: Path, home: Path) -> bool:
    """Return whether a directory of files belongs to the index: it is beside it, and the HOME is not."""
    around = directory.parent
    return place.is_relative_to(around) and not home.is_relative_to(around)


def _list_pages(directory: Path) -> list[Path]:
    if directory.is_file():
        return [directory]
    found: list[Path] = []
    try:
        with os.scandir(directory) as entries:
            found = [Path(one.path, "index.html") for one in entries if one.is_dir()][:_MAX_PAGES]
    except OSError:
        return []
    return sorted(found)


def _read(page: Path) -> bytes:
    try:
        with page.open("rb") as file:
            return file.read(_MAX_BYTES)
    except OSError:
        return b""
