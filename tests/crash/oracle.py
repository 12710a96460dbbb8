"""The invariants of a project after any fault, once the next run has finished its work."""

from __future__ import annotations

from world import World, wait_until

ENDS = {"task_completed", "task_failed", "task_cancelled"}


def check_all_done(world: World, tasks: list[str], power_cut: bool = False) -> None:
    """Every task completed once, one commit each, nothing left over, the store valid.

    A power cut may damage what an agent had not finished, never what its last call added.
    """
    wait_until(lambda: not world.survivors(), 20, f"processes are left: {world.survivors()}")
    world.check_store()
    found = {task["id"]: task for task in world.json("status")["tasks"]}
    assert sorted(found) == sorted(tasks), "a task was lost or made twice"
    ends: dict[str, list[str]] = {task: [] for task in tasks}
    for event in world.events():
        if event["type"] in ENDS:
            ends[event["task_id"]].append(event["type"])
    for task in tasks:
        _check_done(world, found[task], ends[task])
        lines = world.git("show", f"ostler/{task}:fake-agent.txt").splitlines()
        whole = [line.lstrip("\0") for line in lines[-1:]] if power_cut else lines
        assert whole and all(line.startswith("call ") for line in whole), lines
    assert world.git("worktree", "list").count("\n") == 1, "a worktree was left"
    assert world.git("status", "--porcelain") == "", "the user's checkout was touched"


def _check_done(world: World, task: dict[str, object], ends: list[str]) -> None:
    name = str(task["id"])
    assert task["status"] == "completed", task
    assert ends == ["task_completed"], (name, ends)
    projection = (world.root / ".ostler" / "tasks" / name / "state.yaml").read_text()
    assert 'status: "completed"' in projection, projection
    log = world.git("log", "--format=%H %s", f"main..ostler/{name}").splitlines()
    commits = [line.split()[0] for line in log if not line.endswith(" - work in progress")]
    assert commits == [task["commit"]], f"{name}: commits {commits}, recorded {task['commit']}"
