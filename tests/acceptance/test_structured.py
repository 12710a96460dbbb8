"""Answers with a schema, in the whole program: what they decide, and what is shown of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ostler.testing.fake_agent import COMPLETE, fake_agent
from world import World

DONE = {"status": "complete", "reason": "", "summary": "I oiled the gate."}
STUCK = {"status": "blocked", "reason": "there is no oil", "summary": "I looked everywhere."}
MORE = {"status": "continue", "reason": "", "summary": "Half of it is done."}
POOL = """
[selection]
strategy = "priority"

[[models]]
name = "first"
executor = "claude"

[[models]]
name = "second"
executor = "gemini"
"""


def files_text(world: World, task: str, pattern: str) -> list[str]:
    home = world.root / ".ostler" / "tasks" / task
    return [path.read_text() for path in sorted(home.glob(pattern))]


def asked(world: World) -> list[bool]:
    """Return which calls were made with a schema."""
    return ["--json-schema" in start["arguments"] for start in world.started()]


def test_a_phase_is_complete_by_its_object(world: World) -> None:
    """No mark is needed; its summary is the answer, and the log is readable."""
    world.behave(structured=DONE)
    task = world.new("Oil the gate")
    world.ostler("run", task)
    shown = world.show(task)
    assert (shown["status"], shown["warnings"], len(shown["attempts"])) == ("completed", [], 1)
    assert asked(world) == [True]
    assert files_text(world, task, "transcripts/*.answer.md") == ["I oiled the gate."]
    log = world.ostler("log", task).stdout
    assert "I oiled the gate." in log and "{" not in log and "StructuredOutput" not in log
    assert "status is complete" in files_text(world, task, "prompts/implement-*.md")[0]
    assert "schema" not in world.git("ls-tree", "-r", "--name-only", shown["branch"])


def test_a_blocked_object_blocks_with_its_reason(world: World) -> None:
    """As a mark would, and the reason is shown."""
    world.behave(structured=STUCK)
    task = world.new()
    world.ostler("run", task, code=4)
    shown = world.show(task)
    assert (shown["status"], shown["code"]) == ("blocked", "AGENT_BLOCKED")
    assert "there is no oil" in shown["message"]
    assert files_text(world, task, "transcripts/*.answer.md") == ["I looked everywhere.\n\nthere is no oil"]


@pytest.mark.parametrize(
    "first",
    [
        {"structured": MORE},
        {"structured": {"status": "finished", "reason": "", "summary": "x"}},
        {"text": "I forgot to say."},
    ],
    ids=["continue", "unreadable", "free text"],
)
@pytest.mark.sampled(1)
def test_an_answer_that_is_not_complete_is_asked_again(world: World, first: dict[str, Any]) -> None:
    """In the same session and with the schema again; an unreadable answer never counts as complete."""
    world.behave(plan=[first, {"structured": DONE}])
    task = world.new("Oil the gate", "--weight", "small")
    world.ostler("run", task)
    shown = world.show(task)
    assert (shown["status"], shown["warnings"]) == ("completed", [])
    assert [attempt["resumed"] for attempt in shown["attempts"]] == [False, True]
    assert asked(world) == [True, True]


def test_a_mark_counts_where_the_object_never_came(world: World) -> None:
    """A model may ignore the schema."""
    world.behave(text=f"I oiled the gate.\n{COMPLETE}")
    task = world.new()
    world.ostler("run", task)
    shown = world.show(task)
    assert (shown["status"], shown["warnings"], len(shown["attempts"])) == ("completed", [], 1)


def test_a_document_is_handed_on_whole(world: World) -> None:
    """A phase whose text the next one reads is asked for text, the work itself for an object."""
    spec = "# The gate\n\n" + "".join(f"{number}. It must not squeak.\n" for number in range(200))
    end = "<phase_complete>true</phase_complete>"
    world.behave(plan=[{"text": f"{spec}\n{end}"}, {"structured": DONE}])
    world.environ["OSTLER_PHASES__PLANS__SMALL"] = '["spec", "implement"]'
    task = world.new("Oil the gate")
    world.ostler("run", task)
    assert world.show(task)["status"] == "completed"
    assert asked(world) == [False, True]
    assert spec.strip() in files_text(world, task, "prompts/implement-*.md")[0]


def test_codex_finds_its_schema_outside_of_the_worktree(world: World) -> None:
    """The file is among the task's files; its last message is the object."""
    fake_agent(world.agents, "codex", ledger=str(world.ledger), structured=DONE)
    world.environ |= {"OSTLER_CODEX_PATH": str(world.agents / "codex"), "OSTLER_RUN__EXECUTOR": "codex"}
    task = world.new()
    world.ostler("run", task)
    shown = world.show(task)
    assert (shown["status"], len(shown["attempts"])) == ("completed", 1)
    arguments = world.started()[0]["arguments"]
    path = Path(arguments[arguments.index("--output-schema") + 1])
    assert path.parent == (world.root / ".ostler" / "tasks" / task / "transcripts").resolve()
    assert files_text(world, task, "transcripts/*.answer.md") == ["I oiled the gate."]
    files = world.git("ls-tree", "-r", "--name-only", shown["branch"]).split()
    assert files == ["README.md", "fake-agent.txt"]


@pytest.mark.full
def test_another_agent_without_schemas_is_asked_for_marks(world: World) -> None:
    """The first one cannot run, and the one that takes over does not support schemas."""
    world.behave(fault="api_error", error=401)
    fake_agent(world.agents, "gemini", ledger=str(world.ledger))
    world.environ["OSTLER_GEMINI_PATH"] = str(world.agents / "gemini")
    (world.root / "ostler.toml").write_text(POOL)
    task = world.new()
    world.ostler("run", task)
    shown = world.show(task)
    assert [attempt["executor"] for attempt in shown["attempts"]] == ["claude", "gemini"]
    assert (shown["status"], shown["warnings"]) == ("completed", [])
    first, second = files_text(world, task, "prompts/implement-*.md")
    assert "status is complete" in first and "status is complete" not in second
    assert "end your last message with" in second and asked(world) == [True, False]


JUDGED: list[tuple[dict[str, Any], str, str]] = [
    ({"structured": {"verdict": "approved", "reason": "good", "findings": []}}, "pass", "completed"),
    ({"text": '{"verdict": "approved", "reason": "good", "findings": []}'}, "pass", "completed"),
    ({"structured": {"verdict": "approved", "reason": "good", "score": 1}}, "could_not_run", "blocked"),
    ({"structured": {"status": "complete", "reason": "", "summary": "x"}}, "could_not_run", "blocked"),
    ({"text": "LGTM, approved."}, "could_not_run", "blocked"),
]


@pytest.mark.full
@pytest.mark.sampled(2)
@pytest.mark.parametrize(("answer", "verdict", "status"), JUDGED)
def test_a_reviewer_is_asked_by_a_schema(
    world: World, answer: dict[str, Any], verdict: str, status: str
) -> None:
    """A readable verdict counts; anything else is never an approval."""
    world.behave(plan=[{"structured": DONE}, answer])
    world.environ["OSTLER_GATES__DEFAULT"] = "ai"
    task = world.new()
    world.ostler("run", task, code=0 if status == "completed" else 4)
    shown = world.show(task)
    assert (shown["phases"][0]["gate"]["verdict"], shown["status"]) == (verdict, status)
    schemas = [start["arguments"] for start in world.started()]
    assert all("--json-schema" in arguments for arguments in schemas)
    assert "verdict" in schemas[1][schemas[1].index("--json-schema") + 1]
