"""Lost, corrupt or unusual sessions and files."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from .everyday import begin, behave

if TYPE_CHECKING:
    from ostler.testing.fake_agent import FakeAgent


def a25_forgets(agent: FakeAgent) -> int:
    """On resume, behave as if the session file was lost."""
    if agent.resumed:
        agent.session_file().unlink(missing_ok=True)
    return behave(agent)


def a25_corrupt(agent: FakeAgent) -> int:
    """On resume, find a damaged session file."""
    if agent.resumed:
        agent.session_file().write_bytes(b'{"prompt": "cut')
    return behave(agent)


def a26_deletes_workspace(agent: FakeAgent) -> int:
    """Delete the workspace, then report success."""
    begin(agent)
    agent.work()
    _remove_tree(Path.cwd())
    agent.say_result(agent.answer())
    return 0


def a28_odd_files(agent: FakeAgent) -> int:
    """Leave files without permissions, with unusual names, a FIFO and a socket."""
    begin(agent)
    Path("no-rights").write_text("x")
    Path("no-rights").chmod(0)
    Path("no-entry/inside").mkdir(parents=True)
    Path("no-entry").chmod(0)
    for name in ("two\nlines", "-rf", "é" * 127, " ", "quote'\""):
        Path(name).write_text("x")
    os.mkfifo("fifo")
    os.mknod("socket", stat.S_IFSOCK | 0o600)
    return agent.run()


def _remove_tree(root: Path) -> None:
    """Like shutil.rmtree, whose import would take a fifth of the start-up time."""
    for place, directories, files in os.walk(root, topdown=False):
        for name in files:
            Path(place, name).unlink()
        for name in directories:
            Path(place, name).rmdir()
    root.rmdir()
