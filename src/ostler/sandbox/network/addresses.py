"""Which addresses a name may lead to."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Literal

IpAddress = IPv4Address | IPv6Address
Resolve = Callable[[str, int], Awaitable[list[str]]]
"""Returns the addresses of a name; raises OSError."""

Scope = Literal["public", "private", "forbidden"]
"""forbidden: this machine, its link, the metadata service of a cloud, or no address of one host."""

_METADATA = frozenset(
    map(ip_address, ("169.254.169.254", "fd00:ec2::254", "100.100.100.200", "168.63.129.16", "192.0.0.192"))
)
_NAT64 = IPv6Network("64:ff9b::/96")


async def resolve_name(host: str, port: int) -> list[str]:
    """Return the addresses of a name, in the order of the system."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def classify(text: str) -> Scope:
    """Return the scope of an address; one that is not valid is forbidden."""
    try:
        address = ip_address(text)
    except ValueError:
        return "forbidden"
    inner = _embedded(address)
    return _classify(address) if inner is None else _classify(inner)


def _classify(address: IpAddress) -> Scope:
    if address in _METADATA or address.is_loopback or address.is_link_local or address.is_unspecified:
        return "forbidden"
    if address.is_multicast or address.is_reserved or (address.version == 4 and address.packed[0] == 0):
        return "forbidden"
    if isinstance(address, IPv6Address) and (address.is_site_local or address.ipv4_mapped is not None):
        return "forbidden"
    return "public" if address.is_global else "private"


def _embedded(address: IpAddress) -> IPv4Address | None:
    """Return the IPv4 address that a translated IPv6 address leads to."""
    if isinstance(address, IPv4Address):
        return None
    if address in _NAT64:
        return IPv4Address(address.packed[12:])
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
