"""Documents: a skill, its context and its inputs become a text at the path of the task."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from document_world import WANTED, DocumentWorld, draft_of, system_of, writing
from ostler.testing.fake_llm import FakeLlm, fail, say
from world import wait_until


@pytest.fixture
def world(tmp_path: Path) -> Iterator[DocumentWorld]:
    made = DocumentWorld(tmp_path)
    yield made
    made.close()


def test_a_document_is_written_to_the_path_of_its_skill(world: DocumentWorld) -> None:
    """The prompt has skill, references, context and inputs; the checkout has one new file and no branch."""
    folder = world.root / ".agents/skills/research/references"
    folder.mkdir()
    (folder / "b.md").write_text("Second reference.")
    (folder / "a.md").write_text("First reference.")
    (world.root / "context").mkdir()
    (world.root / "context/product.md").write_text("We sell hay.")
    (world.root / "brief.md").write_text("Ask the stables.")
    with writing(world) as llm:
        task = world.new("Who buys hay", "--skill", "research", "--input", "brief.md", "-d", "In ten lines.")
        done = world.ostler("run", task)
    shown = world.show(task)
    path = f"outputs/strategy/research/{task}.md"
    assert (shown["status"], shown["output_path"], shown["branch"]) == ("completed", path, None)
    assert (world.root / path).read_text() == "# Who buys hay\n\nBy research, from 0 inputs, draft 1."
    assert path in done.stdout
    assert world.git("branch", "--list", "ostler/*") == ""
    system, user = system_of(llm.requests[0]), llm.requests[0].history[-1]
    assert system.index("You find out who buys.") < system.index("First reference.") < system.index("Second")
    for text in ("We sell hay.", "### Input: brief\nSource: brief.md\n\nAsk the stables.", "In ten lines."):
        assert text in user
    assert world.ostler("run", task).returncode == 0
    assert len(llm.requests) == 1


@pytest.mark.parametrize(("content", "what"), [(None, "does not exist"), ("  \n", "is empty")])
def test_an_input_that_is_missing_fails_the_task_before_any_call(
    world: DocumentWorld, content: str | None, what: str
) -> None:
    """INPUT_NOT_FOUND names the path, and the model is not called."""
    if content is not None:
        (world.root / "brief.md").write_text(content)
    with writing(world) as llm:
        task = world.new("Who buys", "--skill", "research", "--input", "brief.md")
        world.ostler("run", task, code=1)
    shown = world.show(task)
    assert (shown["status"], shown["code"]) == ("failed", "INPUT_NOT_FOUND")
    assert "brief.md" in shown["message"] and what in shown["message"]
    assert not llm.requests


def test_a_foundation_skill_writes_a_context_file(world: DocumentWorld) -> None:
    """`squad: null`: its document is context/NAME.md, which later prompts contain."""
    world.skill("product", "name: product\ndescription: the product\nsquad: null", "You know the product.")
    with writing(world) as llm:
        world.ostler("run", world.new("Our product", "--skill", "product"))
        world.ostler("run", world.new("Who buys", "--skill", "research"))
    text = (world.root / "context/product.md").read_text()
    assert text.startswith("# Our product")
    assert text.strip() in llm.requests[1].history[-1]


@pytest.mark.full
def test_a_reviewer_sends_it_back_to_the_same_session_until_it_is_good(world: DocumentWorld) -> None:
    """Two drafts are refused; the third is the document, and the writer's session has the first two."""
    with writing(world, rejects=2) as llm:
        task = world.new("Sell hay", "--skill", "copy", "--review", "editor")
        world.ostler("run", task)
    shown = world.show(task)
    assert shown["status"] == "completed"
    assert (world.root / shown["output_path"]).read_text().endswith("draft 3.")
    writers = [one for one in llm.requests if "# Review the phase" not in one.history[-1]]
    assert [draft_of(one, "") for one in writers] == [1, 2, 3]
    assert f"{WANTED[2]} is missing" in writers[2].history[-1]
    reviewers = [one for one in llm.requests if "# Review the phase" in one.history[-1]]
    assert all("You are the editor." in one.history[-1] for one in reviewers)


@pytest.mark.full
def test_after_three_revisions_a_person_decides(world: DocumentWorld) -> None:
    """There is no fourth one: the task waits with the reviewer's reason, and an approval completes it."""
    with writing(world, rejects=9):
        task = world.new("Sell hay", "--skill", "copy", "--review", "editor")
        world.ostler("run", task, code=4)
        shown = world.show(task)
        assert (shown["status"], shown["code"]) == ("needs_review", None)
        assert f"{WANTED[4]} is missing" in shown["message"]
        world.ostler("approve", task)
        world.ostler("run", task)
    assert (world.root / world.show(task)["output_path"]).read_text().endswith("draft 4.")


@pytest.mark.full
def test_a_person_sends_it_back_with_a_reason(world: DocumentWorld) -> None:
    """`--review human`: the run ends with 4, a rejection is sent to the writer, an approval ends it."""
    with writing(world) as llm:
        task = world.new("Sell hay", "--skill", "copy", "--review", "human")
        world.ostler("run", task, code=4)
        assert f"outputs/creative/copy/{task}.md" in world.show(task)["message"]
        world.ostler("reject", task, "-m", "Name the price.")
        world.ostler("run", task, code=4)
        world.ostler("approve", task)
        world.ostler("run", task)
    assert world.show(task)["status"] == "completed"
    assert "Name the price." in llm.requests[1].history[-1]
    assert (world.root / f"outputs/creative/copy/{task}.md").read_text().endswith("draft 2.")


def test_what_stood_at_its_path_is_kept(world: DocumentWorld) -> None:
    """A person's file at that path is replaced, and a copy of it is among the task's files."""
    (world.root / "docs").mkdir()
    (world.root / "docs/notes.md").write_text("mine")
    with writing(world):
        task = world.new("Notes", "--skill", "research", "--output", "docs/notes.md")
        world.ostler("run", task)
    assert (world.root / "docs/notes.md").read_text().startswith("# Notes")
    assert (world.root / ".ostler/tasks" / task / "replaced.md").read_text() == "mine"


@pytest.mark.full
def test_a_document_that_a_person_changed_before_the_rejection_is_kept(world: DocumentWorld) -> None:
    """The next version replaces it; versions of the task itself are in a directory of their own."""
    with writing(world):
        task = world.new("Sell hay", "--skill", "copy", "--review", "human")
        world.ostler("run", task, code=4)
        document = world.root / f"outputs/creative/copy/{task}.md"
        document.write_text("my own words")
        world.ostler("reject", task, "-m", "Name the price.")
        world.ostler("run", task, code=4)
        world.ostler("reject", task, "-m", "And the seller.")
        world.ostler("run", task, code=4)
    kept = sorted((world.root / ".ostler/tasks" / task).glob("replaced*"))
    assert [(one.name, one.read_text()) for one in kept] == [("replaced.md", "my own words")]
    assert "my own words" not in document.read_text()


@pytest.mark.parametrize("path", ["../out.md", "/tmp/out.md", "a/../../b.md", ".ostler/../../x.md"])
def test_a_path_that_leaves_the_project_is_refused(world: DocumentWorld, path: str) -> None:
    """Exit 2, one sentence, and no task."""
    done = world.ostler("new", "Notes", "--skill", "research", "--output", path, code=2)
    assert "below" in done.stderr
    assert world.json("status")["tasks"] == []


def test_an_unknown_skill_is_refused_with_the_nearest_one(world: DocumentWorld) -> None:
    """Exit 2 before anything is recorded."""
    done = world.ostler("new", "Notes", "--skill", "reserch", code=2)
    assert "reserch" in done.stderr and "research" in done.stderr
    assert world.json("status")["tasks"] == []


def test_the_next_skill_goes_on_with_the_document(world: DocumentWorld, tmp_path: Path) -> None:
    """`next: [copy, summary]`: each follows with the document before it, once, for every run."""
    file = tmp_path / "task.md"
    file.write_text("---\nskill: research\nnext: [copy, summary]\n---\n# Sell hay\n\nSoon.\n")
    with writing(world) as llm:
        world.ostler("new", "-f", str(file), "--executor", "model_api", "--model", "hay-1")
        world.ostler("run", "--all")
    tasks = world.json("status")["tasks"]
    assert [task["status"] for task in tasks] == ["completed"] * 3
    assert [path.split("/")[2] for path in (task["output_path"] for task in tasks)] == [
        "research",
        "copy",
        "summary",
    ]
    assert "By copy" in llm.requests[2].history[-1]
    assert {request.model for request in llm.requests} == {"hay-1"}


def test_an_answer_that_is_cut_off_is_written_with_a_warning(world: DocumentWorld) -> None:
    """RESPONSE_TRUNCATED is not a failure: the text is written and the warning is shown."""
    with FakeLlm([say("Half a tex", stop="max_tokens")]) as llm:
        world.asks(llm)
        task = world.new("Long", "--skill", "research")
        world.ostler("run", task)
    shown = world.show(task)
    assert (shown["status"], shown["warnings"]) == ("completed", ["RESPONSE_TRUNCATED"])
    assert (world.root / shown["output_path"]).read_text() == "Half a tex"


def test_a_document_with_a_redacted_secret_has_a_warning(world: DocumentWorld) -> None:
    """The text is not the one that the model wrote; examples of local services stay, without a warning."""
    example, real = "amqp://guest:guest@localhost:5672", "amqp://app:hunter2x@mq.example.org"
    for text, warned in ((example, False), (real, True)):
        with FakeLlm(lambda request, text=text: say(f"# Setup\n\nUse `{text}`.")) as llm:
            world.asks(llm)
            task = world.new("Write", "--skill", "research")
            done = world.ostler("run", task)
        shown = world.show(task)
        assert ("SECRETS_REDACTED" in shown["warnings"]) is warned
        assert ("SECRETS_REDACTED" in done.stdout) is warned
        assert (text in (world.root / shown["output_path"]).read_text()) is not warned


def test_an_empty_answer_fails_and_writes_nothing(world: DocumentWorld) -> None:
    """RESPONSE_EMPTY, at once; its tokens are counted."""
    with FakeLlm([say("  \n")] * 9) as llm:
        world.asks(llm)
        task = world.new("Nothing", "--skill", "research")
        world.ostler("run", task, code=1)
        assert len(llm.prompts) == 1
    shown = world.show(task)
    assert (shown["code"], shown["usage"]["input_tokens"]) == ("RESPONSE_EMPTY", 10)
    assert not (world.root / "outputs").exists()


def test_a_writer_that_asks_blocks_its_task_and_writes_nothing(world: DocumentWorld) -> None:
    """T27: the question is the reason; the answer of a person reaches the writer with it."""
    with FakeLlm(
        [say("<phase_blocked>I need the price list</phase_blocked>"), say("# Prices\n\n3 pounds.")]
    ) as llm:
        world.asks(llm)
        task = world.new("Prices", "--skill", "research")
        world.ostler("run", task, code=4)
        shown = world.show(task)
        assert (shown["status"], shown["code"]) == ("blocked", "AGENT_BLOCKED")
        assert "I need the price list" in world.ostler("show", task).stdout
        assert not (world.root / "outputs").exists()
        world.ostler("resume", task, "-m", "Hay is 3 pounds.")
        world.ostler("run", task)
        asked = json.dumps(llm.requests[-1].body)
    assert asked.index("I need the price list") < asked.index("Hay is 3 pounds.")
    assert (world.root / world.show(task)["output_path"]).read_text() == "# Prices\n\n3 pounds."


def test_tokens_of_failed_attempts_are_counted(world: DocumentWorld) -> None:
    """A refusal for overload, then an answer: the attempts and their tokens are all counted."""
    with FakeLlm([fail(529, "overloaded"), say("Text.")]) as llm:
        world.asks(llm)
        task = world.new("Text", "--skill", "research")
        world.ostler("run", task)
    shown = world.show(task)
    assert [attempt["status"] for attempt in shown["attempts"]] == ["failed", "succeeded"]


def test_documents_are_written_side_by_side_where_there_is_no_git(tmp_path: Path) -> None:
    """Three at once, in a directory without a repository: all three requests are sent in parallel."""
    world = DocumentWorld(tmp_path, git=False)
    together: list[int] = []

    def slowly(request):
        together.append(request.number)
        wait_until(lambda: len(together) >= 3, 60, "they do not run side by side")
        return say(f"Text {request.number}.")

    with FakeLlm(slowly) as llm:
        world.asks(llm)
        for number in range(3):
            world.new(f"Text {number}", "--skill", "research")
        world.ostler("run", "--all", "-j", "3")
    assert [task["status"] for task in world.json("status")["tasks"]] == ["completed"] * 3
    world.close()


def test_a_document_needs_no_commit(tmp_path: Path) -> None:
    """A repository without a commit is allowed for a task that makes none."""
    world = DocumentWorld(tmp_path, git=False)
    world.git("init", "-q")
    with writing(world):
        task = world.new("Early", "--skill", "research")
        assert (
            json.loads(world.ostler("run", task, "--json").stdout.splitlines()[-1])["status"] == "completed"
        )
    world.close()


def test_a_document_without_a_skill_is_written_by_our_own_words(world: DocumentWorld) -> None:
    """`--output` alone: the prompt asks for one document; the project's own template has precedence."""
    with writing(world) as llm:
        world.ostler("run", world.new("Our rules", "--output", "docs/rules.md"))
        own = world.root / ".agents" / "prompts" / "write.md"
        own.parent.mkdir(parents=True)
        own.write_text("You write for {{TASK_TITLE}}.\n")
        world.ostler("run", world.new("The board", "--output", "docs/board.md"))
    assert (world.root / "docs/rules.md").read_text().startswith("# Our rules")
    assert "your answer is that document" in system_of(llm.requests[0])
    assert "You write for The board." in system_of(llm.requests[1])
