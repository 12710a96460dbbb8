"""The routes of a task's changes: files, patches, texts and images."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from ostler.errors import UsageError
from ostler.model.ids import TaskId
from ostler.model.review import Comment, Place, Review
from ostler.project.project import Project
from ostler.project.reviews.excerpts import Excerpt, read_lines
from ostler.project.reviews.judged import keep_judged
from ostler.project.reviews.mapping import map_comments
from secret_samples import list_samples
from web_world import Client, serve, shared_world
from world import World

HUMAN = '[gates.phases]\nimplement = "human"\n'
SCRIPT = r"""
printf 'one\nTWO\n' > a.py
printf '\211PNG\r\n\032\n\0\0' > dot.png
printf '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>' > dot.svg
printf '<html><script>alert(1)</script></html>' > page.png
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with shared_world(tmp_path_factory.mktemp("changes")) as world:
        (world.root / "ostler.toml").write_text(HUMAN)
        (world.root / "a.py").write_text("one\ntwo\n")
        world.git("add", "a.py")
        world.git("commit", "-q", "-m", "first file")
        world.behave(script=SCRIPT)
        yield world


@pytest.fixture(scope="module")
def server(world: World) -> Client:
    return serve(world, "--view-only")


@pytest.fixture(scope="module")
def task(world: World) -> str:
    """A task that waits for the review of its work."""
    task = world.new("Count in capitals")
    world.ostler("run", task, code=None)
    assert world.show(task)["status"] == "needs_review", world.show(task)
    return task


def place_of(world: World, task: str) -> Path:
    return world.root / ".ostler" / "worktrees" / task


def files_of(server: Client, task: str) -> dict[str, dict[str, object]]:
    return {file["path"]: file for file in server.get(f"/tasks/{task}/changes")["files"]}


def test_the_changes_of_a_review(world: World, server: Client, task: str) -> None:
    """The judged commit, its files, and the patch of one of them or of all."""
    changes = server.get(f"/tasks/{task}/changes")
    shown = world.show(task)
    assert (changes["schema"], changes["id"], changes["since"]) == ("ostler.changes/1", task, 0)
    assert (changes["commit"], changes["head"]) == (shown["commit"], shown["commit"])
    assert changes["base"] == world.git("rev-parse", "HEAD").strip() and not changes["uncommitted"]
    found = {file["path"]: (file["kind"], file["status"]) for file in changes["files"]}
    assert found == {
        "a.py": ("text", "modified"),
        "dot.png": ("image", "added"),
        "dot.svg": ("image", "added"),
        "fake-agent.txt": ("text", "added"),
        "page.png": ("text", "added"),
    }
    one = server.get(f"/tasks/{task}/patch?path=a.py")
    assert "-two\n+TWO\n" in one["patch"] and "fake-agent" not in one["patch"] and not one["truncated"]
    assert "fake-agent" in server.get(f"/tasks/{task}/patch")["patch"]
    assert "no file 'b.py'" in server.get(f"/tasks/{task}/patch?path=b.py", 404)["message"]


def test_uncommitted_changes_and_secrets(world: World, server: Client, task: str) -> None:
    """A changed worktree has no judged commit; a private key keeps its number of lines without its text."""
    path = place_of(world, task) / "key.pem"
    key = (
        "-----BEGIN RSA PRIVATE KEY-----\n"
        + "MIIEpAIBAAKCAQEA1c7qk3Zw" * 2
        + "\nqk3Zw9+/aB\n-----END RSA PRIVATE KEY-----"
    )
    token = next(text for kind, text in list_samples() if kind == "github-token")
    path.write_text(f"first\n{key}\n{token}\nlast\n")
    try:
        changes = server.get(f"/tasks/{task}/changes")
        assert changes["uncommitted"] and changes["commit"] is None
        (file,) = (one for one in changes["files"] if one["path"] == "key.pem")
        blob = server.get(f"/tasks/{task}/blobs/{file['new_blob']}")
        patch = server.get(f"/tasks/{task}/patch?path=key.pem")["patch"]
    finally:
        path.unlink()
    for text in (blob["text"], patch):
        assert "MIIEpAIBAAKC" not in text and "qk3Zw9" not in text and token not in text
    lines = blob["text"].split("\n")
    assert len(lines) == file["additions"] + 1 and (lines[0], lines[-2]) == ("first", "last")
    assert [line[:1] for line in patch.splitlines()[-7:]] == ["+"] * 7


def test_texts_of_blobs(server: Client, task: str) -> None:
    """Only those of the task's changes."""
    file = files_of(server, task)["a.py"]
    for blob, text in ((file["old_blob"], "one\ntwo\n"), (file["new_blob"], "one\nTWO\n")):
        assert server.get(f"/tasks/{task}/blobs/{blob}")["text"] == text
    for unknown in ("0" * 40, "HEAD", "--batch", "a.py"):
        assert "no blob" in server.get(f"/tasks/{task}/blobs/{unknown}", 404)["message"]


def test_images_have_fixed_types(server: Client, task: str) -> None:
    """The first bytes decide, not the name, and no image runs a script."""
    files = files_of(server, task)
    answers = {
        name: server.ask("GET", f"/api/v1/tasks/{task}/images/{files[name]['new_blob']}")
        for name in ("dot.png", "dot.svg", "page.png", "a.py")
    }
    kinds = {name: (answer.status, answer.headers["content-type"]) for name, answer in answers.items()}
    assert kinds == {
        "dot.png": (200, "image/png"),
        "dot.svg": (200, "image/svg+xml"),
        "page.png": (415, "application/json"),
        "a.py": (415, "application/json"),
    }
    headers = answers["dot.svg"].headers
    assert headers["content-security-policy"] == "sandbox; default-src 'none'; style-src 'unsafe-inline'"
    assert headers["x-content-type-options"] == "nosniff"


def test_a_task_without_changes(world: World, server: Client) -> None:
    """One sentence, also for a purged task and an unknown one."""
    waiting = world.new("Not started")
    assert "has not been started" in server.get(f"/tasks/{waiting}/changes", 409)["message"]
    gone = world.new("To be purged")
    world.ostler("run", gone, code=None)
    world.ostler("cancel", gone)
    world.ostler("purge", gone, "--yes", "--branches")
    for path in ("changes", "patch", f"blobs/{'1' * 40}", f"images/{'1' * 40}"):
        assert "was purged at" in server.get(f"/tasks/{gone}/{path}", 404)["message"]


def test_the_lines_of_a_comment(world: World, task: str) -> None:
    """With three lines around them, of the judged commit or of the base, and without secrets."""
    with Project.open(world.root, {}) as project:
        commit = world.show(task)["commit"]
        read = partial(read_lines, project, TaskId(task), commit=commit)
        new, old = read(Place("a.py", "new", 2, 2)), read(Place("a.py", "old", 1, 2))
        assert (new.before, new.excerpt, new.after) == (("one",), ("TWO",), ())
        assert (old.excerpt, len(old.blob), old.blob == new.blob) == (("one", "two"), 40, False)
        assert read(Place("dot.png")) == Excerpt(blob=world.git("rev-parse", f"{commit}:dot.png").strip())
        assert read(Place()) == Excerpt()
        for place, reason in (
            (Place("a.py", "new", 2, 3), "a.py has no lines 2 to 3: it has 2 lines"),
            (Place("a.py", "new", 3), "a.py has no line 3"),
            (Place("b.py", "new", 1), "there is no file 'b.py'"),
            (Place("dot.png", "new", 1), "dot.png is not a text of at most 2 MiB"),
        ):
            with pytest.raises(UsageError, match=reason):
                read(place)
        with pytest.raises(UsageError, match="'--all' is not the id of a commit"):
            read_lines(project, TaskId(task), Place("a.py", "new", 1), "--all")


def test_changes_since_a_review(world: World, server: Client) -> None:
    """The number of the review names the left side; blobs of earlier rounds stay readable."""
    task = world.new("Two rounds")
    world.ostler("run", task, code=None)
    first = world.show(task)
    with Project.open(world.root, {}) as project:
        keep_judged(project, TaskId(task), 1, first["commit"], first["base"])
        review = Review(
            number=1,
            at=1.0,
            by="ada",
            verdict="changes",
            commit=first["commit"],
            base=first["base"],
            comments=(Comment(id="c", text="Why?", place=Place("a.py", "new", 2, 2)),),
        )
        with project.journal.transaction():
            project.journal.reviews.add(TaskId(task), review)
    assert server.get(f"/tasks/{task}/changes?since=1")["files"] == []
    (place_of(world, task) / "a.py").write_text("one\nThree\n")
    changes = server.get(f"/tasks/{task}/changes?since=1")
    assert (changes["base"], changes["since"], changes["uncommitted"]) == (first["commit"], 1, True)
    assert [file["path"] for file in changes["files"]] == ["a.py"]
    patch = server.get(f"/tasks/{task}/patch?since=1&path=a.py")["patch"]
    assert "-TWO\n+Three\n" in patch
    assert server.get(f"/tasks/{task}/blobs/{changes['files'][0]['old_blob']}")["text"] == "one\nTWO\n"
    with Project.open(world.root, {}) as project:
        (mapped,) = map_comments(project, TaskId(task), review)
    assert (mapped.state, mapped.place) == ("probably_changed", Place("a.py", "new", 2, 2))
    assert mapped.since == ("-TWO", "+Three")
    assert "has no review 2" in server.get(f"/tasks/{task}/changes?since=2", 404)["message"]


def test_text_files_are_shown_as_text(world: World, server: Client, task: str) -> None:
    """On request, with a fixed type whatever their name or content; others stay downloads."""
    folder = world.root / ".ostler" / "tasks" / task
    (folder / "page.html").write_text("<script>alert(1)</script>")
    (folder / "data.html").write_bytes(b"\0<script>")
    for name, query, kind, how in (
        ("page.html", "?shown=true", "text/plain; charset=utf-8", "inline"),
        ("page.html", "", "application/octet-stream", "attachment"),
        ("data.html", "?shown=true", "application/octet-stream", "attachment"),
    ):
        answer = server.ask("GET", f"/api/v1/tasks/{task}/files/{name}{query}")
        assert (answer.status, answer.headers["content-type"]) == (200, kind)
        assert answer.headers["content-disposition"].startswith(f"{how}; ")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.body == (folder / name).read_bytes()
