"""Imports: all or none, each once, also with edits and imports in between."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ostler.errors import OstlerError
from ostler.model.ids import TaskId, make_id_tail
from ostler.model.task import Task
from ostler.project.project import Project
from ostler.project.tasks.files.imports import import_tasks
from ostler.sources.found import FoundTask, digest_of


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with Project.open(tmp_path, {}, create=True) as made:
        yield made


def found(title: str, source: str = "", **fields: object) -> FoundTask:
    return FoundTask(Task(title, source=source or f"file:{title}.md", **fields), f"{title}.md:1")  # pyright: ignore


def ids(project: Project) -> list[TaskId]:
    return [row.id for row in project.journal.rows()]


def test_twice_is_once(project: Project) -> None:
    """A second import adds nothing, even after a title changed."""
    first = import_tasks(project, [found("A"), found("B")])
    assert [one.is_new for one in first] == [True, True]
    again = import_tasks(project, [found("A, but better", "file:A.md"), found("B"), found("C")])
    assert [one.is_new for one in again] == [False, False, True]
    assert [one.task.id for one in again[:2]] == [one.task.id for one in first]
    assert len(ids(project)) == 3


def test_the_same_place_twice_in_one_import(project: Project) -> None:
    """A file that is listed and in a directory is added once."""
    assert len(import_tasks(project, [found("A"), found("A")])) == 1


def test_an_id_that_is_taken_by_another_source(project: Project) -> None:
    """The next tail is used, and found again at the next import."""
    tail = make_id_tail(digest_of("file:A.md"))
    taken = project.add(Task("A", id=TaskId(f"a-{tail}"), source="file:other.md"))
    (first,) = import_tasks(project, [found("A")])
    (again,) = import_tasks(project, [found("A")])
    assert first.is_new and not again.is_new
    assert first.task.id == again.task.id != taken.id


def test_one_mistake_adds_nothing(project: Project) -> None:
    """All errors are reported, including those of the source."""
    wrong = [
        found("A"),
        found("B", role="nobody"),
        found("C", executor="none"),
        found("D", after=(TaskId("zzz"),)),
    ]
    with pytest.raises(OstlerError) as caught:
        import_tasks(project, wrong, ["e.md:3: unknown key"])
    reported = caught.value.message.splitlines()
    assert [line.split(":")[0] for line in reported] == ["e.md", "B.md", "C.md", "D.md"]
    assert not ids(project)
    assert not list((project.layout.state / "tasks").iterdir())


def test_files_may_wait_for_each_other(project: Project) -> None:
    """By ids, in any order."""
    late = found("A", id=TaskId("first-one"), after=(TaskId("second-one"),))
    imported = import_tasks(project, [late, found("B", id=TaskId("second-one"))])
    assert [one.task.id for one in imported] == ["first-one", "second-one"]
    assert project.task(TaskId("first-one")).after == ("second-one",)


def test_files_that_wait_for_each_other(project: Project) -> None:
    """Refused with the cycle; a missing title is refused too."""
    first = found("A", id=TaskId("first-one"), after=(TaskId("second-one"),))
    second = found("B", id=TaskId("second-one"), after=(TaskId("first-one"),))
    with pytest.raises(OstlerError, match="dependency cycle: first-one -> second-one -> first-one"):
        import_tasks(project, [first, second])
    with pytest.raises(OstlerError, match=r"x.md: a task needs a title"):
        import_tasks(project, [FoundTask(Task("", source="file:x.md"), "x.md")])
    assert not ids(project)


def test_two_files_with_one_id(project: Project) -> None:
    """Refused, because one of them would be lost."""
    with pytest.raises(OstlerError, match="both have the id same-id"):
        import_tasks(project, [found("A", id=TaskId("same-id")), found("B", id=TaskId("same-id"))])
    assert not ids(project)


def test_what_is_done_is_not_added(project: Project) -> None:
    """By the status in the file."""
    assert import_tasks(project, [FoundTask(Task("A", source="file:a.md"), "a.md", skipped=True)]) == []
