"""The read-only part of a sandbox."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.errors import AgentUnavailable
from ostler.sandbox.box.program_paths import require_visible
from ostler.sandbox.box.system import has_password, list_named_paths, select_outer
from ostler.sandbox.bubblewrap import find_bubblewrap
from ostler.sandbox.mounts import Mount


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[global]\ncert = /etc/ssl/certs/ca.crt\nindex-url = https://host.example/simple\n", False),
        ("[global]\nindex-url = https://user:word@host.example/simple\n", True),
        ("[global]\nindex-url = https://word@host.example/simple\n", True),
        ("registry=https://host.example/\n", False),
        ("//host.example/:_authToken=word\n", True),
        ("_auth=word\n", True),
        ('[http "https://host.example"]\n\textraHeader = Authorization: Basic word\n', True),
        ('[user]\n\temail = ada@example.org\n[url "git@host.example:"]\n\tinsteadOf = x\n', False),
        ('[[index]]\nurl = "https://host.example/"\n', False),
    ],
)
def test_files_with_passwords_are_found(tmp_path: Path, text: str, expected: bool) -> None:
    """A settings file of the machine with a password of a server is not visible in a sandbox."""
    (tmp_path / "file").write_text(text)
    assert has_password(tmp_path / "file") is expected
    assert has_password(tmp_path) is expected
    assert has_password(tmp_path / "missing") is True


def test_a_relative_program_is_not_looked_up_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of a program is not a file of the current directory, whose directory would be readable."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "claude").write_text("")
    assert tmp_path not in list_named_paths({}, ["claude"])
    assert tmp_path in list_named_paths({}, [str(tmp_path / "claude")])


def test_a_directory_of_the_project_is_not_taken_for_a_directory_of_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A project with a directory bin, and PATH with /bin: every path of the sandbox is absolute."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bin").mkdir()
    found = list_named_paths({"PATH": "/usr/bin:/bin"})
    assert Path("/bin") in found
    assert [path for path in found if not path.is_absolute()] == []


def test_a_program_that_the_worktree_hides_is_named(tmp_path: Path) -> None:
    """The worktree is mounted over the checkout: a program that git does not know is not there."""
    checkout, worktree = tmp_path / "project", tmp_path / "worktree"
    for folder in (checkout, worktree):
        folder.mkdir()
    for file in (checkout / "untracked", checkout / "tracked", worktree / "tracked", tmp_path / "other"):
        file.write_text("")
    mounts = (Mount(worktree, checkout, writable=True), Mount(worktree, worktree, writable=True))
    with pytest.raises(
        AgentUnavailable, match="project/untracked is not in the worktree of the task"
    ) as caught:
        require_visible(str(checkout / "untracked"), mounts)
    assert "[workspace] link" in caught.value.hint
    for program in (checkout / "tracked", tmp_path / "other", checkout / "missing", Path("untracked")):
        require_visible(str(program), mounts)


def test_bubblewrap_is_not_taken_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Relative directories of PATH are those of a task."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bwrap").write_text("#!/bin/sh\n")
    (tmp_path / "bwrap").chmod(0o755)
    assert find_bubblewrap({"PATH": f".::{tmp_path / 'empty'}"}) is None
    assert find_bubblewrap({"PATH": str(tmp_path)}) == str(tmp_path / "bwrap")


def test_no_directory_around_the_home_is_readable() -> None:
    """A directory of PATH that contains the home directory is left out."""
    paths = [Path(one) for one in ("/", "/home", "/home/me", "/home/me/bin", "/srv/tools", "/srv/tools/bin")]
    assert select_outer(paths, [Path("/home/me")]) == [Path("/srv/tools"), Path("/home/me/bin")]
