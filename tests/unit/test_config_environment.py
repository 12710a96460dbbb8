"""Settings from environment variables: names, types, and variables that are ignored."""

from __future__ import annotations

from typing import Any

import pytest

from ostler.config.environment import read_environment
from ostler.config.load import load_settings
from ostler.config.settings import Settings
from ostler.config.source import Source
from ostler.errors import SettingsInvalid


def value_of(name: str, text: str) -> Any:
    value: Any = load_settings(None, {name: text}).settings
    for part in name.removeprefix("OSTLER_").lower().split("__"):
        value = value[part] if isinstance(value, dict) else getattr(value, part)
    return value


GOOD = [
    ("OSTLER_RUN__JOBS", "3", 3),
    ("OSTLER_RUN__TIMEOUT_SECONDS", "60", 60.0),
    ("OSTLER_RUN__TIMEOUT_SECONDS", "0.5", 0.5),
    ("OSTLER_RUN__MODEL", "", ""),
    ("OSTLER_RUN__MODEL", "123", "123"),
    ("OSTLER_RUN__MODEL", "true", "true"),
    ("OSTLER_RUN__MODEL", '["x"]', '["x"]'),
    ("OSTLER_GIT__WORKTREE", "true", True),
    ("OSTLER_GIT__WORKTREE", "false", False),
    ("OSTLER_GIT__WORKTREE", "1", True),
    ("OSTLER_GIT__WORKTREE", "0", False),
    ("OSTLER_SANDBOX__ENV_ALLOW", "A,B", ("A", "B")),
    ("OSTLER_SANDBOX__ENV_ALLOW", " A , B ,", ("A", "B")),
    ("OSTLER_SANDBOX__ENV_ALLOW", "", ()),
    ("OSTLER_SANDBOX__ENV_ALLOW", '["A,B", "C"]', ("A,B", "C")),
    ("OSTLER_RETRY__MAX_RETRIES", "0", 0),
    ("OSTLER_RETRY__SELF_HEALING", "true", True),
    ("OSTLER_SELECTION__STRATEGY", "cost-aware", "cost-aware"),
    ("OSTLER_SELECTION__FORCE_FALLBACK", "1", True),
    ("OSTLER_POOLS__HIGH__SIZE", "3", 3),
    ("OSTLER_HOST__START_STAGGER_SECONDS", "0", 0.0),
    ("OSTLER_BUDGET__TASK_USD", "5", 5.0),
    ("OSTLER_BUDGET__DAY_USD", "null", None),
    ("OSTLER_TIERS__OPUS", "big", "big"),
    ("OSTLER_PLUGINS__LOAD", "a:b, c:d", ("a:b", "c:d")),
    ("OSTLER_EXECUTORS__MINE__COMMAND", "my-agent", "my-agent"),
    ("OSTLER_EXECUTORS__MINE__PERMISSIONS", "skip", "skip"),
    ("OSTLER_EXECUTORS__MINE__ENV", '{"A": "1"}', {"A": "1"}),
]


@pytest.mark.parametrize(("name", "text", "value"), GOOD)
def test_text_becomes_the_type_that_is_expected(name: str, text: str, value: object) -> None:
    """The setting's type decides how the text is read."""
    found = value_of(name, text)
    assert (found, type(found)) == (value, type(value))


BAD = [
    ("OSTLER_RUN__JOBS", "two", 'OSTLER_RUN__JOBS: run.jobs: expected int >= 1, got "two"'),
    ("OSTLER_RUN__JOBS", "", 'OSTLER_RUN__JOBS: run.jobs: expected int >= 1, got ""'),
    ("OSTLER_RUN__JOBS", "0", 'OSTLER_RUN__JOBS: run.jobs: expected int >= 1, got "0"'),
    (
        "OSTLER_RUN__TIMEOUT_SECONDS",
        "nan",
        'OSTLER_RUN__TIMEOUT_SECONDS: run.timeout_seconds: expected float > 0, got "nan"',
    ),
    ("OSTLER_GIT__WORKTREE", "yes", 'OSTLER_GIT__WORKTREE: git.worktree: expected true or false, got "yes"'),
    ("OSTLER_RUN__JOB", "1", "OSTLER_RUN__JOB: unknown setting; did you mean OSTLER_RUN__JOBS?"),
    ("OSTLER_RN__JOBS", "1", "OSTLER_RN__JOBS: unknown setting; did you mean OSTLER_RUN__JOBS?"),
    ("OSTLER_run__JOBS", "1", "OSTLER_run__JOBS: unknown setting; did you mean OSTLER_RUN__JOBS?"),
    ("OSTLER_QQQQQ__X", "1", "OSTLER_QQQQQ__X: unknown setting"),
    ("OSTLER__JOBS", "1", "OSTLER__JOBS: unknown setting"),
    ("OSTLER_RUN__", "1", "OSTLER_RUN__: unknown setting"),
    ("OSTLER_RUN__JOBS__X", "1", "OSTLER_RUN__JOBS__X: unknown setting"),
    ("OSTLER_EXECUTORS____COMMAND", "1", "OSTLER_EXECUTORS____COMMAND: unknown setting"),
    ("OSTLER_EXECUTORS__MINE", "x", "OSTLER_EXECUTORS__MINE: executors.mine: expected table as JSON"),
    ("OSTLER_EXECUTORS__MINE", '{"x": 1}', "OSTLER_EXECUTORS__MINE: executors.mine.x: unknown setting"),
    (
        "OSTLER_SANDBOX__ENV_ALLOW",
        "[1",
        "OSTLER_SANDBOX__ENV_ALLOW: sandbox.env_allow: expected list of str as JSON",
    ),
    (
        "OSTLER_SANDBOX__ENV_ALLOW",
        "[" * 9999,
        "OSTLER_SANDBOX__ENV_ALLOW: sandbox.env_allow: expected list of str as JSON",
    ),
    (
        "OSTLER_SANDBOX__ENV_ALLOW",
        "[1]",
        "OSTLER_SANDBOX__ENV_ALLOW: sandbox.env_allow: expected list of str, got [1]",
    ),
    (
        "OSTLER_RUN__MODEL",
        "\udcff",
        'OSTLER_RUN__MODEL: run.model: expected str, got "\\udcff" (no program accepts that character)',
    ),
    (
        "OSTLER_MODELS",
        "[]",
        "OSTLER_MODELS: a variable cannot set a list of tables; write [[models]] in a settings file",
    ),
    (
        "OSTLER_MODELS__0__NAME",
        "a",
        "OSTLER_MODELS__0__NAME: a variable cannot set a list of tables; write [[models]] in a settings file",
    ),
    ("OSTLER_BUDGET__DAY_USD", "", 'OSTLER_BUDGET__DAY_USD: budget.day_usd: expected float >= 0, got ""'),
    ("OSTLER_PRICES__M__INPUT", "1", "OSTLER_PRICES__M__INPUT: prices.M.output: must be set"),
    ("OSTLER_\udcff__X", "1", '"OSTLER_\\udcff__X": unknown setting'),
]


@pytest.mark.parametrize(("name", "text", "line"), BAD, ids=[line[:60] for _, _, line in BAD])
def test_a_wrong_variable_is_one_line(name: str, text: str, line: str) -> None:
    """A variable with an unknown setting or an invalid value is reported by its own name."""
    with pytest.raises(SettingsInvalid) as caught:
        load_settings(None, {name: text})
    assert caught.value.mistakes == [line]
    assert caught.value.hint == "correct or unset the variable or flag"
    line.encode()


@pytest.mark.parametrize(
    "name",
    [
        *(
            "OSTLER_ATTEMPT",
            "OSTLER_TASK",
            "OSTLER_PROJECT",
            "OSTLER_STATE",
            "OSTLER_FAILPOINT",
            "OSTLER_FULL",
        ),
        *("OSTLER_CLAUDE_PATH", "OSTLER_MY_AGENT_PATH", "OSTLER_RUN", "OSTLER_ANYTHING"),
        *("ostler_run__jobs", "MY_OSTLER_RUN__JOBS", "OSTLERX__Y", "PATH"),
    ],
)
def test_reserved_and_foreign_names_are_left_alone(name: str) -> None:
    """Reserved variables and variables of other programs change nothing."""
    assert load_settings(None, {name: "whatever"}) == load_settings(None, {})


def test_a_name_that_a_file_uses_is_found_again() -> None:
    """A variable name has no dash and one case, so the name in the file decides the spelling."""
    earlier = {"executors": {"My-Agent": {}}}
    reading = read_environment(Settings, {"OSTLER_EXECUTORS__MY_AGENT__COMMAND": "x"}, earlier)
    assert reading.values == {"executors": {"My-Agent": {"command": "x"}}}


def test_the_price_of_a_model_is_found_by_any_spelling_that_a_shell_allows() -> None:
    """Dots and dashes of a model's name become underscores; a new name is kept unchanged."""
    earlier = {"prices": {"claude-Sonnet-4.5": {"input": 1.0}}}
    variables = {"OSTLER_PRICES__CLAUDE_SONNET_4_5__INPUT": "7", "OSTLER_PRICES__Qwen3__INPUT": "1"}
    reading = read_environment(Settings, variables, earlier)
    assert reading.values == {"prices": {"claude-Sonnet-4.5": {"input": 7.0}, "Qwen3": {"input": 1.0}}}


@pytest.mark.parametrize("earlier", [{}, {"executors": None}, {"executors": {"mine": 3}}])
def test_earlier_layers_may_hold_mistakes(earlier: dict[str, Any]) -> None:
    """A mistake in a file does not prevent reading a variable."""
    reading = read_environment(Settings, {"OSTLER_EXECUTORS__MINE__ENV__A": "x"}, earlier)
    assert reading.values == {"executors": {"mine": {"env": {"A": "x"}}}}


def test_names_of_a_childs_variables_are_kept_as_written() -> None:
    """The agent's own variables have case, and may have two underscores."""
    name = "OSTLER_EXECUTORS__MINE__ENV__My__Key"
    loaded = load_settings(None, {name: "1"})
    assert loaded.settings.executors["mine"].env == {"My__Key": "1"}
    assert loaded.sources["executors.mine.env.My__Key"] == Source("environment", name)
