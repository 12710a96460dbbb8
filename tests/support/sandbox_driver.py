"""A separate run: starts FOLDER/work/program in a sandbox and prints how it ended."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from ostler.model.command import Command
from ostler.process.orphans import become_subreaper
from ostler.process.runner import DefaultCommandRunner
from ostler.sandbox.box.box import Box
from ostler.sandbox.box.launcher import BubblewrapLauncher
from ostler.sandbox.box.tiers import choose_tier
from ostler.sandbox.mounts import Mount


def create_launcher(folder: Path) -> BubblewrapLauncher:
    """Return the launcher of a sandbox whose working directory is FOLDER/work."""
    work, home = folder / "work", folder / "home"
    for one in (work, home):
        one.mkdir(exist_ok=True)
    box = Box(work, home, Path("/home/me"), mounts=(Mount(work, work, writable=True),), network="off")
    return BubblewrapLauncher(choose_tier("bubblewrap", os.environ), box)


def create_command(folder: Path, *argv: str, grace_seconds: float = 0.5) -> Command:
    env = {"PATH": os.defpath, "HOME": "/home/me", "OSTLER_ATTEMPT": f"driver:{folder}:1"}
    work = str(folder / "work")
    launcher = create_launcher(folder)
    return Command(argv, work, env, grace_seconds=grace_seconds, launcher=launcher)


def say(text: str) -> bool:
    print(text, flush=True)
    return False


async def drive(folder: Path) -> None:
    command = create_command(folder, str(folder / "work" / "program"))
    ended = await DefaultCommandRunner().run(command, lambda line: say(line.decode()))
    say(f"ended {ended.status}")


if __name__ == "__main__":
    become_subreaper()
    asyncio.run(drive(Path(sys.argv[1])))
