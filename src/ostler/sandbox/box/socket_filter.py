"""A system call filter for the ways to connect that Landlock does not restrict."""

from __future__ import annotations

import errno
from typing import NamedTuple

from ostler.model.policy.sandbox import Network
from ostler.sandbox.box.bpf import (
    ALLOW,
    AND,
    ARCHITECTURE,
    ERRNO,
    JUMP_EQUAL,
    JUMP_GREATER_EQUAL,
    JUMP_SET,
    LOAD,
    NUMBER,
    RETURN,
    X32,
    FilterProgram,
    locate_argument,
)

_INET, _INET6, _NETLINK = 2, 10, 16
_STREAM, _TYPE_MASK = 1, 0xF
_ANY_PROTOCOL, _TCP = 0, 6  # Landlock does not check other protocols with streams, such as MPTCP
_FASTOPEN = 0x20000000  # connects without the call that Landlock checks


class _Calls(NamedTuple):
    architecture: int
    socket: int
    senders: tuple[tuple[int, int], ...]  # calls that send, and the place of their flags


_CALLS = {
    "x86_64": _Calls(0xC000003E, 41, ((44, 3), (46, 2), (307, 3))),
    "aarch64": _Calls(0xC00000B7, 198, ((206, 3), (211, 2), (269, 3))),
}


def build_socket_filter(architecture: str, network: Network) -> bytes:
    """Return the filter: no Unix sockets with a name; with `proxy` only TCP, with `off` no network."""
    calls, program = _CALLS[architecture], FilterProgram()
    program.add(LOAD, ARCHITECTURE)
    program.add(JUMP_EQUAL, calls.architecture, if_false="denied")
    program.add(LOAD, NUMBER)
    program.add(JUMP_GREATER_EQUAL, X32, if_true="denied")
    program.add(JUMP_EQUAL, calls.socket, if_true="socket")
    if network == "proxy":
        for number, _ in calls.senders:
            program.add(JUMP_EQUAL, number, if_true=f"sender {number}")
    program.add(RETURN, ALLOW)
    _check_socket(program, network)
    if network == "proxy":
        for number, flags in calls.senders:
            program.place(f"sender {number}")
            program.add(LOAD, locate_argument(flags))
            program.add(JUMP_SET, _FASTOPEN, if_true="denied", if_false="allowed")
    program.place("allowed")
    program.add(RETURN, ALLOW)
    program.place("denied")
    program.add(RETURN, ERRNO | errno.EACCES)
    return program.assemble()


def _check_socket(program: FilterProgram, network: Network) -> None:
    program.place("socket")
    program.add(LOAD, locate_argument(0))
    program.add(JUMP_EQUAL, _NETLINK, if_true="allowed")
    if network == "off":
        program.add(RETURN, ERRNO | errno.EACCES)
        return
    after = "type" if network == "proxy" else "allowed"
    program.add(JUMP_EQUAL, _INET, if_true=after)
    program.add(JUMP_EQUAL, _INET6, if_true=after, if_false="denied")
    program.place("type")
    program.add(LOAD, locate_argument(1))
    program.add(AND, _TYPE_MASK)
    program.add(JUMP_EQUAL, _STREAM, if_false="denied")
    program.add(LOAD, locate_argument(2))
    program.add(JUMP_EQUAL, _ANY_PROTOCOL, if_true="allowed")
    program.add(JUMP_EQUAL, _TCP, if_true="allowed", if_false="denied")
