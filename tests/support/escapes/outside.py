"""Attempts to reach other machines, services of the host, and its processes."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
import time

from attempt import Facts, attempt


@attempt()
def connect_to_the_loopback_of_the_host(facts: Facts) -> None:
    socket.create_connection(("127.0.0.1", facts["tcp_port"]), 2).close()


@attempt()
def connect_to_an_address_of_the_host(facts: Facts) -> None:
    socket.create_connection((facts["address"], facts["tcp_port"]), 2).close()


@attempt()
def connect_over_ipv6(facts: Facts) -> None:
    with socket.socket(socket.AF_INET6) as client:
        client.settimeout(2)
        client.connect(("::1", facts["tcp6_port"]))


@attempt()
def send_a_datagram(facts: Facts) -> None:
    """A query over UDP, such as one for a name, reaches the host's server."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(0.3)
        client.connect(("127.0.0.1", facts["udp_port"]))
        client.send(b"query")
        client.recv(16)


@attempt("none")
def ask_a_name_server(facts: Facts) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(0.3)
        client.sendto(b"\0" * 12, ("192.0.2.1", 53))


@attempt("none")
def connect_to_the_metadata_service(facts: Facts) -> None:
    socket.create_connection(("169.254.169.254", 80), 0.3).close()


@attempt("root")
def open_a_raw_socket(facts: Facts) -> None:
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close()


@attempt("root")
def open_a_packet_socket(facts: Facts) -> None:
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()


@attempt()
def use_a_rare_socket_family(facts: Facts) -> None:
    """AF_VSOCK leads to the machine around a virtual machine, AF_ALG into the kernel's ciphers."""
    for family in (socket.AF_VSOCK, socket.AF_ALG):
        with contextlib.suppress(OSError):
            socket.socket(family, socket.SOCK_STREAM if family == socket.AF_VSOCK else socket.SOCK_SEQPACKET)
            return
    raise OSError


@attempt()
def connect_to_an_abstract_socket(facts: Facts) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("\0" + facts["abstract"])


@attempt("root")
def change_the_network_by_netlink(facts: Facts) -> None:
    """RTM_NEWLINK: sets the flags of the loopback interface to what they are."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as link:
        link.bind((0, 0))
        body = struct.pack("BxHiII", 0, 0, 1, 0, 0)
        link.send(struct.pack("IHHII", 16 + len(body), 16, 5, 1, 0) + body)
        (error,) = struct.unpack_from("i", link.recv(4096), 16)
        if error:
            raise OSError(-error, os.strerror(-error))


@attempt()
def see_an_interface_of_the_host(facts: Facts) -> None:
    if {name for _, name in socket.if_nameindex()} == {"lo"}:
        raise LookupError


@attempt()
def signal_a_process_of_the_host(facts: Facts) -> None:
    os.kill(facts["host_pid"], 0)


@attempt()
def find_the_keeper(facts: Facts) -> None:
    """An agent without a sandbox can stop its keeper."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
            if b"keeper.forker" in file.read() and int(pid) != os.getpid():
                return
    raise LookupError


@attempt("none")
def end_the_first_process(facts: Facts) -> None:
    """The signal must not reach a process whose end the keeper does not report."""
    if facts["inside"]:
        os.kill(1, signal.SIGTERM)
        time.sleep(0.05)
        os.kill(1, 0)
        raise LookupError  # it still runs


@attempt()
def count_the_processes_of_the_host(facts: Facts) -> None:
    if sum(map(str.isdigit, os.listdir("/proc"))) < 10:
        raise LookupError


@attempt("none")
def leave_a_daemon(facts: Facts) -> None:
    """The host checks that no process with this argument is left after the attempt."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for descriptor in (0, 1, 2):
                os.close(descriptor)
            os.environ.clear()
            os.execv("/bin/sleep", [facts["daemon_name"], "321"])
        os._exit(0)
    raise LookupError
