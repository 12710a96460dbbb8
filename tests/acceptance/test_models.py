"""ostler models: which models calls may use, the availability of each, and which of them answer."""

from __future__ import annotations

import re
import time
from contextlib import closing
from pathlib import Path

import pytest

from ostler.errors import Code
from ostler.model.limits.window import Window
from ostler.project.project import Project
from ostler.store.accounts.sqlite import open_accounts
from ostler.testing.fake_agent import fake_agent
from world import World

SETTINGS = """
[[models]]
name = "sonnet"
executor = "claude"
model = "claude-sonnet-5-5"
cost_weight = 30

[[models]]
name = "opus"
executor = "claude"
model = "claude-opus-4-8"
account = "work"

[[models]]
name = "gpt"
executor = "codex"
fallback = true

[[models]]
name = "gem"
executor = "gemini"
fallback = true

[[models]]
name = "old"
executor = "claude"
enabled = false
"""


@pytest.fixture
def pool(world: World, tmp_path: Path) -> World:
    """Five models: one is ready, one limited, one in cooldown, one without its program, one disabled."""
    (world.root / "ostler.toml").write_text(SETTINGS)
    world.environ["OSTLER_CODEX_PATH"] = str(fake_agent(tmp_path / "codex", "codex", edits={}))
    world.environ["OSTLER_GEMINI_PATH"] = str(tmp_path / "nowhere")
    world.environ["TZ"] = "UTC"
    world.behave(edits={})
    world.ostler("init")
    now = time.time()
    accounts = open_accounts(world.environ)
    accounts.close_window(Window("", "work", "*", "week"), now + 3600, Code.QUOTA_EXCEEDED, "used up", now)
    accounts.close()
    with (
        Project.open(world.root, world.environ) as project,
        closing(project.store.open_ledger()) as ledger,
    ):
        for _ in range(3):
            ledger.record_failure("gpt", Code.OVERLOADED, "busy", now, 3, 600)
    return world


def states(world: World, *args: str, code: int = 0) -> dict[str, tuple[str, bool | None]]:
    listed = world.json("models", *args, code=code)
    assert listed["schema"] == "ostler.models/1"
    return {model["name"]: (model["state"], (model["answer"] or {}).get("ok")) for model in listed["models"]}


def test_every_state_is_shown(pool: World) -> None:
    """In the order of the settings, with the time until which one waits; nothing is started."""
    listed = pool.json("models")["models"]
    assert [(model["name"], model["state"], model["pool"]) for model in listed] == [
        ("sonnet", "ready", "primary"),
        ("opus", "limited", "primary"),
        ("gpt", "cooldown", "fallback"),
        ("gem", "not_installed", "fallback"),
        ("old", "disabled", "primary"),
    ]
    assert [model["code"] for model in listed[1:4]] == ["QUOTA_EXCEEDED", "OVERLOADED", "AGENT_NOT_FOUND"]
    assert listed[1]["until"].endswith("Z")
    assert pool.started() == []


def test_the_screen(pool: World) -> None:
    """One line for each at 80 columns, in local time, and below it why the others cannot be used."""
    lines = pool.ostler("models", COLUMNS="80").stdout.splitlines()
    assert max(map(len, lines[:6])) <= 80
    shown = {line.split()[0]: line for line in lines[1:6]}
    assert list(shown) == ["sonnet", "opus", "gpt", "gem", "old"]
    assert " limited until " in shown["opus"]
    assert " cooldown until " in shown["gpt"]
    assert " not installed " in shown["gem"]
    assert " default" in shown["gpt"]
    assert "gpt   3 x OVERLOADED: busy" in lines
    assert "\x1b" not in "".join(lines)


def test_another_time_zone_is_another_clock(pool: World) -> None:
    """A person reads local time."""
    here, there = (pool.ostler("models", TZ=zone).stdout.splitlines()[3] for zone in ("UTC", "UTC-5:30"))
    assert "cooldown until" in here
    assert here != there


def test_check_asks_those_that_may_be_asked(pool: World) -> None:
    """The ready model and the one in cooldown, which ends, are called; a limited one is not."""
    assert states(pool, "--check") == {
        "sonnet": ("ready", True),
        "opus": ("limited", None),
        "gpt": ("ready", True),
        "gem": ("not_installed", None),
        "old": ("disabled", None),
    }
    assert len(pool.started()) == 1
    assert re.search(r" \d+\.\d s ", pool.ostler("models", "--check").stdout.splitlines()[1])


def test_check_fails_when_no_model_answers(pool: World, tmp_path: Path) -> None:
    """Exit 1, and the answer of each model."""
    pool.behave(fault="api_error", error=401)
    fake_agent(tmp_path / "codex", "codex", fault="crash")
    reported = pool.ostler("models", "--check", code=1)
    assert "AUTH_FAILED" in reported.stdout.splitlines()[1]
    assert "no model answered" in reported.stderr
    assert states(pool, "--check", code=1)["sonnet"] == ("ready", False)


def test_without_models_there_is_the_one_of_the_run(world: World) -> None:
    """The default executor with its own model."""
    (model,) = world.json("models")["models"]
    assert (model["name"], model["executor"], model["model"]) == ("claude", "claude", None)
    (model,) = world.json("models", OSTLER_RUN__MODEL="haiku")["models"]
    assert (model["name"], model["model"]) == ("haiku", "haiku")
