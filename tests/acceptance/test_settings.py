"""The settings through the program itself: shown, checked and refused."""

from __future__ import annotations

import pytest

from world import World

MODEL = '[[models]]\nname = "{name}"\nexecutor = "{executor}"\n'


def rows(world: World, *models: tuple[str, str]) -> None:
    text = "".join(MODEL.format(name=name, executor=executor) for name, executor in models)
    (world.root / "ostler.toml").write_text(text)


def test_a_list_of_models_is_shown_with_its_lines(world: World) -> None:
    """Each value of each model is a row with the place to change it; unset values are marked."""
    rows(world, ("fast", "claude"), ("spare", "codex"))
    shown = [line.split() for line in world.ostler("config", "show").stdout.splitlines()]
    assert ["models[1].name", '"spare"', "ostler.toml:5"] in shown
    assert ["models[1].fallback", "false", "default"] in shown
    assert ["models[1].timeout_seconds", "(unset)", "default"] in shown
    reported = {entry["key"]: entry for entry in world.json("config", "show")["settings"]}
    assert reported["models[0].executor"]["value"] == "claude"
    assert reported["models[0].timeout_seconds"]["value"] is None


@pytest.mark.parametrize("command", [("config", "validate"), ("config", "edit")])
def test_a_model_of_an_unknown_executor_is_refused(world: World, command: tuple[str, ...]) -> None:
    """One line with the file and the line, and exit 2."""
    rows(world, ("fast", "claude"), ("typo", "claud"))
    done = world.ostler(*command, code=2, EDITOR="true", VISUAL="")
    line = 'ostler.toml:6: models[1].executor: unknown executor "claud"; did you mean claude?'
    assert line in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("command", [("config", "validate"), ("run", "-p", "x"), ("run", "--all")])
def test_two_models_of_one_name_are_refused_before_anything_runs(
    world: World, command: tuple[str, ...]
) -> None:
    """Names identify models in every report, so each is given once."""
    world.ostler("init")
    rows(world, ("fast", "claude"), ("fast", "codex"))
    done = world.ostler(*command, code=2)
    assert 'ostler.toml:5: models[1].name: "fast" is taken by models[0].name' in done.stderr
    assert not world.ledger.exists()


def test_valid_settings_are_reported_as_valid(world: World) -> None:
    """The file that init writes passes, and so does a list of models."""
    world.ostler("init")
    assert world.ostler("config", "validate").stdout == "The settings are valid.\n"
    rows(world, ("fast", "claude"), ("spare", "codex"))
    reported = world.json("config", "validate")
    assert (reported["schema"], reported["ok"]) == ("ostler.validate/1", True)
    [missing] = [one for one in reported["problems"] if one["key"]]
    assert (missing["file"], missing["line"], missing["key"]) == ("ostler.toml", 6, "models[1].executor")
    assert missing["severity"] == "warning" and "codex was not found" in missing["message"]


@pytest.mark.one_machine("in a cluster the workers look for what a task lacks, in their clones")
def test_everything_that_a_run_lacks_is_listed_at_once(world: World) -> None:
    """By every command, before anything is created or started; --json has the parts (finding T24)."""
    task = world.new()
    (world.root / ".agents/prompts").mkdir(parents=True)
    (world.root / ".agents/prompts/implement.md").write_text("Do\n{{TASK_TITEL}}\n")
    (world.root / "ostler.toml").write_text('[agents]\nreviewer = "codx"\n[git]\ntarget = "mian"\n')
    lines = [
        ".agents/prompts/implement.md:2: unknown variable {{TASK_TITEL}}; did you mean TASK_TITLE?",
        'ostler.toml:2: agents.reviewer: unknown executor "codx"; did you mean codex?',
        "ostler.toml:4: git.target: there is no branch or commit 'mian'",
    ]
    for command in (("config", "validate"), ("run", task), ("run", "--all"), ("run", "-p", "x")):
        stderr = world.ostler(*command, code=2).stderr
        assert [line for line in lines if line not in stderr] == [], command
    assert lines[1] in world.ostler("new", "Another", code=2).stderr
    reported = world.json("run", "--all", code=2)
    assert reported["schema"] == "ostler.error/1" and reported["code"] == "CONFIG_INVALID"
    assert reported["problems"][1] == {
        "file": "ostler.toml",
        "line": 2,
        "key": "agents.reviewer",
        "message": 'unknown executor "codx"; did you mean codex?',
        "severity": "error",
    }
    checks = world.json("doctor", code=1)["checks"]
    found = [check["detail"] for check in checks if check["name"] == "preflight"]
    assert lines[:2] == found[:2] and not world.ledger.exists()
    assert [one["id"] for one in world.json("status")["tasks"]] == [task]


@pytest.mark.one_machine("in a cluster the settings name the server that has the tasks")
def test_tasks_are_shown_and_decided_while_the_settings_are_invalid(world: World) -> None:
    """A decision that is recorded is not reported as an error; the next run applies it."""
    task = world.new()
    (world.root / "ostler.toml").write_text("[run\n")
    for command in (("show", task), ("status",), ("ps",)):
        world.ostler(*command)
    assert "has not been started" in world.ostler("diff", task, code=2).stderr
    assert world.ostler("pause", task).stderr.startswith(f"{task} is paused.")
    world.ostler("cancel", task)
    (world.root / "ostler.toml").unlink()
    world.ostler("run", "--all", code=None)
    assert world.show(task)["status"] == "cancelled"


def test_the_work_of_a_task_is_shown_without_worktrees(world: World) -> None:
    """`git.worktree = false` is for new tasks; the commits of others are still in the repository."""
    task = world.new("Add a greeting", "-w", "trivial")
    world.ostler("run", task)
    (world.root / "ostler.toml").write_text("[git]\nworktree = false\n")
    assert world.ostler("diff", task).stdout.startswith("diff --git ")
    assert "git.worktree is false" in world.ostler("merge", task, code=2).stderr
    (world.root / "ostler.toml").unlink()
    world.ostler("merge", task)
    assert world.git("log", "--format=%s", "-1").startswith(f"[ostler] {task}")


@pytest.mark.one_machine("on a server only commands that add tasks create a project; others are refused")
@pytest.mark.parametrize("command", [("models",), ("gates",), ("agent", "list")])
def test_reading_creates_no_project(world: World, command: tuple[str, ...]) -> None:
    """A .ostler directory would make this one the project of every directory below it."""
    world.ostler(*command)
    assert not (world.root / ".ostler").exists()
    (world.root / "ostler.toml").write_text("")
    world.ostler(*command)
    assert (world.root / ".ostler").exists()
