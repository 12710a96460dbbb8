"""`ostler set` for scripts, drafts of refused edits, and files that a person changed."""

from __future__ import annotations

import pytest

from world import World


def test_fields_are_set_together_and_again(world: World) -> None:
    """One event for all of them; the same values again are no error."""
    first, task = world.new("One"), world.new("Two")
    values = ("title=Three", "priority=P0", f"after={first}", "tags=a, b", "budget=2.5", "model=x")
    shown = world.json("set", task, *values)
    assert (shown["title"], shown["priority"], shown["after"]) == ("Three", "P0", [first])
    (edited,) = [event for event in world.events(task) if event["type"] == "task_edited"]
    assert edited["by"] == "set" and edited["task"]["tags"] == ["a", "b"]
    assert "has these values already" in world.ostler("set", task, *values).stderr
    shown = world.json("set", task, "after=", "model=", "budget_usd=")
    assert shown["after"] == []


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("prioritty=P0", "did you mean priority?"),
        ("priority=P9", 'expected one of "P0"'),
        ("budget=-1", "invalid budget_usd"),
        ("budget=much", "invalid budget_usd"),
        ("title=", "needs a title"),
        ("after=nope", "no task nope"),
        ("not_before=later", "invalid not_before"),
        ("executor=cluade", "did you mean claude?"),
        ("title", "is not FIELD=VALUE"),
        ("=x", "unknown field"),
        ("status=done", "ostler approve"),
        ("status=cancelled", "ostler cancel"),
        ("status=nonsense", "ostler approve, reject, resume"),
    ],
)
def test_a_wrong_value_is_refused_with_what_to_use(world: World, value: str, message: str) -> None:
    """Exit 2, and nothing is recorded, not even the right values beside it."""
    task = world.new("Paint")
    assert (
        message
        in world.ostler(
            "set", task, "priority=P1" if "prio" not in value else "weight=large", value, code=2
        ).stderr
    )
    assert world.show(task)["priority"] == "P2" and len(world.events(task)) == 1


def test_a_refused_text_of_the_editor_is_kept(world: World) -> None:
    """The next `ostler edit` opens it again; an accepted one leaves no draft."""
    task = world.new("Paint", "-d", "Red.")
    broken = world.ostler("edit", task, EDITOR="sed -i s/^title:/tilte:/;s/Red/Green/", code=2).stderr
    assert "tilte" in broken and f"ostler edit {task}" in broken
    draft = world.root / ".ostler" / "tasks" / task / "draft.md"
    assert "Green." in draft.read_text()
    world.ostler("edit", task, EDITOR="sed -i s/^tilte:/title:/")
    assert "Green." in (draft.parent / "task.md").read_text() and not draft.exists()


def test_a_changed_state_file_is_refused_with_its_line(world: World) -> None:
    """No agent starts; after a resume the task runs, and show names changed files before."""
    task = world.new("Paint")
    world.ostler("pause", task)
    world.ostler("resume", task)
    path = world.root / ".ostler" / "tasks" / task / "state.yaml"
    path.write_text(path.read_text().replace('status: "pending"', "status: done"))
    (changed,) = world.show(task)["changed_files"]
    assert f".ostler/tasks/{task}/state.yaml:3" in changed and f"ostler approve {task}" in changed
    world.ostler("run", task, code=4)
    shown = world.show(task)
    assert shown["code"] == "TASK_NOT_EXECUTABLE" and shown["message"] == changed and not world.started()
    world.ostler("resume", task)
    world.ostler("run", task)
    assert world.show(task)["status"] == "completed"


@pytest.mark.parametrize("command", [("resume",), ("edit", "--title", "Green"), ("set", "priority=P0")])
def test_no_command_replaces_a_changed_state_file(world: World, command: tuple[str, ...]) -> None:
    """It is refused with the sentence of `run`; the command that the sentence names is not."""
    name, *options = command
    task = world.new("Paint")
    world.ostler("pause", task)
    path = world.root / ".ostler" / "tasks" / task / "state.yaml"
    written = path.read_text()
    path.write_text(written.replace('status: "paused"', "status: completed"))
    assert "state.yaml:3: status was changed" in world.ostler(name, task, *options, code=2).stderr
    assert "status: completed" in path.read_text()
    path.write_text(written.replace('status: "paused"', "status: pending"))
    world.ostler("resume", task)
    path.write_text(path.read_text().replace('title: "Paint"', "title: Green"))
    world.ostler("edit", task, "--title", "Green")
    world.ostler("run", task)
    assert world.show(task)["status"] == "completed"


def test_an_outdated_state_file_is_no_change_by_a_person(world: World) -> None:
    """A killed run leaves an older state, and a power cut an empty file."""
    task = world.new("Paint")
    world.ostler("pause", task)
    path = world.root / ".ostler" / "tasks" / task / "state.yaml"
    paused = path.read_text()
    world.ostler("resume", task)
    for text in (paused, "", "\0" * 50):
        path.write_text(text)
        assert world.show(task)["changed_files"] == []
    path.write_text(paused)
    world.ostler("run", task)
    assert world.show(task)["status"] == "completed"


def test_a_changed_file_of_an_ended_task_is_named(world: World) -> None:
    """It is not used, and show says so."""
    task = world.new("Paint")
    world.ostler("cancel", task)
    path = world.root / ".ostler" / "tasks" / task / "task.md"
    path.write_text(path.read_text() + "\nMore.\n")
    (changed,) = world.show(task)["changed_files"]
    assert "task.md" in changed and "has ended" in changed


def test_a_change_of_phases_is_recorded_in_words(world: World) -> None:
    """The event lists the names, as a person writes them."""
    task = world.new("Red")
    world.ostler("set", task, "phases=implement,review")
    assert "phases: none -> implement, review" in world.ostler("events", task).stdout


def test_edit_without_a_terminal_starts_no_default_editor(world: World) -> None:
    """One sentence and exit 2 instead of vi on a pipe."""
    printed = world.ostler("edit", world.new("Red"), code=2, EDITOR="", VISUAL="").stderr
    assert "an editor needs a terminal" in printed


def test_show_names_the_mistake_in_a_changed_task_file(world: World) -> None:
    """Before a run reads it; the text of the task is not lost."""
    task = world.new("Red")
    file = world.root / ".ostler" / "tasks" / task / "task.md"
    world.ostler("pause", task)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("---\ntilte: Green\n---\n")
    (changed,) = world.json("show", task)["changed_files"]
    assert f"{task}/task.md:2" in changed and "tilte" in changed and "correct or delete" in changed


def test_a_long_id_that_names_no_task_is_cut(world: World) -> None:
    """The message stays one sentence."""
    world.new("Red")
    assert len(world.ostler("show", "x" * 5000, code=2).stderr) < 400


def test_a_set_keeps_what_a_person_changed_in_the_file(world: World) -> None:
    """Both changes are recorded; an invalid file is refused and stays as it is."""
    task = world.new("Paint", "-d", "Red.")
    file = world.root / ".ostler" / "tasks" / task / "task.md"
    file.write_text(file.read_text().replace("Red.", "Green."))
    world.ostler("set", task, "priority=P0")
    assert "Green." in file.read_text() and world.show(task)["priority"] == "P0"
    assert [one["by"] for one in world.events(task) if one["type"] == "task_edited"] == ["task.md", "set"]
    broken = file.read_text().replace("title:", "tilte:")
    file.write_text(broken)
    for command in (("set", task, "priority=P1"), ("edit", task, "--title", "X"), ("edit", task)):
        refused = world.ostler(*command, code=2, EDITOR="true").stderr
        assert "task.md:2" in refused and "correct or delete" in refused
    assert file.read_text() == broken and world.show(task)["priority"] == "P0"


def test_a_draft_keeps_values_that_were_set_later(world: World) -> None:
    """The draft changes only what the person changed in it."""
    task = world.new("Paint", "-d", "Red.")
    world.ostler("edit", task, EDITOR="sed -i s/^title:/tilte:/;s/Red/Green/", code=2)
    world.ostler("set", task, "title=Paint the gate", "priority=P0")
    world.ostler("edit", task, EDITOR="sed -i s/^tilte:/title:/")
    shown = world.show(task)
    assert (shown["title"], shown["priority"]) == ("Paint the gate", "P0")
    folder = world.root / ".ostler" / "tasks" / task
    assert "Green." in (folder / "task.md").read_text() and not list(folder.glob("draft*.md"))


def test_an_empty_value_resets_a_field(world: World) -> None:
    """Also fields whose default is a name; the card shows what the task sets."""
    task = world.new("Paint", "--priority", "P0", "--weight", "medium", "--role", "reviewer")
    world.ostler("set", task, "model=big", "tags=a,b", "timeout=90", "retries=1")
    card = world.ostler("show", task).stdout
    lines = ("agent     model big, role reviewer", "tags      a, b", "limits    timeout 90 s, retries 1")
    assert all(line in card for line in lines)
    world.ostler("set", task, "priority=", "weight=", "role=", "model=", "tags=", "timeout=", "retries=")
    shown = world.show(task)
    assert (shown["priority"], shown["weight"], shown["given"]["role"]) == ("P2", "small", "implementer")
    assert shown["given"]["model"] is None and "agent " not in world.ostler("show", task).stdout


@pytest.mark.full
@pytest.mark.one_machine("in a cluster the server starts tasks of one priority in about their order")
def test_a_task_is_moved_in_the_queue(world: World) -> None:
    """The list has the new order; another form is refused with an example."""
    first, second, third = (world.new(title) for title in ("One", "Two", "Three"))
    world.ostler("set", third, "queue=first")
    world.ostler("set", first, f"queue=after:{second}")
    listed = [line.split()[0] for line in world.ostler("status").stdout.splitlines()[1:4]]
    assert listed == [third, second, first]
    refused = world.ostler("set", first, "queue=third", code=2)
    assert "expected first, last, before:ID or after:ID" in refused.stderr
    world.ostler("run", "--all", "-j", "1")
    claimed = [line["task_id"] for line in world.events() if line["type"] == "task_claimed"]
    assert claimed == [third, second, first]
