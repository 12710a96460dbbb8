"""Reviews with the real claude: comments reach its session, and its answers are shown beside them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ostler.project.project import Project
from ostler.project.reviews.changes import read_changes_patch
from ostler.project.reviews.drafts import CommentChange, PlaceChange, save_draft
from ostler.project.reviews.send import NewReview, send_review
from ostler.project.reviews.view import ReviewView, show_review
from ostler.testing.fake_llm import FakeLlm, Request, Turn, call
from ostler.text import strip_control_characters
from payloads import armed
from real_claude import real_world
from world import World

pytestmark = pytest.mark.full

TASK = "Say hello to the osprey."
FIRST = "def greet(name):\n    print('hello')\n    return name\n"
SECOND = "def greet(name):\n    print(f'hello {name}')\n    return name\n"
REPLIES = {
    "replies": [
        {"comment": 1, "status": "changed", "where": "greet.py:2", "text": "It prints the name."},
        {"comment": 2, "status": "answered", "where": "", "text": "The caller logs it."},
        {"comment": 3, "status": "declined", "where": "greet.py:3", "text": "The caller needs it."},
    ]
}


def done(summary: str) -> Turn:
    return call("StructuredOutput", status="complete", reason="", summary=summary)


class Model:
    """Writes a file; a review makes it edit the file and answer each comment."""

    def __init__(self) -> None:
        self.llm = FakeLlm(self._next)
        self.turns = [call("Write", file_path="greet.py", content=FIRST), done("I wrote greet.py.")]
        edit = "cat > greet.py <<'X'\n" + SECOND + "X"
        answered = done(f"I print the name.\n\n{json.dumps(REPLIES)}")
        self.edits = [call("Bash", command=edit, description="x"), answered]

    def _next(self, request: Request) -> Turn:
        turns = self.edits if request.holds("A review of your work") else self.turns
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


def comment(opened: Project, task: Any, number: int, line: int, **values: Any) -> None:
    place = PlaceChange("greet.py", "new", line, line)
    commit = opened.state(task).commit
    save_draft(opened, task, CommentChange(id=f"c{number}", place=place, commit=commit, **values))


def review(opened: Project, task: Any, **values: Any) -> ReviewView:
    new = NewReview(commit=opened.state(task).commit, **values)
    send_review(opened, opened.environ, task, new)
    return show_review(opened, task)


@pytest.mark.parametrize("waits", [pytest.param("needs_review", marks=pytest.mark.smoke), "completed"])
def test_a_review_until_the_work_is_merged(project: World, model: Model, waits: str) -> None:
    """A change, a question and a suggestion; the agent edits and answers; the person approves and merges."""
    ends = 4 if waits == "needs_review" else 0
    if ends:
        project.environ["OSTLER_GATES__PHASES"] = '{"implement": "human"}'
    task: Any = project.new("Greet", "-d", TASK, "--weight", "trivial")
    project.ostler("run", task, code=ends)
    hostile = " ".join(armed("http://127.0.0.1:9")[:40])
    with Project.open(project.root, project.environ) as opened:
        comment(opened, task, 1, 2, text=f"Print the name. {hostile}")
        comment(opened, task, 2, 2, kind="question", text="Why is nothing logged?")
        comment(opened, task, 3, 3, text="Not needed.", suggestion="    return None")
        sent = review(opened, task, verdict="changes", text="Almost.")
        assert (sent.status, sent.round, sent.drafts) == ("revision", 2, ())
        judged = sent.commit
    project.ostler("run", task, code=ends)
    asked = next(one for one in model.llm.prompts if one.holds("A review of your work"))
    for part in (
        "Almost.",
        "### 1. Change: greet.py, line 2",
        f"From commit {judged:.10}; `>` marks",
        ">    2      print('hello')",
        *(f"> {strip_control_characters(line)}" for line in f"Print the name. {hostile}".splitlines()),
        "### 2. Question: greet.py, line 2\n",
        "Why is nothing logged?",
        "### 3. Change: greet.py, line 3",
        "Suggestion, in place of these lines:\n\n```\n    return None\n```",
        '{"replies": [',
    ):
        assert asked.holds(part), part
    assert sum(text.count(TASK) for text in asked.history) == 1  # in the session of the first call
    first, second = project.show(task)["attempts"]
    assert (second["resumed"], first["session_id"]) == (True, second["session_id"])
    assert project.git("show", f"ostler/{task}:greet.py") == SECOND
    with Project.open(project.root, project.environ) as opened:
        back = show_review(opened, task)
        assert (back.status, back.summary) == (waits, "I print the name.")
        changed = read_changes_patch(opened, task, 1, "").patch
        lines = [line for line in changed.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
        assert lines == ["-    print('hello')", "+    print(f'hello {name}')"], "only what changed since"
        assert back.commit != judged
        one, two, three = back.reviews[0].comments
        assert [c.state for c in (one, two, three)] == ["probably_changed", "probably_changed", "unchanged"]
        assert [c.reply.status if c.reply else "" for c in (one, two, three)] == [
            "changed",
            "answered",
            "declined",
        ]
        assert one.since == ("-    print('hello')", "+    print(f'hello {name}')")
        approved = review(opened, task, verdict="approve", then="merge")
        assert approved.status in ("pending", "in_progress")
    project.ostler("run", task)
    assert project.show(task)["published_into"] == "main"
    assert project.git("show", "main:greet.py") == SECOND
