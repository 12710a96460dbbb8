"""`ostler review`: the form in an editor, options for scripts, and the work that comes back."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from document_world import DocumentWorld, writing
from ostler.model.ids import TaskId
from ostler.project.project import Project
from ostler.project.reviews.drafts import CommentChange, PlaceChange, save_draft
from ostler.testing.fake_agent import COMPLETE
from world import World

GATED = '[gates.weights]\nmedium = "human"\n\n[phases.plans]\nmedium = ["implement"]\n'
FIRST = "def greet(name):\n    return 'hi'\n\n\ndef leave():\n    pass\n"
SECOND = "import os\n\n\ndef greet(name):\n    return f'hello {name}'\n\n\ndef leave():\n    pass\n"
REPLIES = {
    "replies": [
        {"comment": 1, "status": "changed", "where": "greet.py:5", "text": "It greets by name."},
        {"comment": 2, "status": "answered", "where": "", "text": "Nobody calls it."},
    ]
}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    made.behave(
        plan=[
            {"files": {"greet.py": FIRST}, "edits": {}},
            {
                "files": {"greet.py": SECOND},
                "edits": {},
                "text": f"```json\n{json.dumps(REPLIES)}\n```\n\n{COMPLETE}",
            },
        ]
    )
    (made.root / "ostler.toml").write_text(GATED)
    made.git("add", "-A")
    made.git("commit", "-q", "-m", "settings")
    yield made
    made.close()


def waiting(world: World) -> str:
    """A task whose work waits for a person."""
    task = world.new("Add a greeting", "--weight", "medium")
    world.ostler("run", task, code=4)
    return task


def editor(world: World, *changes: tuple[str, str], shell: str = "") -> dict[str, str]:
    """An editor that makes these replacements; each text must be there once at the start of a line."""
    program = world.root.parent / "editor.py"
    program.write_text(
        "import subprocess, sys\n"
        "from pathlib import Path\n"
        "path = Path(sys.argv[-1])\n"
        "text = path.read_text()\n"
        f"Path({str(world.root.parent / 'form')!r}).write_text(text)\n"
        f"for old, new in {changes!r}:\n"
        "    assert text.count('\\n' + old) == 1, (old, text)\n"
        "    text = text.replace('\\n' + old, '\\n' + new)\n"
        "path.write_text(text)\n"
        f"if {shell!r}:\n"
        f"    subprocess.run({shell!r}, shell=True, check=False)\n"
    )
    return {"EDITOR": f"{sys.executable} {program}", "VISUAL": ""}


def opened(world: World) -> str:
    """The text that the last editor got."""
    return (world.root.parent / "form").read_text()


SENT_BACK = pytest.mark.one_machine("in a cluster a worker continues at once what a review sends back")
BACK = ("Decision:", "Decision: send back")
COMMENTS = (
    ("+    return 'hi'", "+    return 'hi'\n! Greet by name.\n= return f'hello {name}'"),
    ("+    pass", "+    pass\n? Who calls it?"),
)


@SENT_BACK
def test_two_rounds_in_an_editor(world: World) -> None:
    """Comments go to the agent in one review; the next form has them with its answers; then it is merged."""
    task = waiting(world)
    done = world.ostler("review", task, **editor(world, BACK, ("Message:", "Message:\nAlmost."), *COMMENTS))
    assert "# ✓" not in opened(world) and f"# {task}: Add a greeting" in opened(world)
    assert f"{task} is sent back with 2 comments (review 1)." in done.stderr
    assert "1. change on greet.py:2: Greet by name." in done.stderr
    view = world.json("review", task)
    assert (view["schema"], view["status"], view["drafts"]) == ("ostler.review/1", "revision", [])
    (review,) = view["reviews"]
    assert (review["verdict"], review["text"]) == ("changes", "Almost.")
    first = review["comments"][0]
    assert (first["suggestion"], first["excerpt"]) == ("return f'hello {name}'", ["    return 'hi'"])
    world.ostler("run", task, code=4)
    prompt = (world.root / ".ostler" / "tasks" / task / "review-1.md").read_text()
    assert "Greet by name." in prompt and "> " in prompt
    shown = world.ostler("review", task, "--show", "--since", "last").stdout
    assert "agent: changed greet.py:5: It greets by name." in shown
    assert "Changed since review 1: 1 file, +4 -1" in shown and "    5 +    return f'hello {name}'" in shown
    assert "      ┃ [review 1, 1] change: Greet by name." in shown
    assert shown.count("Who calls it?") == 1 and "+    pass" not in shown
    done = world.ostler("review", task, **editor(world, ("Decision:", "Decision: approve and merge")))
    lines = opened(world).split("\n")
    at = lines.index("+    return f'hello {name}'")
    assert (
        lines[at + 1].endswith("1. change on greet.py:2")
        and "#   probably changed since, now greet.py:5" in lines
    )
    assert f"{task} is approved (review 2)." in done.stderr
    assert world.git("show", "main:greet.py") == SECOND


def test_nothing_is_sent_without_a_change(world: World) -> None:
    """Nor when only comments are deleted again."""
    task = waiting(world)
    assert "Nothing is sent" in world.ostler("review", task, **editor(world)).stderr
    assert (
        "Nothing is sent"
        in world.ostler("review", task, **editor(world, ("Message:", "Message:\n\n"))).stderr
    )
    assert "deleted" in world.ostler("review", task, EDITOR="rm", VISUAL="", code=2).stderr
    for _ in range(2):  # an empty form is not kept for the next editor
        emptied = world.ostler("review", task, EDITOR="truncate -s 0", VISUAL="")
        assert emptied.stderr == "Nothing is sent: the form is unchanged or empty.\n"
    assert world.json("review", task)["reviews"] == []


def test_a_form_with_a_mistake_is_kept(world: World) -> None:
    """With the line of the mistake; corrected it is sent, and nothing is left."""
    task = waiting(world)
    refused = world.ostler(
        "review", task, code=2, **editor(world, ("+    return 'hi'", "+    return 2\n! Why?"))
    )
    line = 2 + opened(world).split("\n").index("+    return 'hi'")
    assert f"line {line} of the form: '+    return 2' is neither a comment nor" in refused.stderr
    assert f"the form is kept: ostler review {task}" in refused.stderr
    kept = world.root / ".ostler" / "tasks" / task / "review-form" / f"{task}.diff"
    assert kept.read_text().startswith(f"# Not sent: line {line} of the form: ")
    undecided = editor(world, ("+    return 2\n", "+    return 'hi'\n"))
    refused = world.ostler("review", task, code=2, **undecided)
    assert "there is no decision" in refused.stderr and "! Why?" in kept.read_text()
    sent = world.ostler("review", task, **editor(world, BACK))
    assert "Continuing with the form" in sent.stderr and not kept.exists()
    (review,) = world.json("review", task)["reviews"]
    assert [one["text"] for one in review["comments"]] == ["Why?"]


@pytest.mark.full
@SENT_BACK
def test_work_that_changes_while_the_editor_is_open(world: World) -> None:
    """The form is kept; the next one is about the new work, with the comments at their lines of now."""
    task = waiting(world)
    other = f"{sys.executable} -m ostler"
    meanwhile = f"{other} reject {task} -m Again; {other} run {task}"
    changed = editor(world, BACK, ("Message:", "Message:\nAlmost."), *COMMENTS, shell=meanwhile)
    refused = world.ostler("review", task, code=2, **changed)
    assert f"{task} has changed: it is at" in refused.stderr and "the form is kept" in refused.stderr
    assert len(world.json("review", task)["reviews"]) == 0
    world.ostler("review", task, **editor(world, BACK))
    form = opened(world).split("\n")
    assert form[form.index("Message:") + 1] == "Almost."
    assert form[form.index("+    pass") + 1] == "? Who calls it?"
    (review,) = world.json("review", task)["reviews"]
    assert {one["place"]["line"] for one in review["comments"]} == {5, 9} and review["text"] == "Almost."
    assert review["commit"] == world.json("review", task)["commit"]


def test_comments_are_saved_and_sent_later(world: World) -> None:
    """With the decision `comment`; the browser and the next form have them, changed or deleted there."""
    task = waiting(world)
    saved = world.ostler("review", task, **editor(world, ("Decision:", "Decision: comment"), *COMMENTS))
    assert "2 comments saved; not sent." in saved.stderr and saved.stderr.count("Next: ") == 1
    assert [one["text"] for one in world.json("review", task)["drafts"]] == [
        "Greet by name.",
        "Who calls it?",
    ]
    changes = (("? Who calls it?", "? Is it used?"), ("! Greet by name.", "#"), ("= return", "# return"))
    world.ostler("review", task, **editor(world, BACK, *changes))
    (review,) = world.json("review", task)["reviews"]
    assert [(one["kind"], one["text"]) for one in review["comments"]] == [("question", "Is it used?")]


def test_comments_that_are_saved_after_a_form_was_written_stay(world: World) -> None:
    """A kept form, and a printed one, replace the saved comments that they have, and no other one."""
    task = waiting(world)
    world.ostler("review", task, "--comment", "greet.py:1=In the form.")
    world.ostler("review", task, "--comment", "greet.py:5=Deleted in the form.")
    printed = world.ostler("review", task, "--print-form").stdout
    world.ostler("review", task, code=2, **editor(world, ("Decision:", "Decision: what")))
    world.ostler("review", task, "--comment", "greet.py:2=From the browser.")
    change = (("Decision: what", "Decision: comment"), ("! Deleted in the form.\n", ""))
    done = world.ostler("review", task, **editor(world, *change))
    assert "1 comment saved since then stays" in done.stderr
    saved = sorted(one["text"] for one in world.json("review", task)["drafts"])
    assert saved == ["From the browser.", "In the form."]
    form = world.root.parent / "printed"
    form.write_text(printed.replace("\nDecision:", "\nDecision: comment").replace("! In the form.\n", ""))
    world.ostler("review", task, "--form", str(form))
    saved = sorted(one["text"] for one in world.json("review", task)["drafts"])
    assert saved == ["Deleted in the form.", "From the browser."]


@pytest.mark.full
@SENT_BACK
def test_options_for_scripts(world: World) -> None:
    """Comments without an editor; a form from a file; each mistake has one sentence."""
    task = waiting(world)
    at = world.json("review", task)["version"]
    shown = world.ostler("review", task, "--show")
    assert "1 file, +6 -0" in shown.stdout and f"Next: ostler review {task}   or" in shown.stderr
    assert "add -m TEXT or --comment" in world.ostler("review", task, "--send-back", code=2).stderr
    world.ostler("review", task, "--question", "greet.py=Why a new file?")
    given = ("--comment", "greet.py:1-2=Greet = by name.", "-m", "Almost.", "--commit", at[:8])
    view = world.json("review", task, "--send-back", *given)
    (review,) = view["reviews"]
    assert [(one["text"], one["place"]["line"], one["place"]["end_line"]) for one in review["comments"]] == [
        ("Why a new file?", 0, 0),
        ("Greet = by name.", 1, 2),
    ]
    for args, message in (
        (["--approve"], f"{task} cannot be decided about now: "),
        ([], f"{task} cannot be reviewed now: it was sent back and waits for its agent"),
        (["--since", "2"], f"{task} has no review '2'"),
        (["--comment", "greet.py:99=x"], "greet.py has no line 99: it has 6 lines"),
        (["--comment", "no.py:1=x"], "there is no file 'no.py'"),
        (["--comment", "x"], "invalid comment 'x'"),
        (["--approve", "--form", "-"], "use one of --form"),
        (["--then", "merge"], "--then is for --approve"),
        (["--approve", "--send-back", "-m", "x"], "use either --approve or --send-back"),
        (["--approve", "--commit", ""], "invalid value for '--commit': it is empty"),
        (["--show", "--commit", "abc"], "--commit is for the options of a decision"),
        (["--approve", "--since", "1"], "--since is for the editor"),
        (["--comment", "greet.py:0=x"], "there is no line 0"),
        (["--form", ""], "invalid value for '--form': it is empty"),
        (["--form", "no such form"], "cannot read no such form: no such file or directory"),
        (["--send-back", "--commit", "abc"], "has changed: it is at"),
    ):
        refused = world.ostler("review", task, *args, code=2, EDITOR="true", VISUAL="")
        assert message in refused.stderr, refused.stderr
    world.ostler("run", task, code=4)
    form = world.ostler("review", task, "--print-form").stdout
    stale = form.replace(world.json("review", task)["version"], at)
    refused = world.ostler("review", task, "--form", "-", stdin=stale, code=2)
    assert f"the form is about version {at[:10]} of {task}, which is at" in refused.stderr
    assert "Nothing is sent" in world.ostler("review", task, "--form", "-", stdin=form).stderr
    filled = form.replace("\nDecision:", "\nDecision: approve and merge")
    view = json.loads(world.ostler("review", task, "--form", "-", "--json", stdin=filled).stdout)
    assert view["status"] == "completed" and world.git("show", "main:greet.py") == SECOND
    assert "it is merged into main" in world.ostler("review", task, "--approve", code=2).stderr


def test_names_in_any_script_and_work_without_a_change(world: World) -> None:
    """Names are not escaped in the form and in the diff; a form without changes has a note."""
    world.behave(files={"größe-靴.py": FIRST}, edits={})
    task = waiting(world)
    assert "diff --git a/größe-靴.py b/größe-靴.py\n" in world.ostler("review", task, "--print-form").stdout
    assert "diff --git a/größe-靴.py b/größe-靴.py\n" in world.ostler("diff", task).stdout
    world.ostler("review", task, "--send-back", "--comment", "größe-靴.py:2=Greet.")
    world.behave(edits={})
    task = waiting(world)
    assert world.ostler("review", task, "--print-form").stdout.endswith(
        "Changes ----\n# No file is changed.\n"
    )


@pytest.mark.full
@SENT_BACK
def test_the_next_task_that_waits(world: World) -> None:
    """Without an id the first one of the inbox is reviewed; afterwards the next one is named."""
    assert "no task waits for a review" in world.ostler("review", "--show", code=2).stderr
    first = waiting(world)
    urgent = world.new("Mend the gate", "--weight", "medium", "--priority", "P0")
    world.ostler("run", urgent, code=4)
    sent = world.ostler("review", **editor(world, BACK, ("Message:", "Message: Almost.")))
    assert f"{urgent} is sent back" in sent.stderr and f"Next review: ostler review {first}" in sent.stderr
    assert "name the task to decide about" in world.ostler("review", "--approve", code=2).stderr
    sent = world.ostler("review", **editor(world, ("Decision:", "Decision: approve")))
    assert f"{first} is approved" in sent.stderr and "Next review" not in sent.stderr


def test_comments_of_an_mcp_client_are_marked(world: World) -> None:
    """They would be sent with the review of the person, who did not write them."""
    task = waiting(world)
    with Project.open(world.root, world.environ) as project:
        at = project.state(TaskId(task)).commit
        place = PlaceChange("greet.py", "new", 2, 2)
        save_draft(
            project, TaskId(task), CommentChange(id="c", place=place, text="Rename it.", commit=at), "mcp"
        )
    form = world.ostler("review", task, "--print-form").stdout
    assert "# An MCP client wrote for you: change on greet.py:2: Rename it." in form
    assert "\n! Rename it.\n" in form
    assert "change on greet.py:2 (through MCP)" in world.ostler("review", task, "--show").stdout


def test_an_agent_cannot_review(world: World) -> None:
    """Inside a task the command is refused."""
    task = waiting(world)
    inside = {"OSTLER_TASK": task, "OSTLER_ATTEMPT": f"store:{task}:1", "OSTLER_PROJECT": str(world.root)}
    assert "ostler review" in world.ostler("review", task, "--approve", code=2, **inside).stderr


def test_a_document(tmp_path: Path) -> None:
    """The form has its lines; comments are about them, also about what changed since a review."""
    world = DocumentWorld(tmp_path)
    with writing(world):
        task = world.new("Sell hay", "--skill", "copy", "--review", "human")
        world.ostler("run", task, code=4)
        world.ostler("review", task, **editor(world, BACK, (" # Sell hay", " # Sell hay\n! Sell straw.")))
        assert "\ndocument outputs/" in opened(world)
        (review,) = world.json("review", task)["reviews"]
        (comment,) = review["comments"]
        assert (comment["place"]["side"], comment["place"]["line"]) == ("document", 1)
        assert comment["excerpt"] == ["# Sell hay"]
        world.ostler("run", task, code=4)
    shown = world.ostler("review", task, "--show", "--since", "1").stdout
    assert "Sell straw." in shown and "\n    3 +" in shown
    path = comment["place"]["path"]
    world.ostler("review", task, "--comment", f"{path}:3=Shorter.")
    (draft,) = world.json("review", task)["drafts"]
    assert (draft["place"]["side"], draft["place"]["line"]) == ("document", 3)
    world.ostler("review", task, **editor(world, ("Decision:", "Decision: approve")))
    assert "! Shorter." in opened(world) and world.show(task)["status"] != "needs_review"
    world.close()
