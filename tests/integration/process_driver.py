"""A separate run: runs the argv in FOLDER/argv.json and prints how it ended."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import sys
from pathlib import Path

from ostler.model.command import Command
from ostler.process.orphans import become_subreaper
from ostler.process.runner import DefaultCommandRunner


def say(text: str) -> bool:
    print(text, flush=True)
    return False


async def drive(folder: Path, argv: list[str]) -> None:
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        env = {"PATH": os.environ["PATH"], "OSTLER_ATTEMPT": f"driver:{folder}:1"}
        command = Command(tuple(argv), str(folder), env, grace_seconds=0.2)
        ended = await DefaultCommandRunner(held=(lock.fileno(),)).run(
            command, lambda line: say(line.decode())
        )
    say(f"ended {ended.status}")


become_subreaper()
place = Path(sys.argv[1])
asyncio.run(drive(place, json.loads((place / "argv.json").read_text())))
