"""The selection of models for a task."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.config.load import Loaded, load_settings
from ostler.model.policy.model_config import ModelConfig
from ostler.model.task import Output, Task
from ostler.project.agents.model_choice import select_models

ROWS = """
[[models]]
name = "fast"
executor = "claude"
model = "haiku"

[[models]]
name = "ann"
executor = "claude"
model = "claude-sonnet"
account = "ann"

[[models]]
name = "bob"
executor = "claude"
model = "claude-sonnet"
account = "bob"

[[models]]
name = "spare"
executor = "codex"
fallback = true
enabled = false
"""
TIERS = '[tiers]\nhaiku = "claude-haiku"\nsonnet = "claude-sonnet"\n'
AGENTS = '[agents]\nimplementer = "codex"\nreviewer = "gemini"\n'
ALL = "fast ann bob spare"


def load(folder: Path, text: str, **flags: str) -> Loaded:
    (folder / "ostler.toml").write_text(text)
    return load_settings(folder, {}, {f"run.{key}": value for key, value in flags.items()})


def names(task: Task, loaded: Loaded) -> str:
    """The names of the rows; a single model has its model as the name."""
    return " ".join(one.name for one in select_models(task, loaded).models if one.name != one.model)


ALONE = [
    ("", Task("t"), {}, ModelConfig("claude", "claude")),
    ('run.model = "m"', Task("t"), {}, ModelConfig("m", "claude", "m")),
    ('run.model = "m"', Task("t", model="own"), {}, ModelConfig("own", "claude", "own")),
    ("", Task("t"), {"model": "flag", "executor": "codex"}, ModelConfig("flag", "codex", "flag")),
    ("", Task("t", executor="qwen"), {"executor": "codex"}, ModelConfig("qwen", "qwen")),
    (AGENTS, Task("t"), {}, ModelConfig("codex", "codex")),
    (AGENTS, Task("t", role="reviewer", output=Output("outputs/a.md")), {}, ModelConfig("gemini", "gemini")),
    (TIERS, Task("t", model="haiku"), {}, ModelConfig("claude-haiku", "claude", "claude-haiku")),
    (f'run.model = "haiku"\n{TIERS}', Task("t"), {}, ModelConfig("claude-haiku", "claude", "claude-haiku")),
    (TIERS, Task("t", model="opus"), {}, ModelConfig("opus", "claude", "opus")),
    (ROWS, Task("t", executor="gemini"), {}, ModelConfig("gemini", "gemini")),
    (ROWS, Task("t", model="unlisted"), {}, ModelConfig("unlisted", "claude", "unlisted")),
    (ROWS, Task("t", model="fast"), {"executor": "codex"}, ModelConfig("fast", "codex", "fast")),
    (AGENTS + ROWS, Task("t", role="reviewer"), {}, ModelConfig("gemini", "gemini")),
    (AGENTS + ROWS, Task("t"), {"model": "unlisted"}, ModelConfig("unlisted", "codex", "unlisted")),
]


@pytest.mark.parametrize(("text", "task", "flags", "only"), ALONE)
def test_a_pool_of_one(
    tmp_path: Path, text: str, task: Task, flags: dict[str, str], only: ModelConfig
) -> None:
    """Without a matching row there is one model, as requested."""
    assert select_models(task, load(tmp_path, text, **flags)).models == (only,)


LISTED = [
    (ROWS, Task("t"), {}, ALL),
    (ROWS, Task("t", role="reviewer"), {}, ALL),
    (f'run.model = "m"\nrun.executor = "qwen"\n{ROWS}', Task("t"), {}, ALL),
    (ROWS, Task("t", model="ann"), {}, "ann"),
    (ROWS, Task("t"), {"model": "bob"}, "bob"),
    (ROWS, Task("t", model="ann"), {"model": "bob"}, "ann"),
    (ROWS, Task("t", model="claude-sonnet"), {}, "ann bob"),
    (ROWS.replace('"haiku"', '"bob"'), Task("t", model="bob"), {}, "bob"),
    (TIERS + ROWS, Task("t", model="sonnet"), {}, "ann bob"),
    (TIERS + ROWS, Task("t", model="haiku"), {}, "fast"),
    (TIERS + ROWS, Task("t", model="claude-haiku"), {}, "fast"),
    (ROWS, Task("t", executor="claude"), {}, "fast ann bob"),
    (ROWS, Task("t", executor="claude-code"), {}, "fast ann bob"),
    (ROWS, Task("t"), {"executor": "codex"}, "spare"),
    (AGENTS + ROWS, Task("t"), {}, "spare"),
    (AGENTS + ROWS, Task("t", role="tester"), {}, ALL),
    (AGENTS + ROWS, Task("t"), {"model": "fast"}, "fast"),
    (AGENTS + ROWS, Task("t"), {"executor": "claude"}, "fast ann bob"),
]


@pytest.mark.parametrize(("text", "task", "flags", "expected"), LISTED)
def test_the_rows_that_are_left(
    tmp_path: Path, text: str, task: Task, flags: dict[str, str], expected: str
) -> None:
    """A model, an executor or a role narrows the list; a configured default does not."""
    assert names(task, load(tmp_path, text, **flags)) == expected


def test_a_row_keeps_all_that_it_shows(tmp_path: Path) -> None:
    """All fields of a row reach the call, and a tier becomes a model."""
    row = '[[models]]\nname = "a"\nexecutor = "claude"\nmodel = "haiku"\naccount = "ann"\ncost_weight = 3\n'
    row += 'timeout_seconds = 9\nenabled = false\nfallback = true\nargs = ["-x"]\nenv = {A = "1"}\n'
    (found,) = select_models(Task("t"), load(tmp_path, TIERS + row)).models
    assert found == ModelConfig(
        "a",
        "claude",
        "claude-haiku",
        "ann",
        3,
        9.0,
        enabled=False,
        fallback=True,
        args=("-x",),
        env={"A": "1"},
    )


def test_primary_and_fallback_are_apart(tmp_path: Path) -> None:
    """Fallback models are marked."""
    pool = select_models(Task("t"), load(tmp_path, ROWS))
    assert [one.name for one in pool.primary] == ["fast", "ann", "bob"]
    assert [one.name for one in pool.fallback] == ["spare"]
