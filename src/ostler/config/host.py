"""Hosts of the network: one canonical form of a name or address, and the entries of sandbox.allow_hosts.

Programs disagree on unusual forms of a host (127.1, 0x7f.0.0.1, "example.com.", user@host), so a check of one
form proves nothing about the connection of another program. Only the plain forms are accepted here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from msgspec import Struct

PROXY_PORT = 47821  # on 127.0.0.1 inside the sandbox, which has a network of its own
WEB_PORTS = (80, 443)  # those of an entry without a port
LOCALHOST = "localhost"
_LOOPBACK = {LOCALHOST, "127.0.0.1", "::1"}

_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)\Z")
_NUMBER = re.compile(r"([0-9]+|0x[0-9a-f]*)\Z")
_PORT = re.compile(r"[1-9][0-9]{0,4}\Z")
_FORMS = "write HOST, HOST:PORT or *.DOMAIN"


class HostInvalid(ValueError):
    """A host that is not in its plain form; the message is a clause that names the reason."""


class AllowedHost(Struct, frozen=True):
    """One entry of sandbox.allow_hosts."""

    name: str  # canonical; of a wildcard: the domain
    ports: tuple[int, ...] = WEB_PORTS
    wildcard: bool = False  # all names below the domain, not the domain itself

    def covers(self, host: str, port: int) -> bool:
        """Whether a connection to a canonical host is allowed."""
        if port not in self.ports:
            return False
        return host.endswith(f".{self.name}") if self.wildcard else host == self.name

    @property
    def text(self) -> str:
        name = f"*.{self.name}" if self.wildcard else self.name
        return name if self.ports == WEB_PORTS else format_authority(name, self.ports[0])


def canonical_host(text: str) -> str:
    """Return the host in lower case, an IPv6 address without brackets; raise HostInvalid."""
    if not text.isascii():  # first: some of them become ASCII in lower case
        raise HostInvalid("it has characters that are not ASCII, so its xn-- form is needed")
    host = text.lower()
    if host.startswith("["):
        return _canonical_ipv6(host)
    if host.endswith("."):
        raise HostInvalid("it ends with a dot")
    labels = host.split(".")
    if len(host) > 253 or not all(_LABEL.match(label) for label in labels):
        raise HostInvalid("it is not a host name")
    return _canonical_ipv4(host) if _NUMBER.match(labels[-1]) else _merge_loopback(host)


def split_authority(text: str, default_port: int | None = None) -> tuple[str, int]:
    """Return the canonical host and the port of HOST:PORT; raise HostInvalid."""
    if "@" in text:
        raise HostInvalid("it has a user name")
    name, port = _split_port(text)
    if port is None and default_port is None:
        raise HostInvalid("it has no port")
    host = canonical_host(name)
    return host, default_port or 0 if port is None else _read_port(port)


def format_authority(host: str, port: int | None = None) -> str:
    """Return HOST or HOST:PORT; an IPv6 address gets its brackets."""
    name = f"[{host}]" if ":" in host else host
    return name if port is None else f"{name}:{port}"


def describe_setting(host: str, port: int) -> str:
    """Return the setting that allows a connection."""
    entry = format_authority(host, None if port in WEB_PORTS and host != LOCALHOST else port)
    return f'sandbox.allow_hosts = ["{entry}"]'


def parse_allowed_host(entry: str) -> AllowedHost:
    """Return an entry of sandbox.allow_hosts; raise HostInvalid with a sentence for a message."""
    try:
        return _parse_entry(entry)
    except HostInvalid as error:
        raise HostInvalid(f'"{entry}" is not an allowed host: {error}; {_FORMS}') from None


def parse_allow_hosts(entries: Iterable[str]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the hosts of a network policy and the ports of local services; raise HostInvalid."""
    found = [parse_allowed_host(entry) for entry in entries]
    local = (port for host in found if host.name == LOCALHOST for port in host.ports)
    return tuple(dict.fromkeys(host.text for host in found)), tuple(dict.fromkeys(local))


def _parse_entry(entry: str) -> AllowedHost:
    wildcard = entry.startswith("*.")
    name, port = _split_port(entry.removeprefix("*."))
    if any(mark in entry for mark in "/@?#"):
        raise HostInvalid("it is not only a host")
    if name == "*":
        raise HostInvalid('to allow every host, set sandbox.network = "on"')
    host = canonical_host(name)
    if wildcard and (_is_address(host) or host == LOCALHOST):
        raise HostInvalid("only a domain can have a wildcard")
    ports = WEB_PORTS if port is None else (_read_port(port),)
    if host == LOCALHOST and (port is None or ports == (PROXY_PORT,)):
        taken = "" if port is None else f" other than {PROXY_PORT}, which the sandbox uses"
        raise HostInvalid(f"it needs a port{taken}, such as localhost:5432")
    return AllowedHost(host, ports, wildcard)


def _split_port(text: str) -> tuple[str, str | None]:
    """Split HOST:PORT; a port that is missing is None."""
    if text.startswith("["):
        name, bracket, rest = text.partition("]")
        if rest and not rest.startswith(":"):
            raise HostInvalid("it is not a host name")
        return name + bracket, rest[1:] if rest else None
    name, colon, port = text.partition(":")
    return name, port if colon else None


def _read_port(text: str) -> int:
    if not text.isascii() or not _PORT.match(text) or int(text) > 65535:
        raise HostInvalid("its port is not a number from 1 to 65535")
    return int(text)


def _canonical_ipv6(text: str) -> str:
    if not text.endswith("]") or "%" in text:
        raise HostInvalid("it is not an IPv6 address")
    try:
        address = IPv6Address(text[1:-1])
    except AddressValueError:
        raise HostInvalid("it is not an IPv6 address") from None
    if address.ipv4_mapped is not None:
        raise HostInvalid("it is an IPv4 address in the form of an IPv6 address")
    return _merge_loopback(str(address))


def _canonical_ipv4(text: str) -> str:
    try:
        return _merge_loopback(str(IPv4Address(text)))
    except AddressValueError:
        raise HostInvalid("it is a number, but not an IPv4 address of four decimal parts") from None


def _merge_loopback(host: str) -> str:
    """The usual names of this machine are one host."""
    return LOCALHOST if host in _LOOPBACK else host


def _is_address(host: str) -> bool:
    return ":" in host or bool(_NUMBER.match(host.rpartition(".")[2]))
