"""Copying and linking files of the project into a workspace."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from ostler.errors import Code, OstlerError, PathEscape
from ostler.files.placement import Placement, place_all, plan_copies, plan_links


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    (made / "node_modules" / ".bin").mkdir(parents=True)
    (made / "node_modules" / "tool.js").write_text("run")
    (made / "node_modules" / "tool.js").chmod(0o755)
    (made / "node_modules" / ".bin" / "tool").symlink_to("../tool.js")
    (made / ".env").write_text("KEY=1")
    return made


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = tmp_path / "workspace"
    made.mkdir()
    (tmp_path / "staging").mkdir()
    return made


def fill(
    root: Path, workspace: Path, copy: tuple[str, ...] = (), link: tuple[str, ...] = ()
) -> list[Placement]:
    plan = plan_copies(root, workspace, copy) + plan_links(root, workspace, link)
    place_all(plan, workspace, workspace.parent / "staging")
    assert list((workspace.parent / "staging").iterdir()) == []
    return plan


def test_files_and_directories_are_copied_as_they_are(root: Path, workspace: Path) -> None:
    """Modes and links are kept; a change of the copy does not change the project's file."""
    fill(root, workspace, copy=(".env", "node_modules"))
    assert (workspace / ".env").read_text() == "KEY=1"
    assert os.access(workspace / "node_modules" / "tool.js", os.X_OK)
    assert os.readlink(workspace / "node_modules" / ".bin" / "tool") == "../tool.js"
    (workspace / "node_modules" / "tool.js").write_text("changed")
    assert (root / "node_modules" / "tool.js").read_text() == "run"


def test_a_link_leads_to_the_projects_own(root: Path, workspace: Path) -> None:
    """Also if the target is a link itself, and below a directory that does not exist yet."""
    (root / "shared").mkdir()
    (root / "shared" / "venv").symlink_to("/usr")
    fill(root, workspace, link=("node_modules", "shared/venv"))
    assert os.readlink(workspace / "node_modules") == str(root / "node_modules")
    assert os.readlink(workspace / "shared" / "venv") == str(root / "shared" / "venv")


def test_what_is_there_is_never_replaced(root: Path, workspace: Path) -> None:
    """Files of the commit are kept; missing entries are added to an existing directory."""
    (workspace / ".env").write_text("committed")
    (workspace / "node_modules").mkdir()
    (workspace / "node_modules" / "tool.js").write_text("committed")
    plan = fill(root, workspace, copy=(".env", "node_modules"))
    assert [one.path for one in plan] == ["node_modules/.bin"]
    assert (workspace / ".env").read_text() == "committed"
    assert (workspace / "node_modules" / "tool.js").read_text() == "committed"
    assert fill(root, workspace, link=("node_modules",)) == []


def test_doing_it_again_does_nothing(root: Path, workspace: Path) -> None:
    """The placement can be repeated after a crash."""
    assert len(fill(root, workspace, copy=(".env",), link=("node_modules",))) == 2
    assert fill(root, workspace, copy=(".env",), link=("node_modules",)) == []


def test_what_is_named_twice_is_put_there_once(root: Path, workspace: Path) -> None:
    """As a whole, in part, or copied and linked; the first one counts."""
    names = ("node_modules", "./node_modules/", "node_modules/.bin", ".env", ".env")
    fill(root, workspace, copy=names, link=(".env", "node_modules"))
    assert (workspace / "node_modules" / ".bin" / "tool").is_symlink()
    assert not (workspace / ".env").is_symlink() and not (workspace / "node_modules").is_symlink()


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a/../../secret", "", ".", "~/x", "x\0y"])
def test_nothing_leaves_the_project(root: Path, workspace: Path, name: str) -> None:
    """Neither copied nor linked files may be outside the project."""
    (root.parent / "secret").write_text("secret")
    for plan in (plan_copies, plan_links):
        with pytest.raises(PathEscape):
            plan(root, workspace, (name,))


def test_a_link_in_the_project_is_not_followed(root: Path, workspace: Path) -> None:
    """A copy through a link could read any file."""
    (root / "out").symlink_to(root.parent)
    (root.parent / "secret").write_text("secret")
    for name in ("out/secret", "out"):
        with pytest.raises(PathEscape):
            plan_copies(root, workspace, (name,))
    with pytest.raises(PathEscape):
        plan_links(root, workspace, ("out/secret",))


def test_a_committed_link_does_not_lead_out_of_the_workspace(root: Path, workspace: Path) -> None:
    """A commit may contain a link where a directory is expected."""
    (workspace / "config").symlink_to(root.parent)
    (root / "config").mkdir()
    (root / "config" / "local").write_text("x")
    for plan in (plan_copies, plan_links):
        with pytest.raises(PathEscape):
            plan(root, workspace, ("config/local",))
    assert plan_copies(root, workspace, ("config",)) == []
    assert not (root.parent / "local").exists()


def test_a_missing_source_is_reported(root: Path, workspace: Path) -> None:
    """It is named before any file is placed."""
    with pytest.raises(OstlerError) as refused:
        plan_copies(root, workspace, (".env", "missing"))
    assert refused.value.code is Code.INPUT_NOT_FOUND and "missing" in refused.value.message


def test_pipes_and_sockets_stay_where_they_are(root: Path, workspace: Path) -> None:
    """Copying them would block or have no effect."""
    os.mkfifo(root / "node_modules" / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(root / "node_modules")  # a socket's path must be short
        try:
            server.bind("socket")
        finally:
            os.chdir(here)
        fill(root, workspace, copy=("node_modules",))
    assert {path.name for path in (workspace / "node_modules").iterdir()} == {"tool.js", ".bin"}
