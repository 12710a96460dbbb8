"""Finds the user of a connection on this machine: a sandbox without its own network shares its ports."""

from __future__ import annotations

import os
import socket
import struct
import sys

_SOCK_DIAG = 4  # netlink protocol
_BY_FAMILY, _REQUEST = 20, 1
_ALL_STATES = _ANY_COOKIE = 0xFFFFFFFF
_HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence, port
_ADDRESS_PADDING = bytes(12)
_USER_AT = _HEADER.size + 4 + 48 + 12  # in the answer: after the state, the addresses and the queues
_SECONDS = 1.0


def is_own_connection(client: tuple[str, int], server: tuple[str, int]) -> bool:
    """Return whether a program of this user opened the connection; False in doubt."""
    try:
        return find_user(client, server) == os.getuid()
    except OSError:
        return False


def find_user(client: tuple[str, int], server: tuple[str, int]) -> int | None:
    """Return the user id of the program that opened a connection; None if there is no such connection."""
    addresses = b"".join(socket.inet_aton(host) + _ADDRESS_PADDING for host, _ in (client, server))
    identity = struct.pack("!HH", client[1], server[1]) + addresses
    request = struct.pack("=BBBBI", socket.AF_INET, socket.IPPROTO_TCP, 0, 0, _ALL_STATES)
    request += identity + struct.pack("=III", 0, _ANY_COOKIE, _ANY_COOKIE)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
        kernel.settimeout(_SECONDS)
        header = _HEADER.pack(_HEADER.size + len(request), _BY_FAMILY, _REQUEST, 1, 0)
        kernel.send(header + request)
        answer = kernel.recv(8192)
    if _HEADER.unpack_from(answer)[1] != _BY_FAMILY or len(answer) < _USER_AT + 4:
        return None
    return int.from_bytes(answer[_USER_AT : _USER_AT + 4], sys.byteorder)
