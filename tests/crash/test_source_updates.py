"""kill -9 between the effects of a completed task and the record of its end: each effect occurs once."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from document_world import DocumentWorld, writing
from ostler.testing.fake_github import FakeGitHub
from world import World


@pytest.mark.sampled(1)
@pytest.mark.parametrize("times", [1, 2])
def test_a_comment_is_written_once(world: World, times: int) -> None:
    """The run is killed after the comment, repeatedly; the last one finds it."""
    with FakeGitHub("acme/app") as github:
        world.environ |= github.environment(world.root.parent / "gh")
        world.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{world.environ['PATH']}"
        github.hub.report("Fix the login", "", "ready")
        (task,) = world.json("import", "--github", "ready", "--repo", "acme/app")["tasks"]
        for _ in range(times):
            world.ostler("run", "--all", code=-9, OSTLER_FAILPOINT="source.updated:kill")
            assert world.show(task["id"])["status"] != "completed"
        world.ostler("run", "--all")
        assert world.show(task["id"])["status"] == "completed"
        assert len(github.issues[0].comments) == 1
    assert len(world.started()) == 1
    world.check_store()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("place", ["source.updated", "file.rename", "file.renamed"])
def test_a_box_is_ticked_once(world: World, place: str) -> None:
    """The file is complete after every kill; a lock of the killed run is taken over, and none remains."""
    todo = world.root / "TODO.md"
    before, after = b"- [ ] one\r\n- [ ] two\r\n", b"- [x] one\r\n- [x] two\r\n"
    todo.write_bytes(before)
    world.ostler("import", "--checklist", "TODO.md")
    for number in range(1, 40):
        code = world.ostler("run", "--all", code=None, OSTLER_FAILPOINT=f"{place}:kill:{number}").returncode
        assert code in (0, -9)
        assert len(todo.read_bytes()) == len(before)
        if code == 0:
            break
    assert todo.read_bytes() == after
    assert {task["status"] for task in world.json("status")["tasks"]} == {"completed"}
    assert not list(world.root.glob("*.lock"))


@pytest.mark.full
def test_the_next_skill_goes_on_once(tmp_path: Path) -> None:
    """Killed after one write more each time, until it completes: two documents, each once."""
    world = DocumentWorld(tmp_path)
    matter = "title: Sell hay\nskill: research\nnext: summary\n"
    (world.root / "hay.md").write_text(f"---\n{matter}---\n")
    with writing(world):
        world.ostler("import", "hay.md")
        for number in range(1, 40):
            order = f"journal.appended:kill:{number}"
            if world.ostler("run", "--all", code=None, OSTLER_FAILPOINT=order).returncode == 0:
                break
        world.ostler("run", "--all")
    tasks = world.json("status")["tasks"]
    assert sorted(task["status"] for task in tasks) == ["completed", "completed"]
    assert len(world.documents()) == 2
    world.close()
