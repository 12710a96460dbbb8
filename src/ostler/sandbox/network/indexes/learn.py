"""Asks package indexes where their files are: often another host than that of the index."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from urllib.error import HTTPError

from msgspec import Struct

from ostler.sandbox.network.indexes.address import hide_secrets, may_link, read_address, read_host
from ostler.sandbox.network.indexes.found import Index
from ostler.sandbox.network.indexes.kept import is_public, keep, read_kept
from ostler.sandbox.network.indexes.pages import ACCEPT, FILES, PAGES, read_links

SECONDS = 5.0  # for one index, with all its pages
RETRY_SECONDS = 120.0  # after a failure
MAX_HOSTS = 8  # a page that links to more hosts is not one of an index
_NOT_FOUND = 404


class Learned(Struct, frozen=True):
    """Where the files of one index are, apart from the index itself."""

    hosts: tuple[str, ...] = ()
    local_ports: tuple[int, ...] = ()
    directories: tuple[Path, ...] = ()
    note: str = ""  # what was not found out


class _Known(Struct, frozen=True):
    learned: Learned
    asked_at: float


_known: dict[Index, _Known] = {}


def learn_all(
    indexes: Iterable[Index],
    environ: Mapping[str, str],
    certificates: tuple[str, ...] = (),
    seconds: float = SECONDS,
    monotonic: Callable[[], float] = time.monotonic,
    *,
    ask_again: bool = False,
) -> dict[Index, Learned]:
    """Return where the files of each index are; the indexes are asked at the same time."""
    every = tuple(dict.fromkeys(indexes))
    questions = {one: _question(one, environ, certificates) for one in every}
    lessons = [
        _Lesson(one, environ, certificates, seconds)
        for one in every
        if ask_again or not _is_known(one, environ, questions[one], monotonic())
    ]
    for lesson in lessons:
        lesson.start()
    end = time.monotonic() + seconds
    for lesson in lessons:
        lesson.join(max(0.0, end - time.monotonic()))
        _known[lesson.index] = _Known(lesson.read(), monotonic())
        if question := questions[lesson.index]:
            keep(environ, question, _known[lesson.index].learned)
    return {one: _known[one].learned for one in every}


def _is_known(index: Index, environ: Mapping[str, str], question: list[str], now: float) -> bool:
    if index not in _known and question and (kept := read_kept(environ, question, Learned)):
        _known[index] = _Known(kept[0], now - kept[1])
    known = _known.get(index)
    return known is not None and (not known.learned.note or now - known.asked_at < RETRY_SECONDS)


def _question(index: Index, environ: Mapping[str, str], certificates: tuple[str, ...]) -> list[str]:
    """Return what the answer depends on; empty if it holds a secret, so that the answer is not kept."""
    names = (name for name in sorted(environ) if name.lower().endswith("_proxy"))
    proxies = [f"{name}={hide_secrets(environ[name])}" for name in names]
    question = [index.kind, index.url, *certificates, *proxies]
    return question if all(map(is_public, question)) else []


class _Lesson(threading.Thread):
    """Asks one index; what it has found out is kept when the time is over."""

    def __init__(
        self, index: Index, environ: Mapping[str, str], certificates: tuple[str, ...], seconds: float
    ) -> None:
        # A daemon: the resolution of a name cannot be ended, and must not delay the end of this process.
        super().__init__(name="package-index", daemon=True)
        self.index = index
        self._environ, self._certificates, self._seconds = environ, certificates, seconds
        self._found: dict[str, None] = {}
        self._problem = "it did not answer in time"

    def run(self) -> None:
        # On use: the import takes 35 ms.
        from ostler.sandbox.network.indexes import fetch  # noqa: PLC0415

        try:
            fetcher = fetch.Fetcher(self._environ, self._certificates, self._add, self._seconds)
            files = self._read_page(fetcher.fetch)
        except fetch.FAILURES as error:
            self._problem = str(error) or type(error).__name__
            return
        for url in files:
            self._add(url)
        self._problem = ""
        for url in files[-1:]:
            try:
                fetcher.fetch(url, method="HEAD")
            except fetch.FAILURES:
                continue  # the hops before the failure are known

    def _read_page(self, fetch: Callable[..., tuple[bytes, str, str]]) -> list[str]:
        kind, base = self.index.kind, self.index.url
        names = PAGES.get(kind, ())
        for position, name in enumerate(names):
            url = f"{base.rstrip('/')}/{name}" if name else base
            try:
                found = read_links(kind, *fetch(url, ACCEPT.get(kind, "*/*")))
            except HTTPError as error:
                if error.code != _NOT_FOUND or position == len(names) - 1:
                    raise
                continue
            if not found:
                raise ValueError(f"its page {name or '/'} links to no file")
            return found
        return [f"{base.rstrip('/')}/{FILES[kind]}"]

    def _add(self, url: str) -> bool:
        """Keep the address of a file or a redirect; an index does not open this machine or its network."""
        address = read_address(url)
        if address is None or address.path is not None:
            return False
        if not may_link(read_host(self.index.url), read_host(url)):
            return False
        place = address.host or f":{address.local_port}"
        if len(self._found) < MAX_HOSTS:
            self._found[place] = None
        return place in self._found

    def read(self) -> Learned:
        """Return what is known now."""
        found = tuple(self._found)
        shown = hide_secrets(self.index.url)
        note = f"{shown}: the hosts of its files are not known: {self._problem}" if self._problem else ""
        return Learned(
            tuple(one for one in found if not one.startswith(":")),
            tuple(int(one[1:]) for one in found if one.startswith(":")),
            note=note,
        )
