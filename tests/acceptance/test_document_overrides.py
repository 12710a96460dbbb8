"""Tier, timeout and retries of one task, with wrong values; empty answers and rejected requests (C128)."""

from __future__ import annotations

from pathlib import Path

import pytest

from document_world import DocumentWorld
from ostler.testing.fake_llm import FakeLlm, Turn, fail, say


@pytest.fixture
def world(tmp_path: Path) -> DocumentWorld:
    return DocumentWorld(tmp_path)


@pytest.mark.parametrize(
    ("tier", "message"),
    [
        ("mega", "unknown tier 'mega': expected one of opus, sonnet, haiku, writer"),
        ("opuss", "did you mean opus?"),
    ],
)
def test_an_unknown_tier_is_refused(world: DocumentWorld, tier: str, message: str) -> None:
    """K3: it is not sent to the API as a model name; no task is added."""
    assert message in world.ostler("new", "Sell hay", "--skill", "copy", "--tier", tier, code=2).stderr
    assert world.json("status")["tasks"] == []


def test_a_tier_of_the_settings_is_known(world: DocumentWorld) -> None:
    """[tiers] adds names to opus, sonnet and haiku."""
    text = (world.root / "ostler.toml").read_text().replace("[tiers]\n", '[tiers]\nmega = "gpt-huge"\n')
    (world.root / "ostler.toml").write_text(text)
    world.ostler("new", "Sell hay", "--skill", "copy", "--tier", "mega")


def test_a_pipeline_with_an_unknown_tier_has_file_and_line(world: DocumentWorld) -> None:
    """The same rule as for a task."""
    world.pipeline("launch", "steps:\n  - skill: copy\n    tier: mega\n")
    assert "launch.yaml:3: unknown tier 'mega'" in world.ostler("pipeline", "run", "launch", code=2).stderr


def test_wrong_values_of_a_task_file_are_all_reported(world: DocumentWorld) -> None:
    """One line each; nothing is added."""
    (world.root / "t.md").write_text(
        "---\ntitle: Sell\nskill: copy\ntier: mega\ntimeout_ms: -5\nmax_retries: -1\n---\nx\n"
    )
    printed = world.ostler("import", "t.md", code=2).stderr
    for part in ("unknown tier 'mega'", "timeout_seconds: expected a number > 0", "max_retries: expected"):
        assert part in printed
    assert world.json("status")["tasks"] == []


@pytest.mark.parametrize(
    ("turn", "code"), [(say(" \n"), "RESPONSE_EMPTY"), (fail(400, "bad field"), "API_ERROR")]
)
def test_what_would_fail_again_is_asked_for_once(world: DocumentWorld, turn: Turn, code: str) -> None:
    """K12: an empty answer and a rejected request fail the task after one request."""
    with FakeLlm([turn]) as llm:
        world.asks(llm)
        task = world.new("Sell hay", "--skill", "copy")
        world.ostler("run", task, code=1)
    assert (world.show(task)["status"], world.show(task)["code"]) == ("failed", code)
    assert len(llm.requests) == 1
