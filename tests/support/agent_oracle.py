"""The invariants of a project after any misbehaviour of an agent."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import psutil

from ostler.errors import Code
from ostler.testing.fake_agent import read_ledger
from world import World, wait_until

LIMIT_SECONDS, GRACE_SECONDS = 1.0, 0.5
PROMISE_SECONDS = LIMIT_SECONDS + GRACE_SECONDS + 2
EXITS = {
    "completed": {0},
    "failed": {1},
    "quarantined": {1},
    "cancelled": {1},
    "blocked": {4},
    "paused": {4, 5},
    "deferred": {5},
    "pending": {4, 130, 143},
}
"""The exit codes that the contract gives to each status."""


def hurry(world: World, limit_seconds: float = LIMIT_SECONDS, retries: int = 1) -> None:
    """Set limits short enough for a test; a limit that must not be reached is long."""
    world.environ["OSTLER_RUN__TIMEOUT_SECONDS"] = str(limit_seconds)
    world.environ["OSTLER_RUN__GRACE_SECONDS"] = str(GRACE_SECONDS)
    world.environ["OSTLER_RETRY__MAX_RETRIES"] = str(retries)


def check_ended(world: World, task: str, exit_code: int | None = None) -> Any:
    """The task has a documented end, and only its record is left; return how it is shown."""
    shown = world.show(task)
    assert shown["code"] is None or shown["code"] in set(Code), shown
    assert exit_code is None or exit_code in EXITS[shown["status"]], shown
    check_nothing_lives(world)
    check_no_traceback(world)
    world.check_store()
    _check_worktree(world, shown)
    _check_feed(world, shown)
    assert world.git("status", "--porcelain") == "", "the user's checkout was touched"
    return shown


def check_next(world: World) -> None:
    """The next task of the same project runs and completes, whatever happened before."""
    world.behave()
    title = "The task after it"
    world.ostler("run", "-p", title, OSTLER_RUN__TIMEOUT_SECONDS="60")
    after = [task for task in world.json("status")["tasks"] if task["title"] == title]
    assert [task["status"] for task in after] == ["completed"]


def check_no_traceback(world: World) -> None:
    """Neither the runs that were started beside the test nor a bug report have one."""
    for file in (world.root.parent / "err.txt", world.root / ".ostler" / "bugs.log"):
        assert not file.exists() or "Traceback" not in file.read_text(), file.read_text()


def check_nothing_lives(world: World) -> None:
    """No process of the project, no daemon by its pid, no heartbeat of one that is in no process list."""
    daemons = [line["pid"] for line in read_ledger(world.ledger) if line["event"] == "daemon"]
    wait_until(lambda: not world.survivors(), 20, f"processes are left: {world.survivors()}")
    wait_until(lambda: not any(map(_lives, daemons)), 20, "a daemon is left")
    wait_until(lambda: _is_quiet(world), 20, "a process still writes its heartbeat")


def _lives(pid: int) -> bool:
    try:
        process = psutil.Process(pid)
        return process.status() != psutil.STATUS_ZOMBIE and process.cmdline()[:1] == ["sh"]
    except psutil.NoSuchProcess:
        return False


def _is_quiet(world: World) -> bool:
    """A hopper is in no list of processes that takes longer than one of its hops."""
    before = _beats(world)
    time.sleep(0.15)
    return _beats(world) == before


def _beats(world: World) -> int:
    file = world.agents / "claude.beats"
    return file.stat().st_size if file.exists() else 0


def _check_worktree(world: World, shown: Any) -> None:
    """A shown worktree is usable, any other is gone: git and the disk agree."""
    listed = world.git("worktree", "list", "--porcelain").count("worktree ")
    assert listed == (1 if shown["worktree"] is None else 2), world.git("worktree", "list")
    kept = [path.name for path in (world.root / ".ostler" / "worktrees").iterdir() if path.name != ".trash"]
    assert kept == ([] if shown["worktree"] is None else [shown["id"]])
    if shown["worktree"]:
        world.git("-C", shown["worktree"], "status", "--porcelain")


def _check_feed(world: World, shown: Any) -> None:
    """Each attempt has one start and one end; only the last one of a killed run has no end yet."""
    feed = world.events(shown["id"])
    began = [line["number"] for line in feed if line["type"] == "attempt_started"]
    ended = [line["number"] for line in feed if line["type"] == "attempt_ended"]
    assert began == [attempt["number"] for attempt in shown["attempts"]]
    killed = shown["status"] == "pending" and shown["attempts"][-1]["duration_ms"] is None
    assert ended == (began[:-1] if killed else began)


def session_prompts(world: World, session: str) -> str:
    """Return what the fake's session received, from its file."""
    return Path(world.agents, "sessions", f"{session}.jsonl").read_text("utf-8")
