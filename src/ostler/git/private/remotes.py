"""The remotes of a task's git directory: names and fetch addresses, but no address for a push."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from msgspec import Struct

from ostler.git.publish.remote import strip_login
from ostler.git.run.safe_config import Entry

REFUSED = "ostler-refused"  # the program git-remote-ostler-refused is the transport
_COPIED_KEYS = ("fetch", "tagopt", "promisor", "partialclonefilter", "prune")
_HTTP = ("http://", "https://")
_SCP = re.compile(r"(?:[^/@\s]+@)?([^/:\s]+):(?!//)")
# Any address that is named in the command; a remote of the configuration has a push address of its own.
ANY_ADDRESS = (f"url.{REFUSED}::.pushinsteadof", "")


class Remotes(Struct, frozen=True):
    """The remotes of a repository."""

    names: tuple[str, ...]
    settings: tuple[Entry, ...]  # everything except addresses
    addresses: dict[str, str]  # for fetch
    push_addresses: tuple[str, ...]  # of `pushurl`

    def guarded_settings(self) -> tuple[Entry, ...]:
        """Return settings with which every push starts the program that refuses it."""
        found: list[Entry] = []
        for name in self.names:
            found.append((f"remote.{name}.url", guard_address(self.addresses.get(name, ""))))
            found.append((f"remote.{name}.pushurl", f"{REFUSED}::{name}"))
        return (*found, ANY_ADDRESS)


def find_remotes(entries: Iterable[Entry]) -> Remotes:
    """Return the remotes that a configuration names."""
    settings: list[Entry] = []
    addresses: dict[str, str] = {}
    push_addresses: list[str] = []
    for name, value in entries:
        remote, key = _split_name(name)
        if key == "url" and value:
            addresses.setdefault(remote, value)
        elif key == "pushurl" and value:
            push_addresses.append(value)
        elif key in _COPIED_KEYS:
            settings.append((name, value or "true"))
    kept = tuple((name, value) for name, value in settings if _split_name(name)[0] in addresses)
    return Remotes(tuple(addresses), kept, addresses, tuple(push_addresses))


def guard_address(address: str) -> str:
    """Return an http address without its login; any other one starts the program that refuses it."""
    return strip_login(address) if address.startswith(_HTTP) else f"{REFUSED}::{find_host(address)}"


def find_host(address: str) -> str:
    """Return HOST of an address, or the path of a repository on this machine."""
    if "://" in address:
        parts = urlsplit(address)
        return parts.hostname or parts.path
    found = _SCP.match(address)
    return found[1] if found else address


def _split_name(name: str) -> tuple[str, str]:
    section, _, rest = name.partition(".")
    remote, _, key = rest.rpartition(".")
    return (remote, key) if section == "remote" and remote and "\n" not in remote else ("", "")
