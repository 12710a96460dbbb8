"""Settings in the API: read with their sources, changed if the table allows it, and nothing is lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from in_process_server import serve_in_process
from web_world import JSON, Client

FILE = """# ours
[run]
jobs = 2  # not too many

[gates.commands]
implement = "true"

[[models]]
name = "fast"
executor = "claude"

[[models]]
name = "slow"
executor = "claude"
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "ostler.toml").write_text(FILE)
    return tmp_path / "project"


@pytest.fixture
def client(root: Path) -> Iterator[Client]:
    with serve_in_process(root) as (_, client):
        yield client


def patch(client: Client, status: int = 200, **body: Any) -> Any:
    answer = client.ask("PATCH", "/api/v1/settings", json.dumps(body).encode(), **JSON)
    assert answer.status == status, answer.body
    return answer.json


def edit(client: Client, status: int = 200, **values: object) -> Any:
    """Change these settings; a dot is written as two underscores."""
    version = client.get("/settings")["version"]
    edits = [{"key": key.replace("__", "."), "value": value} for key, value in values.items()]
    return patch(client, status, version=version, edits=edits)


def values_of(document: Any) -> dict[str, Any]:
    return {one["key"]: one["value"] for one in document["settings"]}


def test_each_setting_has_its_value_source_and_command(client: Client) -> None:
    """An editable one has a control; a command of the project is read-only."""
    settings = {one["key"]: one for one in client.get("/settings")["settings"]}
    jobs, gate = settings["run.jobs"], settings["gates.commands.implement"]
    assert (jobs["value"], jobs["source"], jobs["default"]) == (2, "ostler.toml:3", 2)
    assert jobs["control"]["type"] == "integer" and jobs["control"]["least"] == 1
    assert (gate["editable"], gate["control"]) == (False, None)
    assert gate["command"] == "ostler config set gates.commands.implement true"
    assert settings["budget.day_usd"]["control"]["optional"] is True


def test_several_changes_are_written_and_live(client: Client, root: Path) -> None:
    """Comments stay, the running server uses the new values, and null removes one."""
    changed = edit(client, run__jobs=5, budget__day_usd=12.5, **{"models[1].enabled": False})
    assert values_of(changed)["run.jobs"] == 5
    text = (root / "ostler.toml").read_text()
    assert "jobs = 5  # not too many" in text and "# ours" in text and "day_usd = 12.5" in text
    assert client.get("/session")["jobs"] == 5
    assert values_of(edit(client, budget__day_usd=None))["budget.day_usd"] is None
    assert "day_usd" not in (root / "ostler.toml").read_text()


@pytest.mark.parametrize(
    "key",
    [
        "gates.commands.implement",
        "executors.claude.command",
        "executors.claude.env.X",
        "sandbox.tier",
        "sandbox.network",
        "run.executor",
        "run.accept_proposals",
        "git.on_complete",
        "gates.allow_test_changes",
        "workspace.setup",
        "notify[0].command",
        "notify[0].url",
        "models[0].args",
        "models[0].env.X",
        "plugins.load",
        "server.host",
        "run",
        "models",
    ],
)
def test_what_is_not_in_the_table_is_refused(client: Client, root: Path, key: str) -> None:
    """With the command, and together with a valid change nothing at all is written."""
    version = client.get("/settings")["version"]
    edits = [{"key": "run.jobs", "value": 9}, {"key": key, "value": "x"}]
    refused = patch(client, 400, version=version, edits=edits)
    assert "cannot be changed in the browser" in refused["message"]
    assert "ostler config set" in refused["hint"]
    assert (root / "ostler.toml").read_text() == FILE


def test_every_wrong_value_is_named(client: Client, root: Path) -> None:
    """All of them at once, with their keys; nothing is written."""
    refused = edit(
        client, 400, run__jobs=0, budget__day_usd="much", limits__stop_at=2, retry__max_retries=True
    )
    problems = {one["key"]: one["message"] for one in refused["problems"]}
    assert problems.keys() == {"run.jobs", "budget.day_usd", "limits.stop_at", "retry.max_retries"}
    assert problems["run.jobs"] == "expected int >= 1, got 0"
    assert (root / "ostler.toml").read_text() == FILE
    assert "value is missing" in patch(client, 400, version="x", edits=[{"key": "run.jobs"}])["message"]


def test_a_file_that_changed_meanwhile_is_not_overwritten(client: Client, root: Path) -> None:
    """409, and both changes are there after the page has read the file again."""
    version = client.get("/settings")["version"]
    (root / "ostler.toml").write_text(FILE.replace("jobs = 2", "jobs = 7"))
    refused = patch(client, 409, version=version, edits=[{"key": "budget.day_usd", "value": 3}])
    assert refused["code"] == "CONFLICT" and "changed after the page read them" in refused["message"]
    assert "day_usd" not in (root / "ostler.toml").read_text()
    assert values_of(edit(client, budget__day_usd=3))["run.jobs"] == 7


def test_models_change_their_order(client: Client, root: Path) -> None:
    """By their names; another set of names is refused."""
    version = client.get("/settings")["version"]
    changed = patch(client, version=version, models=["slow", "fast"])
    assert [values_of(changed)[f"models[{at}].name"] for at in (0, 1)] == ["slow", "fast"]
    version = changed["version"]
    assert "name each of them once" in patch(client, 400, version=version, models=["slow"])["hint"]


def test_the_file_of_the_user_can_be_chosen(client: Client, own_home: Path, root: Path) -> None:
    """For all projects; a value of the project's file takes precedence over it."""
    version = client.get("/settings")["version"]
    edits = [{"key": "retry.max_retries", "value": 4}]
    changed = patch(client, version=version, edits=edits, file="user")
    assert values_of(changed)["retry.max_retries"] == 4
    assert "max_retries = 4" in (own_home / ".config" / "ostler" / "config.toml").read_text()
    assert (root / "ostler.toml").read_text() == FILE


def test_a_higher_budget_waits_for_a_command(client: Client) -> None:
    """Open tasks keep the lower one until `ostler config accept`; the answer mentions it."""
    edit(client, budget__task_usd=1)
    client.post("/tasks", {"title": "x"}, 201)
    changed = edit(client, budget__task_usd=100)
    assert changed["notice"] == "Not accepted for 1 open task.  Next: ostler config accept"
