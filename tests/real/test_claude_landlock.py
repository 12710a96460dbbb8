"""The real claude with the tier landlock, with a local model server."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.sandbox.box.restrict import find_landlock_version
from ostler.testing.fake_llm import FakeLlm, call
from real_claude import real_world

ANSWER = {"status": "complete", "reason": "", "summary": "I added a greeting."}
PORTS_VERSION = 4


@pytest.mark.full
@pytest.mark.skipif(find_landlock_version() < PORTS_VERSION, reason="the kernel has no Landlock 4")
def test_a_first_task(tmp_path: Path) -> None:
    """It edits, with its model behind the proxy; it cannot read other files, and its checks stay on."""
    (tmp_path / "notes.txt").write_text("PRIVATE-NOTES")
    turns = [
        call("Write", file_path="hello.py", content="print(1)\n"),
        call("Read", file_path=str(tmp_path / "notes.txt")),
        call("Bash", command="touch created", description="x"),
        call("StructuredOutput", **ANSWER),
    ]
    with FakeLlm(turns) as llm:
        world = real_world(tmp_path, llm)
        world.environ["OSTLER_SANDBOX__TIER"] = "landlock"
        task = world.new("Add a greeting", "-d", "Write hello.py")
        world.ostler("run", task)
        shown, log = world.show(task), world.ostler("log", task, "--full").stdout
        world.close()
    assert shown["status"] == "completed"
    assert "print(1)" in world.git("show", f"ostler/{task}:hello.py")
    assert "PRIVATE-NOTES" not in log
    assert "denied" in log
