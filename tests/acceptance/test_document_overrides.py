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
        ("mega", "expected one of opus, sonnet, haiku, writer; add it to ostler.toml: [tiers] mega"),
        ("opuss", "unknown tier 'opuss': expected one of opus, sonnet, haiku, writer; did you mean opus?"),
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


def read_fields(world: DocumentWorld, task: str) -> tuple[float | None, int | None]:
    request = [one for one in world.events(task) if "task" in one][-1]["task"]
    return request.get("timeout_seconds"), request.get("max_retries")


def test_timeout_and_retries_are_options_of_a_task(world: DocumentWorld) -> None:
    """They can be changed and reset until the task ends."""
    task = world.new("Sell hay", "--skill", "copy", "--timeout", "30", "--retries", "0")
    assert read_fields(world, task) == (30, 0)
    world.ostler("edit", task, "--timeout", "60", "--retries", "5")
    assert read_fields(world, task) == (60, 5)
    world.ostler("set", task, "timeout=", "retries=")
    assert read_fields(world, task) == (None, None)


@pytest.mark.parametrize("options", [("--timeout", "0"), ("--timeout", "nan"), ("--retries", "-1")])
def test_wrong_options_of_a_task_are_refused(world: DocumentWorld, options: tuple[str, str]) -> None:
    """Nothing is added."""
    assert "expected a number" in world.ostler("new", "Sell", *options, code=2).stderr
    assert world.json("status")["tasks"] == []


def test_a_timeout_of_the_task_ends_its_attempt(world: DocumentWorld) -> None:
    """The message does not name the setting, which was not used."""
    with FakeLlm([say("late", delay_seconds=30)]) as llm:
        world.asks(llm)
        task = world.new("Sell hay", "--skill", "copy", "--timeout", "0.3", "--retries", "1")
        world.ostler("run", task, code=1)
    shown = world.show(task)
    assert (shown["code"], len(shown["attempts"])) == ("TIMEOUT", 2)
    assert "run.timeout_seconds" not in shown["message"]


def test_steps_have_the_timeout_and_retries_of_their_pipeline(world: DocumentWorld) -> None:
    """A step has precedence over the pipeline; wrong values have file and line."""
    steps = "steps:\n  - skill: copy\n  - {id: two, skill: copy, timeout_seconds: 0.5, max_retries: 0}\n"
    world.pipeline("launch", f"timeout_seconds: 77\nmax_retries: 4\n{steps}")
    world.ostler("pipeline", "run", "launch", "--later")
    tasks = [one["id"] for one in world.json("status")["tasks"]]
    assert sorted(read_fields(world, one) for one in tasks) == [(0.5, 0), (77, 4)]
    world.pipeline("bad", "steps:\n  - skill: copy\n    timeout_seconds: soon\n    max_retries: -1\n")
    printed = world.ostler("pipeline", "run", "bad", code=2).stderr
    assert "bad.yaml:3: timeout_seconds: expected a number" in printed
    assert "bad.yaml:4: max_retries: expected a number of 0 or more" in printed


def test_a_missing_input_is_one_sentence(world: DocumentWorld) -> None:
    """The path as the task names it; the aligned status of the pipeline has it too."""
    world.pipeline("launch", "steps:\n  - skill: copy\n  - {id: two, skill: copy, inputs: [gone.md]}\n")
    with FakeLlm([say("Hay.")]) as llm:
        world.asks(llm)
        world.ostler("pipeline", "run", "launch", code=1)
    rows = world.ostler("pipeline", "status", "launch").stdout.splitlines()
    (failed,) = [row for row in rows if "INPUT_NOT_FOUND" in row]
    (done,) = [row for row in rows if "outputs/" in row]
    assert failed.endswith("INPUT_NOT_FOUND: the input gone.md does not exist")
    assert failed.index("INPUT_NOT_FOUND") == done.index("outputs/")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--skill", ""), "--skill is empty"),
        (("--output", " "), "--output is empty"),
        (
            ("--skill", "copy", "--input", "../../etc/passwd"),
            "the input '../../etc/passwd' is not a path below the project",
        ),
        (("--input", "notes.md", "--review", "human"), "only a task with a document has inputs, review"),
    ],
)
def test_empty_names_and_inputs_outside_the_project_add_nothing(
    world: DocumentWorld, options: tuple[str, ...], message: str
) -> None:
    """Refused when the task is created, not when it runs."""
    world.new("Other")
    assert message in world.ostler("new", "Sell", *options, code=2).stderr
    assert len(world.json("status")["tasks"]) == 1
