"""Whatever an agent left is in a commit, or named in the warning FILES_LEFT and kept."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from world import World


def run(world: World, script: str, *args: str, edits: dict[str, str] | None = None, code: int = 0) -> str:
    """Run a task whose agent executes this script in its worktree; return its id."""
    world.behave(script=script, edits={"work.txt": "work"} if edits is None else edits)
    task = world.new("Build it", *args)
    world.ostler("run", task, code=code)
    return task


def ignore(world: World, *patterns: str) -> None:
    (world.root / ".gitignore").write_text("\n".join(patterns) + "\n")
    world.git("add", ".gitignore")
    world.git("commit", "-qm", "ignore")


def files_below(directory: Path) -> dict[str, str]:
    found = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_text() for path in found}


def test_ignored_files_are_named_everywhere_and_kept(world: World) -> None:
    """An agent that wrote to dist/: the commit does not have it, the task's directory has it."""
    ignore(world, "dist/")
    world.behave(script="mkdir dist; echo built > dist/app.js", edits={"work.txt": "work"})
    task = world.new("Build it")
    summary = world.ostler("run", task).stdout
    shown = world.show(task)
    assert (shown["status"], shown["warnings"]) == ("completed", ["FILES_LEFT"])
    left = shown["left"]
    assert (left["count"], left["names"]) == (1, ["dist/app.js"])
    kept = world.root / left["kept_in"]
    assert files_below(kept) == {"dist/app.js": "built\n"}
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    assert stat.S_IMODE((kept / "dist" / "app.js").stat().st_mode) == 0o600
    assert not (world.root / ".ostler" / "worktrees" / task).exists()
    for screen in (summary, world.ostler("show", task).stdout):
        assert (
            "FILES_LEFT" in screen and "dist/app.js" in screen and left["kept_in"] in " ".join(screen.split())
        )
    assert "[FILES_LEFT]" in world.ostler("status").stdout


def test_only_ignored_files_is_no_change(world: World) -> None:
    """A task that wrote only ignored files waits for a person, with both warnings."""
    ignore(world, "dist/")
    task = run(world, "mkdir -p dist; echo built > dist/app.js", edits={}, code=4)
    shown = world.show(task)
    assert shown["status"] == "needs_review"
    assert sorted(shown["warnings"]) == ["FILES_LEFT", "NO_CHANGES"]


def test_everything_that_no_commit_has_is_kept(world: World) -> None:
    """A .gitignore of the agent, nested repositories, .ostler/, links, files without permissions."""
    script = """
        printf '*\\n' > .gitignore; echo a > hidden.txt
        mkdir -p nested && git init -q nested && echo b > nested/inner.txt
        echo c > .ostler/notes.txt; ln -s /nonexistent link
        mkdir -p locked; echo d > locked/file; chmod 000 locked/file locked
        mkdir -p node_modules/pad empty sub/__pycache__ target
        echo e > node_modules/pad/index.js; echo f > sub/__pycache__/a.txt
        echo 'Signature: 8a477f597d28d172789f06886806bc55' > target/CACHEDIR.TAG; echo g > target/big
    """
    task = run(world, script, code=4)  # the .gitignore hides its whole work
    world.ostler("approve", task)
    world.ostler("run", task)
    left = world.show(task)["left"]
    kept = world.root / left["kept_in"]
    found = {name: text for name, text in files_below(kept).items() if not name.startswith("nested/.git/")}
    assert found == {
        ".gitignore": "*\n",
        "hidden.txt": "a\n",
        "nested/inner.txt": "b\n",
        ".ostler/notes.txt": "c\n",
        "locked/file": "d\n",
        "work.txt": found["work.txt"],
    }
    assert (kept / "nested" / ".git" / "HEAD").is_file()
    assert (kept / "link").is_symlink()
    assert left["count"] > 10 and len(left["names"]) == 10


@pytest.mark.full
def test_files_of_the_workspace_are_not_the_agents(world: World) -> None:
    """What copy, link and setup made is not left; what the agent changed or added beside it is."""
    (world.root / ".env").write_text("KEY=1\n")
    (world.root / "data").mkdir()
    (world.root / "data" / "big").write_text("big\n")
    (world.root / ".git" / "info" / "exclude").write_text(".env\ndata\ngenerated/\nostler.toml\n")
    (world.root / "ostler.toml").write_text(
        '[workspace]\ncopy = [".env"]\nlink = ["data"]\nsetup = "mkdir generated; echo 1 > generated/a"\n'
    )
    untouched = run(world, "true")
    assert world.show(untouched)["warnings"] == []
    changed = run(world, "echo KEY=2 > .env; echo 2 > generated/b")
    left = world.show(changed)["left"]
    assert files_below(world.root / left["kept_in"]) == {".env": "KEY=2\n", "generated/b": "2\n"}


def test_large_files_keep_the_worktree(world: World) -> None:
    """Above workspace.keep_left_mb nothing is copied; the warning names the worktree and the command."""
    ignore(world, "*.bin")
    world.environ["OSTLER_WORKSPACE__KEEP_LEFT_MB"] = "1"
    task = run(world, "head -c 1100000 /dev/zero > model.bin")
    shown = world.show(task)
    worktree = Path(shown["worktree"])
    assert (worktree / "model.bin").stat().st_size == 1_100_000
    text = " ".join(world.ostler("show", task).stdout.split())
    assert f".ostler/worktrees/{task} is kept; remove it with: ostler worktree prune --force {task}" in text
    world.ostler("cleanup")
    assert (worktree / "model.bin").exists()
    world.ostler("worktree", "prune", "--force", task)
    assert not worktree.exists() and world.show(task)["worktree"] is None


def test_a_pruned_worktree_of_a_failed_task_keeps_the_files(world: World) -> None:
    """`ostler cleanup` copies what no commit contains before it removes the worktree."""
    ignore(world, "dist/")
    world.environ["OSTLER_RETRY__MAX_RETRIES"] = "0"
    world.behave(script="mkdir -p dist; echo built > dist/app.js", fault="crash")
    task = world.new("Build it")
    world.ostler("run", task, code=1)
    assert world.show(task)["warnings"] == ["FILES_LEFT"]
    world.ostler("cleanup")
    shown = world.show(task)
    assert shown["worktree"] is None
    assert files_below(world.root / shown["left"]["kept_in"]) == {"dist/app.js": "built\n"}


def test_changes_that_the_index_hides_are_committed(world: World) -> None:
    """An agent that hides a changed file from git."""
    task = run(world, "git update-index --skip-worktree README.md; echo hidden >> README.md")
    assert world.show(task)["warnings"] == []
    assert world.git("show", f"ostler/{task}:README.md").endswith("hidden\n")


@pytest.mark.full
def test_work_inside_a_submodule_keeps_the_worktree(world: World) -> None:
    """The agent committed inside of it; Ostler commits nothing there and removes nothing."""
    source = world.root.parent / "source"
    allow = "-c protocol.file.allow=always"
    world.git("init", "-q", str(source))
    world.git("-C", str(source), "commit", "-q", "--allow-empty", "-m", "lib")
    world.git(*allow.split(), "submodule", "-q", "add", str(source), "lib")
    world.git("commit", "-qm", "lib")
    script = f"git {allow} submodule -q update --init; echo new > lib/new.txt"
    task = run(world, script, edits={}, code=4)
    shown, screen = world.show(task), world.ostler("show", task).stdout
    assert sorted(shown["warnings"]) == ["FILES_LEFT", "NO_CHANGES"] and "every file" not in screen
    assert shown["left"]["names"] == ["lib"]
    world.ostler("approve", task)
    world.ostler("run", task)
    note = world.show(task)["left"]["note"]
    assert "(lib)" in note and "ostler worktree prune --force" in note
    assert (world.root / ".ostler" / "worktrees" / task / "lib" / "new.txt").read_text() == "new\n"
