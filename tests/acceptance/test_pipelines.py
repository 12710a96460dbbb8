"""Pipelines: steps that become tasks, connected by their documents, with reviews in between."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from document_world import DocumentWorld, answer, system_of, writing
from ostler.testing.fake_llm import FakeLlm, Request, Silence, Turn, fail

LAUNCH = """
name: launch
goal: Sell hay
steps:
  - research
  - parallel:
      - {id: post, skill: copy}
      - {id: mail, skill: copy}
      - {id: poster, skill: copy}
      - {id: spot, skill: copy}
  - review: editor
  - id: check
    skill: research
    goal: Check the copy
  - summary
"""
LOOSE = """
on_failure: continue
steps:
  - parallel:
      - {id: one, skill: copy, goal: One}
      - {id: two, skill: copy, goal: Two}
  - summary
"""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[DocumentWorld]:
    made = DocumentWorld(tmp_path)
    yield made
    made.close()


def steps(world: DocumentWorld) -> dict[str, dict]:
    """Return each step of the only run, by its name."""
    run = world.json("pipeline", "status")["pipelines"][0]["run"]
    return {step["id"]: step for step in world.json("pipeline", "status", run)["steps"]}


def breaks(words: str, rejects: int = 0):
    """A model that fails permanently if the prompt has this text."""

    def turn(request: Request) -> Turn:
        return fail(400, "no") if request.holds(words) else answer(request, rejects)

    return turn


@pytest.mark.full
def test_five_steps_with_a_review_that_sends_back_twice(world: DocumentWorld) -> None:
    """Each document is made from those of the previous step; four are written and reviewed in parallel."""
    world.pipeline("launch", LAUNCH)
    with writing(world, rejects=2) as llm:
        done = world.ostler("pipeline", "run", "launch")
    assert "check-" in done.stdout
    found = steps(world)
    assert {step["status"] for step in found.values()} == {"completed"}
    assert [found[name]["revisions"] for name in ("research", "post", "spot", "summary")] == [0, 2, 2, 0]
    texts = {name: (world.root / step["output_path"]).read_text() for name, step in found.items()}
    assert texts["poster"] == "# Sell hay\n\nBy copy, from 1 inputs, draft 3."
    assert texts["check"] == "# Check the copy\n\nBy research, from 4 inputs, draft 1."
    assert texts["summary"] == "# Sell hay\n\nBy summary, from 1 inputs, draft 1."
    assert len(llm.requests) == 3 + 4 * 3 * 2


def test_a_person_in_the_middle_is_waited_for(world: DocumentWorld) -> None:
    """The run ends with 4; a week later it continues with the existing documents."""
    world.pipeline("launch", LAUNCH.replace("review: editor", "review: human"))
    with writing(world) as llm:
        world.ostler("pipeline", "run", "launch", code=4)
        waiting = [step["task"] for step in steps(world).values() if step["status"] == "needs_review"]
        assert len(waiting) == 4
        shown = world.ostler("pipeline", "status", "launch").stdout
        assert f"ostler reject {waiting[0]} -m TEXT; then   ostler pipeline resume launch-" in shown
        for task in waiting:
            world.ostler("approve", task)
        before = len(llm.requests)
        world.ostler("pipeline", "resume", "launch")
        assert len(llm.requests) == before + 2
    assert {step["status"] for step in steps(world).values()} == {"completed"}
    assert "from 4 inputs" in (world.root / steps(world)["check"]["output_path"]).read_text()


@pytest.mark.full
def test_one_failure_stops_the_rest_and_resume_goes_on(world: DocumentWorld) -> None:
    """Fail-fast: later steps are blocked with the reason; `resume` reopens only the failed ones."""
    world.pipeline("launch", LAUNCH)
    with FakeLlm(breaks("Check the copy")) as llm:
        world.asks(llm)
        world.ostler("pipeline", "run", "launch", code=1)
    found = steps(world)
    assert (found["check"]["status"], found["summary"]["status"]) == ("failed", "blocked")
    assert "its pipeline stopped" in found["summary"]["message"]
    with writing(world) as llm:
        world.ostler("pipeline", "resume", "launch")
        assert len(llm.requests) == 2
    assert {step["status"] for step in steps(world).values()} == {"completed"}


@pytest.mark.full
@pytest.mark.parametrize("again", ["pipeline", "retry"])
def test_a_gate_that_could_not_run_is_asked_again_alone(world: DocumentWorld, again: str) -> None:
    """The document was written and not judged: neither resume nor retry writes it again."""
    world.pipeline("hay", "goal: Sell hay\nsteps: [{skill: copy, review: editor}]\n")
    assert world.ostler("pipeline", "run", "hay", "--dry-run").stdout.startswith("hay: 1 task, 3 at once")
    with FakeLlm(breaks("# Review the phase")) as llm:
        world.asks(llm)
        world.ostler("pipeline", "run", "hay", code=4)
    (step,) = steps(world).values()
    assert (step["status"], step["code"]) == ("blocked", "GATE_UNRUNNABLE")
    with writing(world) as llm:
        if again == "retry":
            world.ostler("retry", step["task"])
            world.ostler("run", step["task"])
        else:
            world.ostler("pipeline", "resume", "hay")
        (request,) = llm.prompts
    assert request.holds("# Review the phase") or "# Review the phase" in system_of(request)
    assert [one["status"] for one in steps(world).values()] == ["completed"]


def test_resume_continues_a_paused_step(world: DocumentWorld) -> None:
    """With its inputs; the other steps follow."""
    world.pipeline("hay", "goal: Sell hay\nsteps: [research, copy]\n")
    world.ostler("pipeline", "run", "hay", "--later")
    world.ostler("pause", steps(world)["copy"]["task"])
    with writing(world):
        world.ostler("pipeline", "resume", "hay")
    assert {step["status"] for step in steps(world).values()} == {"completed"}
    assert "from 1 inputs" in (world.root / steps(world)["copy"]["output_path"]).read_text()


@pytest.mark.full
def test_a_failure_stops_those_that_are_at_work(world: DocumentWorld) -> None:
    """A running sibling is cancelled, and `resume` completes it."""
    world.pipeline("launch", LAUNCH.replace("{id: mail, skill: copy}", "{id: mail, skill: copy, goal: Mail}"))

    def turn(request: Request) -> Turn:
        if request.holds("**Goal:** Mail"):
            return fail(400, "no")
        if request.holds("Output of research"):
            return Silence(60)
        return answer(request, 0)

    with FakeLlm(turn) as llm:
        world.asks(llm)
        world.ostler("pipeline", "run", "launch", code=1)
    found = steps(world)
    assert found["mail"]["status"] == "failed"
    assert {found[name]["status"] for name in ("post", "poster")} <= {"cancelled", "blocked"}
    assert found["summary"]["status"] == "blocked"
    with writing(world):
        world.ostler("pipeline", "resume", "launch")
    assert {step["status"] for step in steps(world).values()} == {"completed"}


def test_other_steps_continue_where_the_file_allows_it(world: DocumentWorld) -> None:
    """on_failure: continue: the summary is made from the existing document."""
    world.pipeline("loose", LOOSE)
    with FakeLlm(breaks("**Goal:** Two")) as llm:
        world.asks(llm)
        world.ostler("pipeline", "run", "loose", code=1)
    found = steps(world)
    assert [found[name]["status"] for name in ("one", "two", "summary")] == [
        "completed",
        "failed",
        "completed",
    ]
    assert "from 1 inputs" in (world.root / found["summary"]["output_path"]).read_text()


def test_three_failures_in_a_row_stop_a_run_that_goes_on(world: DocumentWorld) -> None:
    """The cascade ends: the fourth and fifth are not started."""
    world.pipeline(
        "many", "on_failure: continue\nconcurrency: 1\nsteps:\n  - parallel: [copy, copy, copy, copy, copy]\n"
    )
    with FakeLlm(breaks("Goal")) as llm:
        world.asks(llm)
        world.ostler("pipeline", "run", "many", code=1)
        assert len(llm.requests) == 3  # a rejected request is sent once
    statuses = [step["status"] for step in steps(world).values()]
    assert (statuses.count("failed"), statuses.count("blocked")) == (3, 2)


def test_no_more_at_once_than_the_file_allows(world: DocumentWorld) -> None:
    """concurrency: 2 holds for any -j of the run, and both slots are used."""
    world.pipeline("many", "concurrency: 2\nsteps:\n  - parallel: [copy, copy, copy, copy, copy, copy]\n")
    with writing(world):
        world.ostler("pipeline", "run", "many", "--later")
        world.ostler("run", "--all", "-j", "6")
    at_work = running = 0
    for event in world.events():
        running += {"task_claimed": 1, "task_completed": -1}.get(event["type"], 0)
        at_work = max(at_work, running)
    assert at_work == 2
    assert {step["status"] for step in steps(world).values()} == {"completed"}


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("steps:\n  - reserch\n", 2, "research"),
        ("steps:\n  - {skill: research, after: [b]}\n", 2, "no step b"),
        ("steps:\n  - copy\n  - {skill: copy, executor: nosuch}\n", 3, 'unknown executor "nosuch"'),
        ("steps:\n  - skill: copy\n    inputs: [a.md, ../b.md]\n", 3, "the input '../b.md' is not a path"),
        (
            "steps:\n  - {id: a, skill: copy, after: [b]}\n  - {id: b, skill: copy, after: [a]}\n",
            2,
            "a -> b -> a",
        ),
        ("steps:\n  - review: human\n", 2, "needs a step before it"),
        ("steps:\n  - skil: copy\n", 2, "did you mean skill"),
        ("steps: []\n", 1, "needs steps"),
        ("concurrency: 0\nsteps: [copy]\n", 1, "1 or more"),
        ("steps: [copy]\non_failure: maybe\n", 2, "stop or continue"),
        ("steps:\n  - {id: a, skill: copy}\n  - {id: a, skill: copy}\n", 3, "used twice"),
        ("steps:\n  - parallel: []\n", 2, "needs steps"),
        ("steps:\n\t- copy\n", 2, ""),
        ("a: &x 1\nsteps: [copy]\n", 1, ""),
    ],
)
def test_a_mistake_is_reported_with_file_and_line(
    world: DocumentWorld, text: str, line: int, words: str
) -> None:
    """Exit 2, one sentence, and nothing is recorded."""
    world.pipeline("bad", text)
    done = world.ostler("pipeline", "run", "bad", code=2)
    assert f"bad.yaml:{line}: " in done.stderr and words in done.stderr, done.stderr
    assert world.json("status")["tasks"] == []


def test_all_mistakes_of_a_file_are_reported_at_once(world: DocumentWorld) -> None:
    """Values, keys, ids and skills, in the order of their lines; nothing is added."""
    lines = ("concurrency: lots", "steps:", "  - skil: copy", "  - skill: nosuch", "    id: ../x", "  - copy")
    world.pipeline("bad", "\n".join((*lines, "unknown: 1", "")))
    failed = world.ostler("pipeline", "run", "bad", "--json", code=2)
    problems = json.loads(failed.stdout)["problems"]
    assert [one["line"] for one in problems] == [1, 3, 4, 5, 7]
    assert "did you mean skill?" in problems[1]["message"] and "no skill nosuch" in problems[2]["message"]
    assert failed.stderr.count("bad.yaml:") == 5
    assert world.json("status")["tasks"] == []


def test_mistakes_of_readable_steps_do_not_hide_unknown_steps(world: DocumentWorld) -> None:
    """Values, inputs and `after` are reported together; all steps could be read."""
    world.pipeline("bad", "steps:\n  - {skill: copy, after: [b], max_retries: -1, inputs: [/etc/x]}\n")
    failed = world.ostler("pipeline", "run", "bad", code=2).stderr
    assert "max_retries: expected" in failed and "no step b" in failed and "the input '/etc/x'" in failed


def test_a_mistake_that_occurs_twice_has_the_line_of_each(world: DocumentWorld) -> None:
    """Also if the same text is a correct value somewhere else; an inherited mistake is reported once."""
    steps = (
        "steps:",
        "  - {id: one, skill: copy, goal: editr, output: docs/a.md}",
        "  - {id: two, skill: editr, executor: editr}",
        "  - parallel: [copy, {id: three, skill: copy, output: docs/a.md, inputs: [a, ../b]}]",
        "  - review: editr",
        "tier: mega",
    )
    world.pipeline("launch", "\n".join(steps))
    error = world.ostler("pipeline", "run", "launch", code=2).stderr
    lines = [line.partition("launch.yaml:")[2] for line in error.splitlines() if "launch.yaml:" in line]
    assert [line.partition(":")[0] for line in lines] == ["3", "3", "4", "4", "5", "6"]
    assert any(line.endswith("docs/a.md is the output of the step one, too") for line in lines)


def test_the_steps_have_different_titles(world: DocumentWorld) -> None:
    """The name of the step is in the title, and not in the goal that the writer gets."""
    world.pipeline("hay", "goal: Sell hay\nsteps: [research, copy, {skill: copy, goal: Copy it again}]\n")
    with writing(world):
        world.ostler("pipeline", "run", "hay")
    titles = {task["title"] for task in world.json("status")["tasks"]}
    assert titles == {"research: Sell hay", "copy: Sell hay", "copy-2: Copy it again"}
    (document,) = (world.root / "outputs" / "strategy").rglob("*.md")
    assert document.read_text().startswith("# Sell hay\n")


def test_a_dry_run_draws_it_and_writes_nothing(world: DocumentWorld) -> None:
    """The graph, with the parallel group as branches."""
    world.pipeline("launch", LAUNCH)
    done = world.ostler("pipeline", "run", "launch", "--dry-run")
    assert "├─ mail" in done.stdout and "└─ spot" in done.stdout and "reviewed by editor" in done.stdout
    plan = world.json("pipeline", "run", "launch", "--dry-run")
    assert [task["pipeline"]["step"] for task in plan["tasks"]][:2] == ["research", "post"]
    assert world.json("status")["tasks"] == []


def test_the_seeds_spelling_is_read(world: DocumentWorld) -> None:
    """type: sequential, parallel and review, with skills and reviewer."""
    text = json.dumps(
        {
            "steps": [
                {"type": "sequential", "skill": "research"},
                {"type": "parallel", "skills": ["copy", "summary"]},
                {"type": "review", "reviewer": "director"},
            ]
        }
    )
    world.pipeline("seed", text)
    plan = world.json("pipeline", "run", "seed", "--dry-run")
    assert [task.get("review", "") for task in plan["tasks"]] == ["", "human", "human"]
