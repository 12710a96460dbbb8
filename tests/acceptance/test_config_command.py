"""Settings are created, set, reset and edited by commands, and a wrong value changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from world import World

OPEN = "Not accepted for 1 open task.  Next: ostler config accept"


@pytest.fixture
def file(world: World) -> Path:
    return world.root / "ostler.toml"


def test_a_settings_file_is_created_once(world: World, file: Path) -> None:
    """The file is commented and valid, and a second init leaves it alone; --user has its own file."""
    assert "Created ostler.toml with the executor claude." in world.ostler("config", "init").stdout
    assert "# jobs = 2" in file.read_text()
    file.write_text("# mine\n")
    assert "ostler.toml exists already" in world.ostler("config", "init", code=2).stderr
    assert file.read_text() == "# mine\n"
    home = str(world.root.parent / "config")
    world.ostler("config", "init", "--user", XDG_CONFIG_HOME=home)
    path = world.ostler("config", "path", "--user", XDG_CONFIG_HOME=home).stdout.strip()
    assert Path(path).read_text().startswith("# Settings of all your projects;")


def test_a_setting_is_set_and_reset(world: World, file: Path) -> None:
    """The old and the new value are printed with the place; comments and layout are kept."""
    file.write_text("# top\n[run]\njobs = 2   # two\n")
    done = world.ostler("config", "set", "run.jobs", "4")
    assert done.stdout == "run.jobs: 2 -> 4  (ostler.toml:3)\n"
    assert file.read_text() == "# top\n[run]\njobs = 4   # two\n"
    changed = world.json("config", "set", "documents.outputs_allow", "docs,notes")
    assert (changed["schema"], changed["new"]) == ("ostler.setting/1", '["docs", "notes"]')
    world.ostler("config", "set", "retry.jitter", "0")
    assert world.ostler("config", "reset", "run.jobs").stdout == "run.jobs: 4 -> 2  (default)\n"
    assert file.read_text().startswith("# top\n[run]\n\n[documents]\n")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("run.jobs", "four", 'run.jobs: expected int >= 1, got "four"'),
        ("run.jbos", "4", 'unknown setting "run.jbos"; did you mean run.jobs?'),
        ("jobs", "4", 'unknown setting "jobs"; did you mean run.jobs?'),
        ("run", "4", "run is a table"),
        ("models", "x", "models is a list of tables"),
        ("models[3].model", "x", "ostler.toml does not contain models[3]"),
        ("a b", "x", 'invalid key "a b": expected a key such as run.jobs'),
        ("run.executor", "cluade", 'unknown executor "cluade"; did you mean claude?'),
        ("gates.commands.tset", "true", 'no phase has this name; did you mean "test"?'),
        ("sandbox.allow_hosts", "[1", "expected list of str that is not empty as JSON"),
    ],
)
def test_a_wrong_value_changes_nothing(world: World, file: Path, key: str, value: str, message: str) -> None:
    """It is refused with exit 2 and one clear sentence, and the file stays as it was."""
    file.write_text("[run]\njobs = 2\n")
    assert message in world.ostler("config", "set", key, value, code=2).stderr
    assert file.read_text() == "[run]\njobs = 2\n"


def test_wrong_settings_are_corrected_one_by_one(world: World, file: Path) -> None:
    """A file with two mistakes accepts a change that corrects one of them."""
    file.write_text('[run]\njobs = "two"\nexecutor = "cluade"\n')
    world.ostler("config", "set", "run.jobs", "2")
    assert "unknown executor" in world.ostler("config", "validate", code=2).stderr
    world.ostler("config", "set", "run.executor", "claude")
    world.ostler("config", "validate")
    file.write_text("[run\n")
    assert "ostler.toml:1: not valid TOML" in world.ostler("config", "set", "run.jobs", "2", code=2).stderr


def test_a_change_of_an_invalid_file_prints_the_rest(world: World, file: Path) -> None:
    """The values of the file are printed, the other mistakes too, and an unknown key can be removed."""
    world.new()
    file.write_text("[run]\njobs = 2\njobz = 3\n[nonsense]\na = 1\n")
    done = world.ostler("config", "set", "run.jobs", "4")
    assert done.stdout == "run.jobs: 2 -> 4  (ostler.toml)\n"
    assert "still invalid: ostler.toml:3: run.jobz: unknown setting" in done.stderr
    assert "run.jobz: 3 -> (unset)" in world.ostler("config", "reset", "run.jobz").stdout
    assert "unknown setting" in world.ostler("config", "reset", "run.jobz", code=2).stderr
    assert world.ostler("config", "reset", "nonsense").stderr == ""
    assert file.read_text() == "[run]\njobs = 4\n"


def test_types_and_references_are_reported_together(world: World, file: Path) -> None:
    """A wrong type does not hide an unknown name elsewhere in the file."""
    file.write_text('[run]\njobs = "two"\n[agents]\nreviewer = "codx"\n')
    stderr = world.ostler("config", "validate", code=2).stderr
    assert 'ostler.toml:2: run.jobs: expected int >= 1, got "two"' in stderr
    assert 'ostler.toml:4: agents.reviewer: unknown executor "codx"; did you mean codex?' in stderr


def test_a_value_that_is_overridden_is_named(world: World) -> None:
    """The variable that takes precedence is printed, since the file then has no effect."""
    done = world.ostler("config", "set", "run.jobs", "5", OSTLER_RUN__JOBS="7")
    assert done.stdout == "run.jobs: written to ostler.toml; OSTLER_RUN__JOBS overrides it: 7\n"


def test_a_looser_protection_names_the_next_command(world: World) -> None:
    """Open tasks keep the stricter value until config accept."""
    world.ostler("config", "set", "gates.commands.implement", "true")
    world.new()
    assert OPEN in world.ostler("config", "reset", "gates.commands.implement").stderr


def test_a_whole_file_is_reset_with_a_backup(world: World, file: Path) -> None:
    """Without a terminal it needs --yes; a second reset keeps both backups."""
    file.write_text("[run]\njobs = 9\n")
    assert "confirm with --yes" in world.ostler("config", "reset", "--all", code=2).stderr
    for name in ("ostler.toml.bak", "ostler.toml.bak2"):
        before = file.read_bytes()
        assert name in world.ostler("config", "reset", "--all", "--yes").stdout
        assert (world.root / name).read_bytes() == before
    assert "jobs = 9" not in file.read_text()
    assert "pass either KEY or --all" in world.ostler("config", "reset", code=2).stderr
    assert "does not contain run.jobs" in world.ostler("config", "reset", "run.jobs", code=2).stderr


def test_an_invalid_edit_keeps_the_file_and_the_draft(world: World, file: Path) -> None:
    """The next edit continues with the draft; a failed editor leaves nothing behind."""
    file.write_text("[run]\njobs = 9\n")
    draft = world.root / "ostler.toml.draft"
    world.ostler("config", "edit", code=2, EDITOR="false", VISUAL="")
    assert not draft.exists()
    done = world.ostler("config", "edit", code=2, EDITOR="sed -i s/9/nine/", VISUAL="")
    assert "ostler.toml is unchanged; ostler config edit continues with ostler.toml.draft" in done.stderr
    assert "jobs = 9" in file.read_text() and "jobs = nine" in draft.read_text()
    done = world.ostler("config", "edit", EDITOR="sed -i s/nine/8/", VISUAL="")
    assert "jobs = 8" in file.read_text() and not draft.exists()


def test_an_old_draft_does_not_undo_a_later_change(world: World, file: Path) -> None:
    """Both are kept until a person has compared them."""
    file.write_text("[run]\njobs = 9\n")
    draft = world.root / "ostler.toml.draft"
    world.ostler("config", "edit", code=2, EDITOR="sed -i s/9/nine/", VISUAL="")
    world.ostler("config", "set", "run.jobs", "5")
    done = world.ostler("config", "edit", code=1, EDITOR="sed -i s/nine/8/", VISUAL="")
    assert done.stderr.startswith("ostler: ostler.toml changed after ostler.toml.draft was saved")
    assert "jobs = 5" in file.read_text() and "jobs = nine" in draft.read_text()
    draft.write_text("[run]\njobs = 6\n")
    world.ostler("config", "edit", EDITOR="true", VISUAL="")
    assert "jobs = 6" in file.read_text() and not draft.exists()


def test_a_directory_in_the_place_of_the_file_is_refused(world: World, file: Path) -> None:
    """Every command names it, and none is a bug."""
    file.mkdir()
    for args in (["set", "run.jobs", "3"], ["edit"], ["init"], ["reset", "--all", "--yes"]):
        assert "ostler.toml" in world.ostler("config", *args, code=2, EDITOR="true", VISUAL="").stderr


def test_an_agent_cannot_change_settings(world: World, file: Path) -> None:
    """Every command that writes settings is refused inside a task."""
    task = world.new()
    inside = {"OSTLER_TASK": task, "OSTLER_ATTEMPT": f"store:{task}:1", "OSTLER_PROJECT": str(world.root)}
    for args in (
        ["init"],
        ["set", "run.jobs", "3"],
        ["reset", "run.jobs"],
        ["reset", "--all", "-y"],
        ["edit"],
    ):
        done = world.ostler("config", *args, code=2, **inside)
        assert "only a person can use ostler config" in done.stderr
    assert not file.exists()


def test_names_that_refer_to_nothing_are_found(world: World, file: Path) -> None:
    """Gates, checks, pools, plugins and arguments, all at once, each with its line (C136)."""
    file.write_text(
        "[gates.options.tset]\ncontrol = false\n"
        '[gates.checks.lint]\ncommand = "true"\nphase = "implment"\n'
        "[pools.hihg]\nsize = 1\n"
        '[plugins]\nload = ["nowhere:Plugin", "../x:Plugin"]\n'
        "[executors.claude]\npreset_args = []\n"
    )
    stderr = world.ostler("config", "validate", code=2).stderr
    for line in (
        'ostler.toml:1: gates.options.tset: no phase has this name; did you mean "test"?',
        'ostler.toml:5: gates.checks.lint.phase: no phase has the name "implment"; did you mean "implement"?',
        'ostler.toml:9: plugins.load: "nowhere:Plugin": no module nowhere in .agents/plugins/',
        'ostler.toml:9: plugins.load: "../x:Plugin": expected a module and a name in it',
        "ostler.toml:11: executors.claude.preset_args: only amp, crush, droid, kilocode, kimi have arguments",
        'ostler.toml:6: pools.hihg: only tasks with feature: hihg use this pool; did you mean "high"?',
    ):
        assert line in stderr


def test_disabled_models_are_found_before_a_run(world: World, file: Path) -> None:
    """A pool without an enabled model is a warning with its line."""
    file.write_text('[[models]]\nname = "a"\nexecutor = "claude"\nenabled = false\n')
    stderr = world.ostler("config", "validate").stderr
    assert "ostler.toml:4: models[0].enabled: all models are disabled, so no task can run" in stderr


def test_settings_that_can_have_no_effect_are_refused(world: World, file: Path) -> None:
    """A variable that is never passed on, and more models than there are; a run refuses them, too."""
    names = ("SSH_AUTH_SOCK", "CLAUDE_CODE_*", "A=B", "1A", "", "MY_*")
    rows = '[[models]]\nname = "a"\nexecutor = "claude"\n'
    rows += '[[models]]\nname = "b"\nexecutor = "claude"\nenabled = false\n'
    sandbox = f"[sandbox]\nenv_allow = {list(names)!r}\n"
    file.write_text(f"{rows}{sandbox}[preflight]\nmin_models = 2\n")
    stderr = world.ostler("run", "-p", "x", code=2).stderr
    assert "ostler.toml:11: preflight.min_models: 1 model is enabled, fewer than 2; lower it" in stderr
    for name in names[:2]:
        assert f'ostler.toml:9: sandbox.env_allow: "{name}" is never passed on; remove it' in stderr
    for name in names[2:5]:
        assert f'sandbox.env_allow: "{name}" is not the name of a variable; remove it' in stderr
    assert "MY_" not in stderr


def test_a_variable_without_effect_is_named(world: World) -> None:
    """With the variable that was meant; variables that the settings name are not reported (U2)."""
    world.ostler("config", "set", "sandbox.env_allow", "OSTLER_OWN")
    names = {"OSTLER_RUN_JOBS": "3", "OSTLER_PROJEKT": "x", "OSTLER_OWN": "1", "OSTLER_ZZZ": "1"}
    names["OSTLER_AGENTS_REVIEWER"] = "claude"
    stderr = world.ostler("config", "validate", **names).stderr
    assert "OSTLER_RUN_JOBS: unknown variable, without effect; did you mean OSTLER_RUN__JOBS?" in stderr
    assert "did you mean OSTLER_AGENTS__REVIEWER?" in stderr
    assert "OSTLER_PROJEKT: unknown variable, without effect; did you mean OSTLER_PROJECT?" in stderr
    assert "OSTLER_ZZZ: unknown variable, without effect; ostler config show lists" in stderr
    assert "OSTLER_OWN" not in stderr
    names = {"OSTLER_CLUADE_PATH": "/x", "OSTLER_CODEX_PATH": "/x"}
    stderr = world.ostler("config", "validate", **names).stderr
    assert "OSTLER_CLUADE_PATH: unknown variable, without effect; did you mean OSTLER_CLAUDE_PATH?" in stderr
    assert "OSTLER_CODEX_PATH: unknown" not in stderr


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("lst",), 'unknown command "lst": did you mean ostler status?'),
        (("list",), 'unknown command "list": use ostler status'),
        (("rnu",), 'unknown command "rnu": did you mean ostler run?'),
        (("agent", "spawn", "-p", "x", "--executor", "cluade"), "did you mean claude?"),
        (("help", "nosuch"), 'unknown command "nosuch"'),
        (
            ("run", "-p", "x", "--all"),
            "--all and -p cannot be combined: pass either task ids, --all, -p or -f",
        ),
        (("run",), "nothing to run: pass either task ids, --all, -p or -f"),
        (("run", "-p", "x", "--executor", "cluade"), "did you mean claude?"),
    ],
)
def test_a_wrong_command_names_the_right_one(world: World, args: tuple[str, ...], message: str) -> None:
    """Usual names of other programs and typing errors lead to the command that exists (U2)."""
    assert message in world.ostler(*args, code=2).stderr


def test_help_is_a_command_too(world: World) -> None:
    """`ostler help run` prints what `ostler run --help` does."""
    assert world.ostler("help", "run").stdout == world.ostler("run", "--help").stdout
    assert world.ostler("help").stdout == world.ostler("--help").stdout


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("documents.outputs", "../y"),
        ("documents.context", "/etc"),
        ("documents.outputs_allow", "docs,../x"),
        ("git.branch_prefix", "bad prefix.."),
    ],
)
def test_a_path_or_branch_that_no_task_can_use_is_refused(world: World, key: str, value: str) -> None:
    """Before a run meets it, and with the name of the setting; "." is the whole project."""
    assert f"{key}: " in world.ostler("config", "set", key, value, code=2).stderr
    world.ostler("config", "set", "documents.outputs_allow", ".")


def test_a_missing_directory_of_skills_is_a_warning(world: World) -> None:
    """`config validate` reports it with its line."""
    world.ostler("config", "set", "skills.paths", "nowhere")
    (found,) = [one for one in world.json("config", "validate")["problems"] if one["key"] == "skills.paths"]
    assert (found["severity"], found["message"]) == ("warning", "nowhere is not a directory")


def test_an_address_that_serve_refuses_is_a_warning(world: World) -> None:
    """`config validate` reports it before `ostler serve` is started."""
    world.ostler("config", "set", "server.host", "0.0.0.0")
    (found,) = [one for one in world.json("config", "validate")["problems"] if one["key"] == "server.host"]
    assert found["severity"] == "warning" and "use one of 127.0.0.1" in found["message"]


def test_a_table_is_reset(world: World) -> None:
    """The message names the file, not two equal values."""
    world.ostler("config", "set", "run.jobs", "3")
    assert "run: removed from ostler.toml" in world.ostler("config", "reset", "run").stdout


@pytest.mark.parametrize(
    ("editor", "message"), [("", "an editor needs a terminal"), ("vi '", "EDITOR is not a command")]
)
def test_an_editor_that_cannot_start(world: World, editor: str, message: str) -> None:
    """No program is started, and no draft is left."""
    world.ostler("config", "init")
    assert message in world.ostler("config", "edit", EDITOR=editor, VISUAL="", code=2).stderr
    assert not list(world.root.glob("*.draft"))
