"""Any files and variables give settings, or SettingsInvalid with printable lines, within a short time."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from examples import examples
from ostler.config.literal import quote, to_toml
from ostler.config.load import load_settings
from ostler.config.show import rows
from ostler.errors import SettingsInvalid

within_a_second = settings(
    max_examples=examples(200),
    deadline=10_000,  # ten times the limit of one second
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

NAMES = [
    "run",
    "executors",
    "retry",
    "git",
    "jobs",
    "model",
    "env",
    "args",
    "type",
    "jitter",
    "worktree",
    "permissions",
    "models",
    "name",
    "executor",
    "pools",
    "budget",
    "day_usd",
    "prices",
]
NAME = st.sampled_from(NAMES) | st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
SCALAR = st.one_of(
    st.integers(-3, 5),
    st.integers(),
    st.booleans(),
    st.floats(),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    st.sampled_from(["claude", "ask", "skip"]),
    st.dates(),
    st.datetimes(),
)
TREE = st.recursive(
    SCALAR,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAME, inner, max_size=4),
    max_leaves=12,
)


def survive(folder: Path, data: bytes, environ: dict[str, str]) -> None:
    (folder / "ostler.toml").write_bytes(data)
    try:
        loaded = load_settings(folder, environ)
    except SettingsInvalid as error:
        assert error.mistakes
        assert all(line.isprintable() and len(line) < 500 for line in error.mistakes)
    else:
        assert {row.key for row in rows(loaded)} == set(loaded.sources)


@within_a_second
@given(st.binary(max_size=200))
def test_random_bytes(tmp_path: Path, data: bytes) -> None:
    """Any bytes give one sentence at most."""
    survive(tmp_path, data, {})


@within_a_second
@given(
    st.lists(
        st.sampled_from([*NAMES, *"\"'\\[]{}=.,#\n 10", '"""', "'''", "[run]\n", "jobs = ", "\r\n"]),
        max_size=30,
    )
)
def test_almost_toml(tmp_path: Path, pieces: list[str]) -> None:
    """Text that is nearly TOML gives one sentence at most."""
    survive(tmp_path, "".join(pieces).encode(), {})


@within_a_second
@given(st.dictionaries(NAME, TREE, max_size=5))
def test_random_trees(tmp_path: Path, tree: dict[str, object]) -> None:
    """Valid TOML with any shape under any name gives one sentence at most."""
    text = "\n".join(f"{quote(name)} = {to_toml(value)}" for name, value in tree.items())
    survive(tmp_path, text.encode(), {})


VARIABLE = st.lists(st.sampled_from([*(name.upper() for name in NAMES), "", "_", "x", "MINE"]), max_size=5)
TEXTS = (
    st.text(max_size=20)
    | TREE.map(to_toml)
    | st.sampled_from(["1", "true", "[1]", "{}", '{"jobs": 2}', "null"])
)


@within_a_second
@given(st.dictionaries(VARIABLE.map(lambda parts: "OSTLER_" + "__".join(parts)), TEXTS, max_size=4))
def test_random_environments(tmp_path: Path, environ: dict[str, str]) -> None:
    """Any variable, with lone surrogates too, gives one sentence at most."""
    survive(tmp_path, b"[executors.mine]\n", environ)


@pytest.mark.parametrize(
    "text",
    [
        "run.jobs = 0x" + "f" * 9000,
        "run.jobs." + ".".join("a" * 3000) + " = 1",
        "[run." + ".".join("a" * 3000) + "]",
        "\n".join(f"run.jobz{number} = 1" for number in range(5000)),
        "run.model = '''" + "\n[run]\n" * 20000 + "'''",
        'run."' + "j" * 100000 + '" = 1',
        "run.model = " + "[" * 300 + "]" * 300,
        "[[run.jobs]]\n" * 5000,
        "run.model = 1" + " " * 200000,
        "run.model = '" + "#" * 200000,
        'run.model = """' + '"" ' * 50000,
    ],
    ids=lambda text: text[:20],
)
@pytest.mark.timeout(10)
def test_hostile_files(tmp_path: Path, text: str) -> None:
    """Deep, long and repetitive files take no longer than others."""
    survive(tmp_path, text.encode(), {})
