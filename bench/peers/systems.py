"""The systems that are compared: how each is given the task, started and asked whether it is done."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from msgspec import Struct

PROMPT = "Write hello.txt"
SETTINGS = '[phases.plans]\nmedium = ["implement"]\n'
STORY = {
    "id": "US-001",
    "title": PROMPT,
    "description": PROMPT,
    "acceptanceCriteria": ["hello.txt exists"],
    "priority": 1,
    "passes": False,
    "dependsOn": [],
}
DRIVER = """import asyncio, sys
from claude_agent_sdk import ClaudeAgentOptions, query

async def main():
    options = ClaudeAgentOptions(permission_mode="bypassPermissions")
    for _ in range(int(sys.argv[1])):
        async for message in query(prompt="Write hello.txt", options=options):
            last = message
    print("finished with", type(last).__name__)

asyncio.run(main())
"""
RALPH = "---\nagent: claude -p --dangerously-skip-permissions\n---\n\nWrite hello.txt\n"
SEED = """goal: Write hello.txt
constraints: []
acceptance_criteria:
{criteria}
ontology_schema: {{name: Hello, description: A file, fields: []}}
metadata: {{ambiguity_score: 0.1}}
"""
PLAN = """name: bench
description: Write hello.txt
stages:
  - name: implement
    steps:
"""
STEP = """      - title: Write part {number} of hello.txt
        description: Write part {number} of hello.txt
        role: backend
"""


class System(Struct, frozen=True):
    """One system with its version; `calls` is how many agent calls its task shall take."""

    name: str
    packages: tuple[str, ...]  # empty: this installation of Ostler
    command: Callable[[int], tuple[str, ...]]
    prepare: Callable[[Path, int], None]
    finished: Callable[[Path, str, int], bool]
    start: tuple[str, ...]  # what its start-up time is measured with
    again: tuple[str, ...] = ()  # the command after a crash; empty: the same
    registry: Literal["pypi", "npm"] = "pypi"
    commits: bool = False  # it wants its agent to commit
    daemon: str = ""  # in the command line of its orchestrator, when that is not the command itself
    further: str = "a further call of the same task"
    note: str = ""

    @property
    def version(self) -> str:
        return self.packages[0].rpartition("==")[2] if self.packages else "this commit"


def nothing(root: Path, calls: int) -> None:
    """It needs no file."""


def write_settings(root: Path, calls: int) -> None:
    if calls > 1:
        (root / "ostler.toml").write_text(SETTINGS)


def write_story(root: Path, calls: int) -> None:
    project = {"name": "bench", "branchName": "work", "description": PROMPT, "userStories": [STORY]}
    (root / "prd.json").write_text(json.dumps(project))


def story_passes(root: Path, output: str, calls: int) -> bool:
    try:
        return json.loads((root / "prd.json").read_text())["userStories"][0]["passes"]
    except json.JSONDecodeError:  # it is being written
        return False


def write_ralph(root: Path, calls: int) -> None:
    (root / "ralph").mkdir()
    (root / "ralph/RALPH.md").write_text(RALPH)


def write_seed(root: Path, calls: int) -> None:
    criteria = "\n".join(f"  - hello.txt has part {number}" for number in range(1, calls + 1))
    (root / "seed.yaml").write_text(SEED.format(criteria=criteria))


def write_plan(root: Path, calls: int) -> None:
    steps = "".join(STEP.format(number=number) for number in range(1, calls + 1))
    (root / "plan.yaml").write_text(PLAN + steps)


def plan_is_done(root: Path, output: str, calls: int) -> bool:
    log = root / ".sdd/runtime/tasks.jsonl"
    done: set[str] = set()
    for line in log.read_text().splitlines() if log.exists() else ():
        try:
            task = json.loads(line)
        except json.JSONDecodeError:  # it is being written
            continue
        if task.get("status") in ("done", "closed"):
            done.add(task["id"])
    return len(done) >= calls


def prints(text: str) -> Callable[[Path, str, int], bool]:
    return lambda root, output, calls: text in output


def run_ostler(calls: int) -> tuple[str, ...]:
    return ("ostler", "run", "-p", PROMPT, *(("--weight", "medium") if calls > 1 else ()))


SYSTEMS = (
    System(
        "Ostler",
        (),
        run_ostler,
        write_settings,
        prints("task completed"),
        ("ostler", "--help"),
        again=("ostler", "run", "--all"),
        note="with its sandbox; each run is the first of its home directory, and looks for package indexes",
    ),
    System(
        "claude-agent-sdk",
        ("claude-agent-sdk==0.2.184",),
        lambda calls: ("python", "driver.py", str(calls)),
        lambda root, calls: write_driver(root),
        prints("finished with ResultMessage"),
        ("python", "-c", "import claude_agent_sdk"),
        further="a further query() in the same program",
        note="a library: the program is a loop of query(); start-up is its import",
    ),
    System(
        "ralph-tui",
        ("ralph-tui==0.11.0", "bun==1.4.4"),
        lambda calls: ("ralph-tui", "run", "--headless", "--no-setup", "--prd", "prd.json"),
        write_story,
        story_passes,
        ("ralph-tui", "--help"),
        registry="npm",
        note="without its terminal UI (`--headless`)",
    ),
    System(
        "ralphify",
        ("ralphify==0.3.0",),
        lambda calls: ("ralph", "run", "ralph", "-n", str(calls)),
        write_ralph,
        lambda root, output, calls: f"{calls} succeeded" in output,
        ("ralph", "--help"),
        note="it repeats a given number of times and does not read what the agent answers",
    ),
    System(
        "ralph-orchestrator",
        ("ralph-orchestrator==1.2.3",),
        lambda calls: ("ralph", "run", "-a", "claude", "-p", PROMPT),
        nothing,
        prints("Completion promise matched"),
        ("ralph", "--help"),
        note="the Python program; the later one in Rust is not on PyPI",
    ),
    System(
        "Ouroboros",
        ("ouroboros-ai[claude]==0.59.9",),
        lambda calls: ("ouroboros", "run", "workflow", "seed.yaml", "--runtime", "claude"),
        write_seed,
        prints("Execution completed successfully"),
        ("ouroboros", "--help"),
        further="a further acceptance criterion, per agent call",
        note="its evaluation of the work included, which calls the agent too",
    ),
    System(
        "Bernstein",
        ("bernstein==3.23.0",),
        lambda calls: (
            "bernstein",
            "run",
            "plan.yaml",
            "--cli",
            "claude",
            "--model",
            "sonnet",
            "--auto-approve",
        ),
        write_plan,
        plan_is_done,
        ("bernstein", "--help"),
        commits=True,
        daemon="core.orchestration.orchestrator",
        further="a further step of the plan, per agent call",
        note="its server, orchestrator and watchdog go on in the background after the task",
    ),
)


def write_driver(root: Path) -> None:
    (root / "driver.py").write_text(DRIVER)


def named(names: list[str]) -> list[System]:
    """The systems with these names, or all."""
    known = [one.name for one in SYSTEMS]
    if unknown := set(names) - set(known):
        sys.exit(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    return [one for one in SYSTEMS if not names or one.name in names]
