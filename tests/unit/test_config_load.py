"""All layers together: precedence, the message of each mistake, and the cost of loading."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ostler.config.find import user_file
from ostler.config.load import Loaded, load_settings
from ostler.config.settings import ModelSettings, Settings
from ostler.config.source import Source
from ostler.errors import Code, SettingsInvalid


def write(folder: Path, text: str, name: str = "ostler.toml") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return folder


def load(folder: Path, text: str) -> Loaded:
    return load_settings(write(folder, text), {})


def mistakes(folder: Path, text: str, environ: dict[str, str] | None = None, **flags: object) -> list[str]:
    with pytest.raises(SettingsInvalid) as caught:
        load_settings(
            write(folder, text), environ or {}, {key.replace("__", "."): flags[key] for key in flags}
        )
    assert caught.value.exit == 2
    assert caught.value.code is Code.CONFIG_INVALID
    return caught.value.mistakes


MODEL = "[[models]]\nname = 'a'\nexecutor = 'claude'\n"
BAD_FILES = [
    ('[run]\njobs = "two"', 'ostler.toml:2: run.jobs: expected int >= 1, got "two"'),
    ("[run]\njobs = 0", "ostler.toml:2: run.jobs: expected int >= 1, got 0"),
    ("[run]\njobs = true", "ostler.toml:2: run.jobs: expected int >= 1, got true"),
    ("[run]\njobs = 1.5", "ostler.toml:2: run.jobs: expected int >= 1, got 1.5"),
    ("[run]\njobs = []", "ostler.toml:2: run.jobs: expected int >= 1, got []"),
    ("[run.jobs]\nx = 1", "ostler.toml:1: run.jobs: expected int >= 1, got a table"),
    ("run.jobs.x.y = 1", "ostler.toml:1: run.jobs: expected int >= 1, got a table"),
    (
        f"run.jobs = {2**63}",
        "ostler.toml:1: run.jobs: expected int >= 1, got an int of more than 64 bits (out of range)",
    ),
    ("[run]\nmodel = 1979-05-27", "ostler.toml:2: run.model: expected str, got 1979-05-27"),
    ("[run]\n\njob = 1", "ostler.toml:3: run.job: unknown setting; did you mean run.jobs?"),
    ("[run]\nqqqqq = 1", "ostler.toml:2: run.qqqqq: unknown setting"),
    ("jobs = 1", "ostler.toml:1: jobs: unknown setting; did you mean run.jobs?"),
    ("[rn]\njobs = 1", "ostler.toml:1: rn: unknown setting; did you mean run?"),
    ('[run]\n"a b" = 1', 'ostler.toml:2: run."a b": unknown setting'),
    ('[run]\n"\\u001b[2J" = 1', 'ostler.toml:2: run."\\u001b[2J": unknown setting'),
    ("run = 3", "ostler.toml:1: run: expected a table, got 3"),
    ("executors = 3", "ostler.toml:1: executors: expected a table, got 3"),
    ("[[run]]", "ostler.toml:1: run: expected a table, got [{}]"),
    (
        '[sandbox]\nallow_paths = ["bin"]',
        'ostler.toml:2: sandbox.allow_paths: expected list of str that starts with "/" or "~", got ["bin"]',
    ),
    ("run.timeout_seconds = nan", "ostler.toml:1: run.timeout_seconds: expected float > 0, got nan"),
    (
        "run.timeout_seconds = inf",
        "ostler.toml:1: run.timeout_seconds: expected float > 0, got inf (out of range)",
    ),
    ("run.timeout_seconds = true", "ostler.toml:1: run.timeout_seconds: expected float > 0, got true"),
    ("retry.jitter = 2", "ostler.toml:1: retry.jitter: expected float from 0 to 1, got 2"),
    ("git.worktree = 1", "ostler.toml:1: git.worktree: expected true or false, got 1"),
    (
        'sandbox.home = [".claude/CLAUDE.md", "../x"]',
        "ostler.toml:1: sandbox.home: '../x' is not a path below its root",
    ),
    (
        'sandbox.tier = "x"',
        'ostler.toml:1: sandbox.tier: expected one of "auto", "supervised", "limits", "landlock",'
        ' "bubblewrap", "docker", "podman", got "x"',
    ),
    (
        '[executors.mine]\npermissions = "yolo"',
        "ostler.toml:2: executors.mine.permissions: "
        'expected one of "auto", "ask", "accept-edits", "skip", got "yolo"',
    ),
    (
        "[executors.mine]\nargs = [\n 'a',\n 3]",
        'ostler.toml:2: executors.mine.args: expected list of str, got ["a", 3]',
    ),
    (
        "executors.mine.env = {A = 3}",
        "ostler.toml:1: executors.mine.env.A: expected str, got 3",
    ),
    (
        "executors.mine.env = {'A=B' = ''}",
        'ostler.toml:1: executors.mine.env."A=B": as a name, expected name without "="',
    ),
    (
        'executors.mine.command = "a\\u0000b"',
        'ostler.toml:1: executors.mine.command: expected str, got "a\\u0000b" '
        "(no program accepts that character)",
    ),
    (
        "[executors.'my agent']\ncomand = ''",
        'ostler.toml:2: executors."my agent".comand: unknown setting; '
        'did you mean executors."my agent".command?',
    ),
    (
        f"{MODEL}{MODEL}",
        'ostler.toml:5: models[1].name: "a" is taken by models[0].name',
    ),
    (
        "models = [{name = 'a', executor = 'x'}, {name = 'a', executor = 'y'}]",
        'ostler.toml:1: models[1].name: "a" is taken by models[0].name',
    ),
    (f"{MODEL}name2 = 1", "ostler.toml:4: models[0].name2: unknown setting; did you mean models[0].name?"),
    (
        f"{MODEL}cost_weight = 0",
        "ostler.toml:4: models[0].cost_weight: expected int from 1 to 100, got 0",
    ),
    (
        f"{MODEL}timeout_seconds = 0",
        "ostler.toml:4: models[0].timeout_seconds: expected float > 0, got 0",
    ),
    ("[[models]]\nname = 'a'", "ostler.toml:1: models[0].executor: must be set"),
    (
        "[[models]]\nname = ''\nexecutor = 'x'",
        'ostler.toml:2: models[0].name: expected str that is not empty, got ""',
    ),
    ("[models]\nname = 'a'", "ostler.toml:1: models: expected a list of tables, got a table"),
    (
        "selection.strategy = 'best'",
        "ostler.toml:1: selection.strategy: "
        'expected one of "round-robin", "priority", "cost-aware", "random", got "best"',
    ),
    ("[pools.high]\nnice = 20", "ostler.toml:2: pools.high.nice: expected int from 0 to 19, got 20"),
    ("[prices.'m.1']\ninput = 1", 'ostler.toml:1: prices."m.1".output: must be set'),
    ("budget.day_usd = -1", "ostler.toml:1: budget.day_usd: expected float >= 0, got -1"),
    ("run.jobs = '" + "x" * 100 + "'", f'ostler.toml:1: run.jobs: expected int >= 1, got "{"x" * 56}...'),
]


@pytest.mark.parametrize(("text", "line"), BAD_FILES, ids=[line[:60] for _, line in BAD_FILES])
def test_one_mistake_is_one_line(tmp_path: Path, text: str, line: str) -> None:
    """A wrong value or key is reported with its line, its key and the expected value."""
    assert mistakes(tmp_path, text) == [line]


def test_the_hint_for_a_variable_is_not_to_edit_a_file(tmp_path: Path) -> None:
    """`config edit` is the next step only if a file has a mistake."""
    environ = {"HOME": str(tmp_path), "OSTLER_RUN__JOBS": "three"}
    with pytest.raises(SettingsInvalid) as caught:
        load_settings(tmp_path, environ)
    assert caught.value.hint == "correct or unset the variable or flag"
    write(tmp_path, "[run]\njobs = 0\n")
    with pytest.raises(SettingsInvalid, match="OSTLER_RUN__JOBS") as caught:
        load_settings(tmp_path, environ)
    assert caught.value.hint == "fix them with: ostler config edit"


def test_every_mistake_of_every_layer_is_reported_at_once(tmp_path: Path) -> None:
    """One run of the command reports every mistake of every layer."""
    write(tmp_path, "[git]\ntarget = 1\n", ".config/ostler/config.toml")
    text = '[run]\njobs = "two"\n[executors.b]\nx = 1\n[retry]\njitter = 7\n[executors.a]\ntype = 1\n'
    environ = {"HOME": str(tmp_path), "OSTLER_RUN__JOBS": "three", "OSTLER_RUN__JOB": "3"}
    assert mistakes(tmp_path, text, environ, run__jobs=0) == [
        "~/.config/ostler/config.toml:2: git.target: expected str, got 1",
        'ostler.toml:2: run.jobs: expected int >= 1, got "two"',
        "ostler.toml:4: executors.b.x: unknown setting",
        "ostler.toml:6: retry.jitter: expected float from 0 to 1, got 7",
        "ostler.toml:8: executors.a.type: expected str, got 1",
        "OSTLER_RUN__JOB: unknown setting; did you mean OSTLER_RUN__JOBS?",
        'OSTLER_RUN__JOBS: run.jobs: expected int >= 1, got "three"',
        "--jobs: run.jobs: expected int >= 1, got 0",
    ]


def test_a_syntax_error_does_not_hide_the_other_layers(tmp_path: Path) -> None:
    """A file that is not TOML is one line next to the mistakes of the other layers."""
    found = mistakes(tmp_path, "[run]\njobs 2\n", {"OSTLER_RUN__JOBS": "x"})
    assert found == [
        "ostler.toml:2: not valid TOML: Expected '=' after a key in a key/value pair (column 6)",
        'OSTLER_RUN__JOBS: run.jobs: expected int >= 1, got "x"',
    ]


def test_the_later_layer_wins(tmp_path: Path) -> None:
    """Each layer has precedence over the one before, from the default to the flag."""
    home, project = tmp_path / "home", tmp_path / "project"
    environ = {"HOME": str(home)}
    seen: list[tuple[int, Source]] = []

    def look(environ: dict[str, str], flags: dict[str, object]) -> None:
        loaded = load_settings(project, environ, flags)
        seen.append((loaded.settings.run.jobs, loaded.sources["run.jobs"]))

    look(environ, {})
    write(home, "[run]\njobs = 3", ".config/ostler/config.toml")
    look(environ, {})
    write(project, "\n[run]\njobs = 4")
    look(environ, {})
    look(environ | {"OSTLER_RUN__JOBS": "5"}, {})
    look(environ | {"OSTLER_RUN__JOBS": "5"}, {"run.jobs": None})
    look(environ | {"OSTLER_RUN__JOBS": "5"}, {"run.jobs": 6})
    assert seen == [
        (2, Source("default")),
        (3, Source("user file", "~/.config/ostler/config.toml", 2)),
        (4, Source("project file", "ostler.toml", 3)),
        (5, Source("environment", "OSTLER_RUN__JOBS")),
        (5, Source("environment", "OSTLER_RUN__JOBS")),
        (6, Source("flag", "--jobs")),
    ]


def test_sections_grow_over_the_layers(tmp_path: Path) -> None:
    """Two layers that set different keys of one executor, or of its env, both count."""
    write(
        tmp_path,
        '[executors.mine]\ncommand = "a"\nargs = ["x", "y"]\nenv = {A = "1", B = "1"}',
        "ostler/config.toml",
    )
    write(tmp_path, '[executors.mine]\nargs = ["z"]\nenv.B = "2"')
    loaded = load_settings(tmp_path, {"XDG_CONFIG_HOME": str(tmp_path)})
    mine = loaded.settings.executors["mine"]
    assert (mine.command, mine.args, mine.env) == ("a", ("z",), {"A": "1", "B": "2"})
    assert loaded.sources["executors.mine.env.A"].location == f"{tmp_path}/ostler/config.toml:4"
    assert loaded.sources["executors.mine.env.B"].location == "ostler.toml:3"


def test_every_value_has_a_source(tmp_path: Path) -> None:
    """Every key has an entry in the sources."""
    loaded = load(tmp_path, "[executors.mine]\n")
    assert loaded.sources["executors.mine.command"] == Source("default")
    assert loaded.sources["executors.mine.env"].location == "default"
    assert loaded.sources["budget.task_usd"] == Source("default")
    assert {key.partition(".")[0] for key in loaded.sources} == set(Settings.__struct_fields__)


def test_a_list_of_models(tmp_path: Path) -> None:
    """The models are in the order of the file, and a missing key of a row has its default."""
    loaded = load(
        tmp_path,
        """
        [[models]]
        name = "sonnet"
        executor = "claude"
        [[models]]
        name = "spare"
        executor = "codex"
        fallback = true
        timeout_seconds = 300
        """,
    )
    sonnet, spare = loaded.settings.models
    assert sonnet == ModelSettings("sonnet", "claude")
    assert spare == ModelSettings("spare", "codex", fallback=True, timeout_seconds=300.0)
    assert sonnet.cost_weight == 50
    assert loaded.sources["models[1].timeout_seconds"] == Source("project file", "ostler.toml", 9)


def test_a_relative_path_of_an_agent_is_below_the_project(tmp_path: Path) -> None:
    """It is the same program in every directory; a name, an absolute path and ~ are unchanged."""
    commands = {"a": "tools/agent", "b": "./agent", "c": "agent", "d": "/opt/agent", "e": "~/agent"}
    text = "".join(
        f'[executors.{name}]\ntype = "command"\ncommand = "{command}"\n' for name, command in commands.items()
    )
    found = {name: one.command for name, one in load(tmp_path, text).settings.executors.items()}
    assert found == {**commands, "a": f"{tmp_path}/tools/agent", "b": f"{tmp_path}/agent"}


def test_names_are_unique_within_a_file_only(tmp_path: Path) -> None:
    """A project may use the model names of the user's file: the project's list replaces the user's list."""
    rows = '[[models]]\nname = "a"\nexecutor = "claude"\n'
    write(tmp_path, rows, "ostler/config.toml")
    write(tmp_path, rows)
    loaded = load_settings(tmp_path, {"XDG_CONFIG_HOME": str(tmp_path)})
    assert len(loaded.settings.models) == 1


def test_an_int_is_a_float_where_a_float_is_expected(tmp_path: Path) -> None:
    """60 is accepted for 60.0."""
    seconds = load(tmp_path, "run.timeout_seconds = 60").settings.run.timeout_seconds
    assert seconds == 60
    assert type(seconds) is float


@pytest.mark.parametrize("text", ["", "\n", "# only a comment", "[run]\n", "\ufeffrun.jobs = 2\r\n"])
def test_a_nearly_empty_file_is_valid(tmp_path: Path, text: str) -> None:
    """An empty file, an empty table, a byte order mark and Windows line ends are all fine."""
    assert load(tmp_path, text).settings == load_settings(None, {}).settings


@pytest.mark.parametrize(
    ("environ", "path"),
    [
        ({}, None),
        ({"HOME": ""}, None),
        ({"HOME": "/h"}, Path("/h/.config/ostler/config.toml")),
        ({"HOME": "/h", "XDG_CONFIG_HOME": ""}, Path("/h/.config/ostler/config.toml")),
        ({"HOME": "/h", "XDG_CONFIG_HOME": "relative"}, Path("/h/.config/ostler/config.toml")),
        ({"HOME": "/h", "XDG_CONFIG_HOME": "/x"}, Path("/x/ostler/config.toml")),
        ({"XDG_CONFIG_HOME": "/x"}, Path("/x/ostler/config.toml")),
    ],
)
def test_where_the_users_file_is(environ: dict[str, str], path: Path | None) -> None:
    """XDG_CONFIG_HOME has precedence, and a machine without HOME works."""
    assert user_file(environ) == path
    load_settings(None, environ)


def test_importing_the_loader_is_cheap() -> None:
    """Reading the settings loads no event loop, no TOML parser and no module of the terminal."""
    code = "import sys, ostler.config.load as l; l.load_settings(None, {}); print(*sys.modules)"
    path = str(Path(__file__).parents[2] / "src")
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": path}, capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert "ostler.config.checks.validate" in loaded
    assert not loaded & {
        "asyncio",
        "rich",
        "click",
        "yaml",
        "tomllib",
        "difflib",
        "subprocess",
        "ostler.config.toml_file",
    }
