"""Classic BPF programs for the system call filter, assembled without a library."""

from __future__ import annotations

import struct

LOAD, AND, JUMP_EQUAL, JUMP_GREATER_EQUAL, JUMP_SET, RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE = 0, 4  # offsets in struct seccomp_data
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
X32 = 0x40000000  # added to the numbers of system calls with 32-bit pointers
_FIRST_ARGUMENT, _ARGUMENT_BYTES = 16, 8


def locate_argument(number: int) -> int:
    """Return the offset of the low half of an argument."""
    return _FIRST_ARGUMENT + _ARGUMENT_BYTES * number


class FilterProgram:
    """Instructions with jumps to labels."""

    def __init__(self) -> None:
        self._code: list[tuple[int, int, str, str]] = []  # operation, value, label if true, label if false
        self._labels: dict[str, int] = {}

    def add(self, operation: int, value: int, if_true: str = "", if_false: str = "") -> None:
        """Add an instruction; without a label the next one follows."""
        self._code.append((operation, value, if_true, if_false))

    def place(self, label: str) -> None:
        """Place a label before the next instruction."""
        self._labels[label] = len(self._code)

    def assemble(self) -> bytes:
        return b"".join(
            struct.pack("<HBBI", operation, self._offset(at, yes), self._offset(at, no), value)
            for at, (operation, value, yes, no) in enumerate(self._code)
        )

    def _offset(self, at: int, label: str) -> int:
        return self._labels[label] - at - 1 if label else 0
