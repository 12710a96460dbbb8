"""The list of a process's children, from /proc."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ostler.process.keeper import tree

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
# The first child belongs to the main thread, the others to threads that stay.
PROGRAM = """
import subprocess, sys, threading, time

def start():
    children.append(subprocess.Popen(["sleep", "60"]).pid)
    started.release()
    time.sleep(60)

children, started = [subprocess.Popen(["sleep", "60"]).pid], threading.Semaphore(0)
for _ in range({threads}):
    threading.Thread(target=start, daemon=True).start()
for _ in range({threads}):
    started.acquire()
print(*children, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("threads", [0, 3])
def test_children_of_all_threads_are_listed(threads: int) -> None:
    """With one thread and with several, which the kernel lists apart."""
    command = [sys.executable, "-c", PROGRAM.format(threads=threads)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as parent:
        try:
            assert parent.stdout is not None
            children = [int(pid) for pid in parent.stdout.readline().split()]
            assert len(children) == threads + 1
            assert sorted(tree.list_children(parent.pid)) == sorted(children)
            assert parent.pid in tree.list_descendants(os.getpid())
            assert set(children) <= set(tree.list_descendants(os.getpid()))
        finally:
            tree.kill_group(parent.pid)
    assert tree.list_children(parent.pid) == []
