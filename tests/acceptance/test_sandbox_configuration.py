"""Executed configuration and refused files of a task that runs in the sandbox."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ostler.sandbox.bubblewrap import find_bubblewrap
from world import World

pytestmark = pytest.mark.skipif(not find_bubblewrap(os.environ), reason="bubblewrap is not installed")
SETTINGS = """\
[sandbox]
tier = "bubblewrap"
network = "off"

[executors.script]
type = "scripted"

[[models]]
name = "script"
executor = "script"
"""
SCRIPT = """\
Do it.

```ostler-script
- run: "cat {other} || true"
- run: "echo planted > .vscode/settings.json || true"
- run: "mkdir .claude && echo planted > .claude/settings.json; echo b > b.txt"
- fail: {{code: AGENT_FAILED, message: "once more"}}
- run: "cat .vscode/settings.json; ls -A .claude"
- run: "echo planted > .claude/new || true"
- say: "Done."
```
"""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    del made.environ["OSTLER_SANDBOX__TIER"]
    (made.root / ".vscode").mkdir()
    (made.root / ".vscode/settings.json").write_text("of the base\n")
    (made.root / "ostler.toml").write_text(SETTINGS)
    made.git("add", ".vscode", "ostler.toml")
    made.git("commit", "-q", "-m", "settings")
    yield made
    made.close()


def test_a_task_does_not_change_what_programs_execute(world: World) -> None:
    """The second attempt does not get what the first one planted; a person reads what was refused."""
    other = world.root.parent / "other.txt"
    other.write_text("of another project")
    described = world.root.parent / "task.md"
    described.write_text(SCRIPT.format(other=other))
    task = world.new("-f", str(described), "--executor", "script", "--weight", "trivial")
    world.ostler("run", task, code=None)
    log = world.ostler("log", task).stdout
    assert "of the base" in log and "of another project" not in log
    refused = {
        one["target"]: one.get("setting") for one in world.events(task) if one["type"] == "access_refused"
    }
    assert refused == {
        str(other): f'sandbox.allow_paths = ["{other}"]',
        ".vscode/settings.json": 'sandbox.writable_config = [".vscode"]',
        ".claude/new": 'sandbox.writable_config = [".claude"]',
    }
    details = [one["text"] for one in world.show(task)["warning_details"]]
    assert "created .claude/settings.json" in details
    assert "changed .vscode/settings.json" not in details
