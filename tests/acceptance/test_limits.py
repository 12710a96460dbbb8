"""ostler limits, and the line about limits in other screens."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

from limits_world import HOUR, close_window, note_windows, window_use
from models_world import QUICK, add_tasks, play, row, write_models
from ostler.errors import Code
from ostler.files.user_state import find_user_state
from ostler.model.limits.window import Window
from ostler.store.accounts.sqlite import read_accounts
from person import Person
from world import World, bend

SETTINGS = """
[limits]
keep_for_me = 0.2

[[models]]
name = "sonnet"
executor = "claude"
model = "claude-sonnet-5-5"

[[models]]
name = "gpt"
executor = "codex"
account = "team"
"""


@pytest.fixture
def used(world: World) -> World:
    """A project with two accounts, and a third account that another project uses."""
    (world.root / "ostler.toml").write_text(SETTINGS)
    world.environ |= {"TZ": "UTC", "NO_COLOR": "1"}
    world.ostler("init")
    now = time.time()
    note_windows(
        world.environ,
        window_use("five_hour", 0.93, now, status="warning"),
        window_use("seven_day", 0.31, now, resets_in=99 * HOUR),
        window_use("five_hour", 0.42, now, account="team", source="file"),
    )
    close_window(world.environ, Window("gemini"), now + HOUR, now, message="Your quota is used")
    return world


def test_every_account_of_the_user_is_shown(used: World) -> None:
    """The accounts of the project first, with the share at which no further task starts."""
    listed = used.json("limits")
    assert listed["schema"] == "ostler.limits/1"
    assert listed["stop_at"] == 0.8
    shown = {account["label"]: account for account in listed["accounts"]}
    assert list(shown) == ["claude", "team", "gemini"]
    assert shown["claude"]["models"] == ["sonnet"]
    assert [(one["name"], one["used"], one["level"]) for one in shown["claude"]["windows"]] == [
        ("five_hour", 0.93, "stopped"),
        ("seven_day", 0.31, "ok"),
    ]
    assert shown["team"]["windows"][0]["source"] == "file"
    (closed,) = shown["gemini"]["closed"]
    assert (closed["code"], closed["is_due"]) == (Code.QUOTA_EXCEEDED, False)
    printed = used.ostler("limits").stdout
    assert "stopped, resets" in printed and "│ 80 %" in printed
    assert "QUOTA_EXCEEDED: Your quota is used" in printed


def test_outside_a_project_the_same_accounts_are_shown(used: World, tmp_path: Path) -> None:
    """Without a threshold, and without creating a project."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    used.root = folder
    listed = used.json("limits")
    assert listed["stop_at"] is None
    assert [account["label"] for account in listed["accounts"]] == ["claude", "gemini", "team"]
    assert list(folder.iterdir()) == []


def test_before_the_first_report_nothing_is_created(world: World, tmp_path: Path) -> None:
    """One sentence says when values appear."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    world.root = folder
    assert "Values appear after the first answer" in world.ostler("limits").stdout
    state = find_user_state(world.environ)
    assert state is not None and not state.exists()


def test_wrong_values_of_an_account_are_forgotten(used: World) -> None:
    """By its name; other accounts stay, and an unknown name changes nothing."""
    refused = used.ostler("limits", "forget", "nobody", code=2)
    assert '"gemini"' in refused.stderr
    assert used.json("limits", "forget", "gemini")["account"]["closed"]
    assert [account["label"] for account in used.json("limits")["accounts"]] == ["claude", "team"]


def test_an_agent_reads_limits_and_forgets_none(used: World) -> None:
    """From inside a task only a person may end a limit."""
    used.environ |= {"OSTLER_TASK": "fix-it-ab12", "OSTLER_ATTEMPT": "x:fix-it-ab12:1"}
    assert "five-hour" in used.ostler("limits").stdout
    refused = used.ostler("limits", "forget", "gemini", code=2)
    assert "only a person can use ostler limits forget" in refused.stderr
    assert read_accounts(used.environ, time.time()).limits != ()


def test_the_status_names_what_is_nearly_used_or_closed(used: World) -> None:
    """One line, in the JSON too; none while there is enough left."""
    used.new("Fix it")
    alerts = used.json("status")["limits"]
    assert [(one["account"], one["kind"], one["used"]) for one in alerts] == [
        ("claude", "near", 0.93),
        ("gemini", "limited", None),
    ]
    first, second = used.ostler("status").stdout.splitlines()[-1].split("; ")
    assert first.startswith("claude: five-hour 93 %, resets ")
    assert second.startswith("gemini limited until ") and second.endswith(" (all windows)")
    for account in ("claude", "gemini"):
        used.ostler("limits", "forget", account)
    assert used.json("status")["limits"] == []
    assert used.ostler("status").stdout.splitlines()[-1] == "1 task: 1 pending"


def test_the_next_step_waits_for_the_reset(world: World) -> None:
    """In a terminal, `status` proposes no run that would start nothing."""
    world.new("Fix it")
    argv, environ = [sys.executable, "-m", "ostler", "status"], world.environ | {"TZ": "UTC"}
    with Person(argv, world.root, environ) as person:
        person.read_until("Next: ostler run --all\n")
    note_windows(world.environ, window_use("five_hour", 0.96, time.time()))
    with Person(argv, world.root, environ) as person:
        person.read_until("Next: ostler run --all   from ")


def test_each_model_has_its_account_and_its_fullest_window(used: World) -> None:
    """As a short bar with the share, the window and its reset."""
    listed = {model["name"]: model for model in used.json("models")["models"]}
    assert [(listed[name]["login"], listed[name]["window"]["used"]) for name in ("sonnet", "gpt")] == [
        ("claude", 0.93),
        ("team", 0.42),
    ]
    (line,) = [line for line in used.ostler("models").stdout.splitlines() if line.startswith("sonnet")]
    assert "▕█████▋▏  93 %  five-hour, resets " in line


@pytest.mark.full
def test_a_limit_and_its_end_are_sent_once(world: World) -> None:
    """Three tasks meet it: one message when no call is made any more, one when the account answers again."""
    jump = bend(world)
    sent = world.root.parent / "sent.ndjson"
    command = json.dumps(["sh", "-c", f"cat >> {sent}; echo >> {sent}"])
    notify = f'[[notify]]\non = ["limited", "back"]\ncommand = {command}\n'
    write_models(world, row("gpt", "codex"), more=QUICK + notify)
    play(world, "codex", fault="limited", count=1, seconds=HOUR)
    add_tasks(world, 3)
    world.ostler("run", "--all", code=5)
    world.agents.joinpath("codex.window").write_text("0\n")
    jump.write_text(str(HOUR + 600))
    world.ostler("run", "--all")
    limited, back = (json.loads(line) for line in sent.read_text().splitlines())
    assert (limited["on"], back["on"]) == ("limited", "back")
    assert limited["limit"]["account"] == back["limit"]["account"] == "codex"
    assert limited["limit"]["until"] is not None
    assert limited["limit"]["waiting"] in (1, 2)
    assert "codex" in limited["reason"] and "answers again after its limit" in back["reason"]
