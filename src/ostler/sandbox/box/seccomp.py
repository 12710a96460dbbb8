"""The system call filter of a sandbox: a classic BPF program, assembled without a library."""

from __future__ import annotations

import errno
import os
import platform
from functools import cache

from ostler.sandbox.box.bpf import (
    ALLOW,
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

_NAMESPACE_FLAGS = 0x7E020080  # CLONE_NEW*, also the one for time
_TERMINAL_INJECTION = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
_FAMILIES = (1, 2, 10, 16)  # unix, inet, inet6, netlink

# System calls that no build or test needs: mounts, namespaces, kernel interfaces, other processes' memory.
_DENIED = {
    "x86_64": {
        "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "unshare": 272, "setns": 308,
        "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
        "mount_setattr": 442, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
        "bpf": 321, "perf_event_open": 298, "add_key": 248, "request_key": 249, "keyctl": 250,
        "userfaultfd": 323, "name_to_handle_at": 303, "open_by_handle_at": 304, "ptrace": 101,
        "process_vm_readv": 310, "process_vm_writev": 311, "pidfd_getfd": 438, "kcmp": 312,
        "kexec_load": 246, "kexec_file_load": 320, "init_module": 175, "finit_module": 313,
        "delete_module": 176, "swapon": 167, "swapoff": 168, "reboot": 169, "settimeofday": 164,
        "clock_settime": 227, "acct": 163, "quotactl": 179, "iopl": 172, "ioperm": 173, "syslog": 103,
        "fanotify_init": 300, "sethostname": 170, "setdomainname": 171, "quotactl_fd": 443,
        "open_tree_attr": 467,
    },
    "aarch64": {
        "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51, "unshare": 97, "setns": 268,
        "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
        "mount_setattr": 442, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
        "bpf": 280, "perf_event_open": 241, "add_key": 217, "request_key": 218, "keyctl": 219,
        "userfaultfd": 282, "name_to_handle_at": 264, "open_by_handle_at": 265, "ptrace": 117,
        "process_vm_readv": 270, "process_vm_writev": 271, "pidfd_getfd": 438, "kcmp": 272,
        "kexec_load": 104, "kexec_file_load": 294, "init_module": 105, "finit_module": 273,
        "delete_module": 106, "swapon": 224, "swapoff": 225, "reboot": 142, "settimeofday": 170,
        "clock_settime": 112, "acct": 89, "quotactl": 60, "syslog": 116,
        "fanotify_init": 262, "sethostname": 161, "setdomainname": 162, "quotactl_fd": 443,
        "open_tree_attr": 467,
    },
}  # fmt: skip
_OTHERS = {  # architecture: its audit number, then clone, clone3, ioctl and socket
    "x86_64": (0xC000003E, 56, 435, 16, 41),
    "aarch64": (0xC00000B7, 220, 435, 29, 198),
}


def find_architecture() -> str:
    """Return the architecture of this machine if there is a filter for it, or an empty string."""
    machine = platform.machine()
    return machine if machine in _OTHERS else ""


@cache
def build_filter(architecture: str) -> bytes:
    """Return the filter: denied calls fail with EPERM, calls of another architecture with ENOSYS."""
    number, clone, clone3, ioctl, socket = _OTHERS[architecture]
    program = FilterProgram()
    program.add(LOAD, ARCHITECTURE)
    program.add(JUMP_EQUAL, number, if_false="missing")
    program.add(LOAD, NUMBER)
    if architecture == "x86_64":
        program.add(JUMP_GREATER_EQUAL, X32, if_true="missing")
    for call in _DENIED[architecture].values():
        program.add(JUMP_EQUAL, call, if_true="denied")
    program.add(JUMP_EQUAL, clone3, if_true="missing")  # its flags are in memory: programs use clone then
    for call, label in ((clone, "clone"), (ioctl, "ioctl"), (socket, "socket")):
        program.add(JUMP_EQUAL, call, if_true=label)
    program.add(RETURN, ALLOW)
    _check_argument(program, "clone", 0, JUMP_SET, (_NAMESPACE_FLAGS,), ("denied", "allowed"))
    _check_argument(program, "ioctl", 1, JUMP_EQUAL, _TERMINAL_INJECTION, ("denied", "allowed"))
    _check_argument(program, "socket", 0, JUMP_EQUAL, _FAMILIES, ("allowed", "family"))
    _end(program, "allowed", ALLOW)
    for label, error in (("denied", errno.EPERM), ("missing", errno.ENOSYS), ("family", errno.EAFNOSUPPORT)):
        _end(program, label, ERRNO | error)
    return program.assemble()


def _check_argument(
    program: FilterProgram,
    label: str,
    argument: int,
    test: int,
    values: tuple[int, ...],
    targets: tuple[str, str],
) -> None:
    """Compare the low half of an argument with each value; the first match decides."""
    program.place(label)
    program.add(LOAD, locate_argument(argument))
    for value in values[:-1]:
        program.add(test, value, if_true=targets[0])
    program.add(test, values[-1], if_true=targets[0], if_false=targets[1])


def _end(program: FilterProgram, label: str, result: int) -> None:
    program.place(label)
    program.add(RETURN, result)


def open_filter() -> int:
    """Return a descriptor from which bubblewrap reads the filter."""
    descriptor = os.memfd_create("filter")
    os.write(descriptor, build_filter(find_architecture()))
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
