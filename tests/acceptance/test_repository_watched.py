"""What an agent changes in the user's repository outside its branch raises a warning."""

from __future__ import annotations

from world import World

AS_AGENT = "git -c user.name=Agent -c user.email=a@b"


def run(world: World, script: str) -> tuple[str, dict[str, list[str]]]:
    """Run a task whose agent executes this script; return its id and the lines of its warnings by code."""
    world.behave(script=f"cd {world.root} && {{ {script}\n}}", edits={"work.txt": "work"})
    task = world.new("Do it")
    world.ostler("run", task)
    shown = world.show(task)
    lines: dict[str, list[str]] = {code: [] for code in shown["warnings"]}
    for one in shown["warning_details"]:
        lines[one["code"]].append(one["text"])
    return task, lines


def test_a_commit_on_the_users_branch_is_named(world: World) -> None:
    """The warning names branch, commit and author; nothing is undone."""
    before = world.git("rev-parse", "main")[:10]
    task, lines = run(world, f"{AS_AGENT} commit -q --allow-empty -m sneaky;")
    after = world.git("rev-parse", "main")[:10]
    assert before != after
    moved = f"the branch main moved from {before} to {after} while the task ran (Agent: commit: sneaky)"
    assert lines == {"BRANCH_MOVED": [moved]}
    assert moved in " ".join(world.ostler("show", task).stdout.split())


def test_other_changes_are_named(world: World) -> None:
    """Refs, the stash, HEAD, settings and hooks."""
    world.git("branch", "old")
    world.git("branch", "other")
    world.git("pack-refs", "--all")
    tip = world.git("rev-parse", "main")[:10]
    script = f"""
        {AS_AGENT} branch side; git tag v1; git branch -qD old
        echo x > README.md; {AS_AGENT} stash -q; git checkout -q other
        git config alias.x '!true'; echo exit > .git/hooks/pre-push
    """
    _, lines = run(world, script)
    stash = world.git("rev-parse", "stash")[:10]
    assert lines["BRANCH_MOVED"] == [
        "HEAD of your checkout changed from main to other while the task ran",
        f"the branch old was removed while the task ran; it was at {tip}",
        f"the branch side was created at {tip} while the task ran (Agent: branch: Created from main)",
        f"the stash was created at {stash} while the task ran (Agent: WIP on main: {tip[:7]} first)",
        f"the tag v1 was created at {tip} while the task ran",
    ]
    assert lines["REPOSITORY_CHANGED"] == [
        "git settings of the repository changed while the task ran: alias.x",
        "hooks of the repository changed while the task ran: pre-push",
    ]


def test_patterns_in_info_exclude_are_restored(world: World) -> None:
    """`*` in the shared info/exclude does not hide the work: it is committed, and the file is as before."""
    exclude = world.root / ".git" / "info" / "exclude"
    before = exclude.read_text()
    task, lines = run(world, "echo '*' >> .git/info/exclude")
    assert exclude.read_text() == before
    assert [*lines] == ["REPOSITORY_CHANGED"] and "was restored" in lines["REPOSITORY_CHANGED"][0]
    assert world.git("show", f"ostler/{task}:work.txt").startswith("work")
    copy = world.root / lines["REPOSITORY_CHANGED"][0].rpartition(" ")[2]
    assert copy.read_text() == before + "*\n"


def test_patterns_in_info_exclude_do_not_hide_that_files_changed(world: World) -> None:
    """An agent without a report is complete because it changed files, also after it excluded all of them."""
    agent = world.root.parent / "agent.sh"
    agent.write_text(
        f"#!/bin/sh\ncat >/dev/null\necho '*' >> {world.root}/.git/info/exclude\ndate > new\necho ok\n"
    )
    agent.chmod(0o755)
    executor = f'executors.mine = {{type = "command", command = "{agent}"}}'
    (world.root / "ostler.toml").write_text(f'run.executor = "mine"\n{executor}\n')
    task = world.new("Do it", "--weight", "trivial")
    world.ostler("run", task)
    assert world.show(task)["warnings"] == ["NO_MARK", "REPOSITORY_CHANGED"]


def test_moves_of_ostler_and_of_other_tasks_are_not_named(world: World) -> None:
    """A merge by Ostler and a new commit of another task's branch are usual while a task runs."""
    other = world.new("Another task")
    script = "git update-ref -m 'ostler: merge' refs/heads/main $(git commit-tree -m x -p main main^{tree});"
    _, lines = run(world, f"{script} git branch ostler/{other};".replace("git commit", f"{AS_AGENT} commit"))
    assert lines == {}
