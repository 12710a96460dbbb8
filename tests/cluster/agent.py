"""The agents of a cluster: the fake claude, with a log to which each agent writes every 0.1 s while it works.

All hosts write to one file and have the same monotonic clock. So the log shows for how long two agents worked
on one task at the same time, also when one of them was frozen, cut off or orphaned.
"""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

BEAT_SECONDS = 0.1


def write_agent(directory: Path, log: Path, host: str, behaviour: dict[str, object]) -> Path:
    """Write the launcher of the agent of one host."""
    from ostler.testing.fake_agent import fake_claude

    launcher = fake_claude(directory, **behaviour)
    first, _, rest = launcher.read_text().partition("\n")
    here = Path(__file__).parent
    beat = f"import sys; sys.path.append({str(here)!r}); import agent; agent.start({str(log)!r}, {host!r})"
    launcher.write_text(f"{first}\n{beat}\n{rest}")
    return launcher


def start(log: str, host: str) -> None:
    """Write to the log until this process ends, from a thread of its own."""
    if os.environ.get("OSTLER_TASK"):  # else it is only asked for its version or its login
        threading.Thread(target=_beat, args=(log, host), daemon=True).start()


def _beat(log: str, host: str) -> None:
    mark = {"host": host, "task": os.environ["OSTLER_TASK"], "attempt": os.environ.get("OSTLER_ATTEMPT", "")}
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND)
    while True:
        line = json.dumps({**mark, "pid": os.getpid(), "at": time.monotonic()})
        os.write(descriptor, line.encode() + b"\n")
        time.sleep(BEAT_SECONDS)
