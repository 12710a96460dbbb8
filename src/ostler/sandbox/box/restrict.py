"""Restricts itself, then becomes another program: python -I -S restrict.py RESTRICTIONS PROGRAM ARGUMENT...

`ostler.sandbox.box.restrictions` writes the restrictions: one per line, a name and its value. Few modules
are imported, because the start delays every agent. What cannot be applied ends this program: no program
starts with fewer restrictions.
"""

from __future__ import annotations

import _struct
import ctypes
import os
import resource
import sys

TYPE_CHECKING = False  # the module typing is slow to import
if TYPE_CHECKING:
    from typing import NoReturn

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_GET_VERSION = 1
_RULE_PATH, _RULE_PORT = 1, 2
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHARACTER, _MAKE_BLOCK = 1 << 6, 1 << 11
_TRUNCATE, _IOCTL_DEVICE = 1 << 14, 1 << 15
_FOR_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE
_READ = _EXECUTE | _READ_FILE | _READ_DIR
# The number of rights over files that each version of Landlock has: 2 added REFER, 3 TRUNCATE, 5 IOCTL_DEV.
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
_ALL_RIGHTS = 16
_PORTS_VERSION, _SCOPES_VERSION = 4, 6
_CONNECT_TCP = 1 << 1
_ABSTRACT_SOCKETS, _SIGNALS = 1 << 0, 1 << 1

_SET_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER_MODE, _DROP_FROM_BOUNDS = 38, 22, 2, 24
_CAPABILITIES_VERSION = 0x20080522
_LAST_CAPABILITY = 63
_FAILED = 125
_KIND_MASK, _DIRECTORY = 0o170000, 0o040000  # of a file's mode
_RESET_SIGNALS = (13, 25)  # SIGPIPE, SIGXFSZ: Python ignores them, and a program would inherit it

_libc = ctypes.CDLL(None, use_errno=True)


def main(arguments: list[str]) -> NoReturn:
    """Apply the restrictions and start the program."""
    text, *argv = arguments
    try:
        restrict(text)
        for number in _RESET_SIGNALS:
            _libc.signal(number, ctypes.c_void_p(0))
    except OSError as error:
        _end(f"the restrictions cannot be applied: {error}")
    try:
        os.execvp(argv[0], argv)  # noqa: S606
    except OSError as error:
        _end(f"cannot start {argv[0]}: {error.strerror}", 127 if error.errno == 2 else 126)


def restrict(text: str) -> None:
    """Apply resource limits, then Landlock, then the filters of system calls."""
    found: dict[str, list[str]] = {}
    for line in text.split("\n"):
        word, _, value = line.partition(" ")
        found.setdefault(word, []).append(value.replace("%n", "\n").replace("%p", "%"))
    for limit in found.get("limit", ()):
        name, _, value = limit.partition("=")
        _set_limit(getattr(resource, name), int(value))
    if "landlock" in found:
        _set_no_new_privileges()
        _drop_capabilities()
        _apply_landlock(found)
    for encoded in found.get("filter", ()):
        _apply_filter(bytes.fromhex(encoded))


def find_landlock_version() -> int:
    """Return the version of the kernel's Landlock; 0 if it is absent or switched off."""
    if not sys.platform.startswith("linux"):
        return 0
    return max(0, _libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_GET_VERSION)))


def _set_limit(number: int, value: int) -> None:
    _, hard = resource.getrlimit(number)
    allowed = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(number, (allowed, allowed))


def _set_no_new_privileges() -> None:
    _check(_libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0))


def _drop_capabilities() -> None:
    """Give up the rights of root; an ordinary user has none."""
    if os.geteuid() != 0:
        return
    for number in range(_LAST_CAPABILITY + 1):
        _libc.prctl(_DROP_FROM_BOUNDS, number, 0, 0, 0)  # fails for numbers that the kernel does not have
    header, data = (ctypes.c_uint32 * 2)(_CAPABILITIES_VERSION, 0), (ctypes.c_uint32 * 6)()
    _check(_libc.capset(header, data))


def _apply_landlock(rules: dict[str, list[str]]) -> None:
    version = find_landlock_version()
    handled = (1 << _RIGHTS.get(version, _ALL_RIGHTS)) - 1
    is_connected = "network" in rules  # the network is not restricted
    parts = [handled]
    if version >= _PORTS_VERSION:
        parts.append(0 if is_connected else _CONNECT_TCP)
    if version >= _SCOPES_VERSION:
        parts.append(_ABSTRACT_SOCKETS | _SIGNALS)
    attributes = _struct.pack(f"={len(parts)}Q", *parts)
    ruleset = _check(
        _libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))
    )
    for path in rules.get("readable", ()):
        _allow_path(ruleset, path, _READ & handled)
    for path in rules.get("writable", ()):
        _allow_path(ruleset, path, handled & ~_MAKE_CHARACTER & ~_MAKE_BLOCK)
    for port in rules.get("port", ()) if version >= _PORTS_VERSION else ():
        _add_rule(ruleset, _RULE_PORT, _struct.pack("=QQ", _CONNECT_TCP, int(port)))
    _check(_libc.syscall(_RESTRICT_SELF, ruleset, ctypes.c_uint32(0)))
    os.close(ruleset)


def _allow_path(ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return  # nothing to allow
    try:
        if os.fstat(descriptor).st_mode & _KIND_MASK != _DIRECTORY:
            rights &= _FOR_FILES
        _add_rule(ruleset, _RULE_PATH, _struct.pack("=Qi", rights, descriptor))
    finally:
        os.close(descriptor)


def _add_rule(ruleset: int, kind: int, attributes: bytes) -> None:
    _check(_libc.syscall(_ADD_RULE, ruleset, kind, attributes, ctypes.c_uint32(0)))


def _apply_filter(program: bytes) -> None:
    """Install a seccomp filter: instructions of 8 bytes."""
    _set_no_new_privileges()
    instructions = ctypes.create_string_buffer(program, len(program))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))

    found = Program(len(program) // 8, ctypes.cast(instructions, ctypes.c_void_p))
    _check(_libc.prctl(_SET_SECCOMP, _FILTER_MODE, ctypes.byref(found), 0, 0))


def _check(answer: int) -> int:
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return answer


def _end(message: str, status: int = _FAILED) -> NoReturn:
    os.write(2, f"ostler: {message}\n".encode())
    os._exit(status)


if __name__ == "__main__":
    main(sys.argv[1:])
