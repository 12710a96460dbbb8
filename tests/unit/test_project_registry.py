"""The user's list of projects."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ostler.errors import UsageError
from ostler.files.lock import try_lock
from ostler.project.registry.known_projects import KnownProjects, remember_project


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_STATE_HOME": str(tmp_path / "state")}


def make_project(tmp_path: Path, *parts: str) -> Path:
    root = tmp_path.joinpath(*parts)
    (root / ".ostler").mkdir(parents=True)
    return root


def test_projects_with_the_same_directory_name_have_names_of_their_own(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    """A name is never given twice, also not with other capitals, and a project keeps it."""
    roots = [
        make_project(tmp_path, place, name) for place, name in (("a", "app"), ("b", "app"), ("c", "App"))
    ]
    known = KnownProjects(environ)
    assert [known.add(root).name for root in roots] == ["app", "app-2", "App-3"]
    known.forget(lambda one: one.name == "app")
    assert known.add(roots[1]).name == "app-2"
    assert known.add(roots[0]).name == "app"


@pytest.mark.parametrize(
    ("directory", "name"),
    [
        ("..x", "x"),
        ("a b/ü", "project"),
        ("my app", "my-app"),
        ("api", "api"),
        ("%2e%2e", "2e-2e"),
        ("x" * 90, "x" * 60),
    ],
)
def test_a_name_is_one_segment_of_a_url(
    tmp_path: Path, environ: dict[str, str], directory: str, name: str
) -> None:
    """Letters, digits, points, hyphens and underscores; not the name of a parent directory."""
    assert KnownProjects(environ).add(make_project(tmp_path, directory)).name == name


def test_the_list_is_private_and_the_time_of_use_is_written_rarely(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    """A command that uses a project again within ten minutes only reads the list."""
    root, now = make_project(tmp_path, "app"), 1000.0
    known = KnownProjects(environ, lambda: now)
    known.add(root)
    file = tmp_path / "state/ostler/projects.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    written = file.stat().st_ino
    now += 599
    known.add(root)
    assert file.stat().st_ino == written
    now += 1
    known.add(root)
    assert (file.stat().st_ino != written, known.list()[0].used_at) == (True, now)


def test_no_project_is_lost_when_many_are_added_at_once(tmp_path: Path, environ: dict[str, str]) -> None:
    """Each writer holds the lock while it reads and writes."""
    roots = [make_project(tmp_path, str(number), "app") for number in range(20)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda root: KnownProjects(environ).add(root), roots))
    found = KnownProjects(environ).list()
    assert {one.root for one in found} == {str(root) for root in roots}
    assert len({one.name for one in found}) == 20


def test_only_a_person_adds_a_project_that_exists(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent and a directory without a project change nothing, and a locked list stops nothing."""
    root = make_project(tmp_path, "app")
    remember_project(tmp_path / "nowhere", environ)
    remember_project(root, environ | {"OSTLER_TASK": "t"})
    assert KnownProjects(environ).list() == ()
    monkeypatch.setattr("ostler.project.registry.known_projects._LOCK_SECONDS", 0)
    (tmp_path / "state/ostler").mkdir(parents=True)
    held = try_lock(tmp_path / "state/ostler/projects.lock")
    assert held is not None
    with held:
        remember_project(root, environ)
    assert KnownProjects(environ).list() == ()
    remember_project(root, environ)
    assert [one.root for one in KnownProjects(environ).list()] == [str(root)]


def test_a_damaged_list_is_kept_beside_the_new_one(tmp_path: Path, environ: dict[str, str]) -> None:
    """It reads as empty; the next project starts a new one."""
    file = tmp_path / "state/ostler/projects.json"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"{ damaged")
    known = KnownProjects(environ)
    assert known.list() == ()
    known.add(make_project(tmp_path, "app"))
    assert [one.name for one in known.list()] == ["app"]
    assert file.with_suffix(".damaged").read_bytes() == b"{ damaged"


def test_a_deleted_project_is_gone(tmp_path: Path, environ: dict[str, str]) -> None:
    """Its directory, or what makes it a project."""
    root = make_project(tmp_path, "app")
    one = KnownProjects(environ).add(root)
    assert not one.is_gone
    (root / ".ostler").rmdir()
    assert one.is_gone
    root.rmdir()
    assert one.is_gone


def test_without_a_home_directory_there_is_no_list() -> None:
    """Reading finds none, adding says what to set, and a command continues."""
    assert KnownProjects({}).list() == ()
    with pytest.raises(UsageError, match="no home directory"):
        KnownProjects({}).add(Path("/"))
    remember_project(Path("/"), {})
