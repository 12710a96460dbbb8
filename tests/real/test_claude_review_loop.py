"""C133 with the real claude: rejected work continues in the session that did it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ostler.testing.fake_llm import FakeLlm, Request, Turn, call
from real_claude import real_world
from world import World

pytestmark = pytest.mark.full

DONE = call("StructuredOutput", status="complete", reason="", summary="I wrote hello.txt.")
WRONG = call("Write", file_path="hello.txt", content="goodbye\n")
TASK = "Say hello to the osprey."


class Model:
    """Writes the wrong file at first; the findings of a review make it write the right one."""

    def __init__(self) -> None:
        self.llm = FakeLlm(self._next)
        self.turns = [WRONG, DONE]
        self.fixes = [call("Bash", command="echo hello > hello.txt", description="x"), DONE]

    def _next(self, request: Request) -> Turn:
        if request.holds("This phase: test"):
            return DONE
        turns = self.fixes if request.holds("went wrong before") else self.turns
        return turns.pop(0) if len(turns) > 1 else turns[0]


@pytest.fixture
def model() -> Iterator[Model]:
    """A model server."""
    made = Model()
    with made.llm:
        yield made


@pytest.fixture
def project(tmp_path: Path, model: Model) -> Iterator[World]:
    """A project whose agent is the real claude."""
    made = real_world(tmp_path, model.llm)
    made.environ["OSTLER_EXECUTORS__CLAUDE__ARGS"] = '["--allowedTools", "Bash"]'
    yield made
    made.close()


def implement_calls(project: World, task: str) -> list[dict[str, Any]]:
    return [one for one in project.show(task)["attempts"] if one["phase"] == "implement"]


def check_continued(project: World, model: Model, task: str) -> None:
    """The second call resumed the session, which has the task once and then the findings."""
    first, second = implement_calls(project, task)
    assert (first["resumed"], second["resumed"]) == (False, True)
    assert first["session_id"] == second["session_id"]
    assert (first["iteration"], second["iteration"]) == (1, 2)
    last = next(one for one in reversed(model.llm.prompts) if one.holds("went wrong before"))
    assert sum(text.count(TASK) for text in last.history) == 1
    assert not [one for one in project.events(task) if one["type"] == "session_replaced"]


@pytest.mark.smoke
@pytest.mark.parametrize("tier", [pytest.param("supervised", marks=pytest.mark.full), "auto"])
def test_a_failed_test_gate_continues_the_session_of_implement(
    project: World, model: Model, tier: str
) -> None:
    """The gate of test rejects the work; claude gets its output in the session of implement."""
    settings = '[gates.commands]\ntest = "grep -qx hello hello.txt"\n'
    (project.root / "ostler.toml").write_text(settings)
    project.environ["OSTLER_SANDBOX__TIER"] = tier
    task = project.new("Greet", "-d", TASK, "--phases", "implement,test")
    project.ostler("run", task)
    assert project.git("show", f"ostler/{task}:hello.txt") == "hello\n"
    check_continued(project, model, task)


def test_a_person_rejects_the_work(project: World, model: Model) -> None:
    """`reject -m` and the next run: the message arrives in the session of the first call."""
    (project.root / "ostler.toml").write_text('[gates.phases]\nimplement = "human"\n')
    task = project.new("Greet", "-d", TASK)
    project.ostler("run", task, code=4)
    project.ostler("reject", task, "-m", "It must be hello.")
    project.ostler("run", task, code=4)
    check_continued(project, model, task)
    assert any(one.holds("It must be hello.") for one in model.llm.prompts)
    project.ostler("approve", task)
    project.ostler("run", task)
    assert project.git("show", f"ostler/{task}:hello.txt") == "hello\n"
