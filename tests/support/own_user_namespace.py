"""Starts a program in a user namespace where every user is mapped to itself.

Only root can do that. The limits on namespaces that root sets inside do not apply to the rest of the machine.
"""

from __future__ import annotations

import ctypes
import os
import sys

NEW_USER = 0x10000000
ALL = "0 0 4294967295"


def main() -> None:
    ready_reader, ready_writer = os.pipe()
    mapped_reader, mapped_writer = os.pipe()
    main_pid = os.getpid()
    if (helper := os.fork()) == 0:
        os.read(ready_reader, 1)
        for name in ("uid_map", "gid_map"):
            with open(f"/proc/{main_pid}/{name}", "w") as file:
                file.write(ALL)
        os.write(mapped_writer, b"x")
        os._exit(0)
    if ctypes.CDLL(None, use_errno=True).unshare(NEW_USER) != 0:
        os._exit(125)
    os.write(ready_writer, b"x")
    os.read(mapped_reader, 1)
    os.waitpid(helper, 0)
    os.execvp(sys.argv[1], sys.argv[1:])


main()
