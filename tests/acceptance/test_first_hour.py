"""The first hour of a new user, through the program itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from world import World

FIELDS = """id title status weight priority phase iteration branch commit worktree output_path pr_url
    session_id
    code message warnings resumes_at usage cost_usd created_at updated_at phases attempts"""
ATTEMPT_FIELDS = """number phase iteration executor model session_id resumed started_at duration_ms exit_code
    status code message usage cost_usd transcript"""


def test_a_task_becomes_a_branch_with_one_commit(world: World) -> None:
    """init, new, run --all: the edit is one commit on the task's branch, the checkout is untouched."""
    world.ostler("init")
    task = world.new("Add a greeting", "-d", "Write hello.txt")
    world.ostler("run", "--all")
    shown = world.show(task)
    assert (shown["status"], shown["code"], shown["branch"]) == ("completed", None, f"ostler/{task}")
    assert world.git("log", "--format=%s", f"main..ostler/{task}").strip() == (
        f"[ostler] {task}: implement - completed"
    )
    assert world.git("rev-parse", f"ostler/{task}").strip() == shown["commit"]
    assert "fake-agent.txt" in world.git("show", "--stat", shown["commit"])
    assert world.git("status", "--porcelain").strip() == "?? ostler.toml"
    assert shown["worktree"] is None and shown["session_id"] is None
    assert len(shown["attempts"]) == 1 and shown["attempts"][0]["status"] == "succeeded"


def test_the_trailers_report_which_task_and_attempt_made_a_commit(world: World) -> None:
    """Task-Id, Phase and Attempt are at the end of the message."""
    task = world.new()
    world.ostler("run", task)
    message = world.git("log", "-1", "--format=%B", f"ostler/{task}")
    assert f"Task-Id: {task}\nPhase: implement\nAttempt: 1\n" in message


def test_run_with_a_prompt_makes_and_runs_a_trivial_task(world: World) -> None:
    """ostler run -p needs nothing else, not even init."""
    world.ostler("run", "-p", "Fix the typo in README", "--executor", "claude")
    tasks = world.json("status")["tasks"]
    assert [(t["title"], t["weight"], t["status"]) for t in tasks] == [
        ("Fix the typo in README", "trivial", "completed")
    ]


def test_run_json_gives_the_feed_and_then_the_tasks(world: World) -> None:
    """NDJSON events in order, then one ostler.task/1 per task."""
    task = world.new()
    lines = [json.loads(line) for line in world.ostler("run", task, "--json").stdout.splitlines()]
    assert [line["schema"] for line in lines[-2:]] == ["ostler.event/1", "ostler.task/1"]
    assert lines[-1]["diffstat"] == {"files": 1, "insertions": 1, "deletions": 0}
    assert lines[-1]["summary"] == "Done."
    kinds = [line["type"] for line in lines[:-1]]
    history = ["task_claimed", "task_started", "attempt_started", "call_ended", "checkpoint_made"]
    history.append("task_completed")
    assert [kind for kind in kinds if kind in history] == history
    numbers = [line["seq"] for line in lines[:-1]]
    assert numbers == sorted(set(numbers))
    assert lines[-1]["id"] == task


def test_show_json_has_every_field_of_the_contract(world: World) -> None:
    """Scripts rely on these names."""
    task = world.new()
    world.ostler("run", task)
    shown = world.show(task)
    assert set(FIELDS.split()) <= set(shown)
    assert set(ATTEMPT_FIELDS.split()) <= set(shown["attempts"][0])
    assert shown["usage"] == {
        "input_tokens": 10,
        "output_tokens": 5,
        "cache_read_tokens": 2,
        "cache_write_tokens": 0,
    }
    assert shown["cost_usd"] == pytest.approx(0.00014)
    transcript = world.root / ".ostler" / "tasks" / task / shown["attempts"][0]["transcript"]
    assert b'"type": "result"' in transcript.read_bytes()


def test_new_prints_the_id_alone_and_hints_elsewhere(world: World) -> None:
    """id=$(ostler new ...) works."""
    done = world.ostler("new", "Héllo, wörld! Ünïcode 你好")
    assert done.stdout.count("\n") == 1
    assert done.stdout.startswith("hello-world-unicode-")
    assert "ostler run" in done.stderr


def test_a_file_gives_title_and_body(world: World, tmp_path: Path) -> None:
    """new -f takes the first heading as the title; stdin works as -."""
    (tmp_path / "task.md").write_text("# Mend the gate\n\nIt squeaks.\n")
    task = world.ostler("new", "-f", str(tmp_path / "task.md")).stdout.strip()
    assert world.show(task)["title"] == "Mend the gate"
    other = world.ostler("new", "-f", "-", stdin="Oil the hinge\n\nTwice.").stdout.strip()
    assert world.show(other)["title"] == "Oil the hinge"
    assert "Twice." in (world.root / ".ostler" / "tasks" / other / "task.md").read_text()


def test_log_diff_and_events_report_what_happened(world: World) -> None:
    """The pages for reading afterwards."""
    task = world.new()
    world.ostler("run", task)
    assert "attempt 1" in world.ostler("log", task).stdout
    assert "+call" in world.ostler("diff", task).stdout
    assert "task completed" in world.ostler("events", task).stdout
    assert world.json("diff", task)["patch"].startswith("diff --git")


def test_a_unique_prefix_names_a_task_and_an_ambiguous_one_does_not(world: World) -> None:
    """ostler show gre works; two candidates are listed."""
    first, second = world.new("Greet one"), world.new("Greet two")
    assert world.show("greet-o")["id"] == first
    done = world.ostler("show", "greet", code=2)
    assert first in done.stderr and second in done.stderr


def test_a_directory_without_git_is_worked_on_in_place(tmp_path: Path) -> None:
    """Branch, commit and worktree are null; the file is in the directory."""
    world = World(tmp_path, git=False)
    task = world.new("Write a file")
    world.ostler("run", "--all")
    shown = world.show(task)
    assert (shown["status"], shown["branch"], shown["commit"]) == ("completed", None, None)
    assert (world.root / "fake-agent.txt").read_text() == "call 1\n"
    world.close()


def test_spaces_and_unicode_in_the_projects_name_do_not_matter(tmp_path: Path) -> None:
    """A project directory with spaces, quotes and umlauts runs like any other."""
    world = World(tmp_path, name="mein 'gröbstes' \"Projekt\" 项目")
    task = world.new()
    world.ostler("run", "--all")
    assert world.show(task)["status"] == "completed"
    world.close()


def test_a_project_in_a_subdirectory_keeps_its_place(world: World) -> None:
    """The agent's working directory is that subdirectory of the worktree."""
    inner = world.root / "packages" / "inner"
    inner.mkdir(parents=True)
    (inner / "x.txt").write_text("x")
    world.git("add", "-A")
    world.git("commit", "-q", "-m", "inner")
    world.root = inner
    task = world.new()
    world.ostler("run", task)
    assert "packages/inner/fake-agent.txt" in world.git("show", "--stat", world.show(task)["commit"])


def test_nothing_to_run_is_reported_and_is_no_failure(world: World) -> None:
    """An empty project is valid."""
    world.ostler("init")
    assert "Nothing to run.  Next: ostler status" in world.ostler("run", "--all").stdout
    assert "No tasks yet" in world.ostler("status").stdout
    for title in ("One", "Two"):
        world.ostler("pause", world.new(title))
    assert "Nothing to run: 2 tasks wait for you." in world.ostler("run", "--all").stdout


def test_the_demo_runs_from_nothing(world: World, tmp_path: Path) -> None:
    """Three tasks through a scripted agent that really edits files, ending in a table of statuses."""
    done = world.ostler("demo", str(tmp_path / "demo"))
    assert done.stdout.count("completed") >= 3
    sample = World.__new__(World)
    sample.root = tmp_path / "demo"
    assert len(sample.git("branch", "--list", "ostler/*").split()) == 3
    assert sample.git("status", "--porcelain") == ""


@pytest.mark.sampled(1)
@pytest.mark.parametrize("home", ["unset", "missing"])
def test_a_home_that_is_not_there_does_not_matter(world: World, home: str) -> None:
    """Without HOME, or with a missing one, tasks run."""
    if home == "unset":
        del world.environ["HOME"]
    else:
        world.environ["HOME"] = "/nonexistent/home"
    task = world.new()
    world.ostler("run", task)
    assert world.show(task)["status"] == "completed"


def test_doctor_shows_what_works(world: World) -> None:
    """Every check has a result, and the agent is found through its variable."""
    report = world.json("doctor")
    assert report["ok"]
    by_name = {check["name"]: check for check in report["checks"]}
    assert by_name["agent claude"]["ok"] and by_name["processes"]["ok"]


def test_config_show_names_the_source_of_each_value(world: World) -> None:
    """A default, a file with its line, and the environment."""
    (world.root / "ostler.toml").write_text("[run]\njobs = 3\n")
    rows = {row["key"]: row for row in world.json("config", "show", OSTLER_RUN__MODEL="opus")["settings"]}
    assert rows["run.jobs"]["source"] == "ostler.toml:2"
    assert rows["run.model"]["source"] == "OSTLER_RUN__MODEL"
    assert rows["run.executor"]["source"] == "default"
