"""Refused access to files, found in the output of tools."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec import Raw
from msgspec.structs import replace

from ostler.calls.sandbox.file_refusals import FileRefusals, Sight, find_refusals
from ostler.model.call import AccessRefused, ToolReturned, ToolUsed
from ostler.sandbox.mounts import Mount


class Places:
    """A user's home directory with a project, its worktree, another project and logins."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.worktree = self.home / "app/.ostler/worktrees/t1"
        for name in ("app/.git/ostler/ostler.db", "other/main.py", ".ssh/id_rsa", "with space/a b.txt"):
            (self.home / name).parent.mkdir(parents=True, exist_ok=True)
            (self.home / name).write_text("x")
        (self.worktree / ".vscode").mkdir(parents=True)
        (self.worktree / "a.py").write_text("x")
        project = self.home / "app"
        self.sight = Sight(
            self.worktree,
            self.home,
            (
                Mount(root / "private-home", self.home, writable=True),
                Mount(self.worktree, project, writable=True),
                Mount(self.worktree, self.worktree, writable=True),
            ),
            (self.worktree / ".vscode", project / ".vscode"),
            (project / ".git/ostler", project / ".ostler"),
        )

    def find(self, text: str, **arguments: str) -> list[tuple[str, str]]:
        texts = tuple(arguments.values())
        return [(one.target, one.setting) for one in find_refusals(text, self.sight, texts)]


@pytest.fixture
def user(tmp_path: Path) -> Places:
    return Places(tmp_path)


OTHER = ("~/other/main.py", 'sandbox.allow_paths = ["~/other/main.py"]')


@pytest.mark.parametrize(
    "line",
    [
        "cat: {other}: No such file or directory",
        "ls: cannot access '{other}': No such file or directory",
        "ls: cannot open directory '{other}': Permission denied",
        "/bin/sh: 1: cannot open {other}: No such file",
        "bash: line 1: {other}: No such file or directory",
        "FileNotFoundError: [Errno 2] No such file or directory: '{other}'",
        "Error: ENOENT: no such file or directory, open '{other}'",
        "EACCES: permission denied, scandir '{other}'",
        "open {other}: no such file or directory",
        "File not found: {other}",
        "cat: {other}: Not a directory",
        "Path does not exist: {other}.",
        "cat: ~/other/main.py: No such file or directory",
        "cat: ../../../../other/main.py: No such file or directory",
        "error: could not read `{other}`: No such file or directory (os error 2)",
    ],
)
def test_texts_of_programs(user: Places, line: str) -> None:
    text = f"before\n{line.format(other=user.home / 'other/main.py')}\nafter ../../../../other\n"
    assert user.find(text) == [OTHER]


def test_paths_with_spaces(user: Places) -> None:
    path = user.home / "with space/a b.txt"
    expected = [("~/with space/a b.txt", 'sandbox.allow_paths = ["~/with space/a b.txt"]')]
    assert user.find(f"No such file or directory: '{path}'") == expected


def test_the_path_of_a_tool_that_does_not_repeat_it(user: Places) -> None:
    found = user.find(
        "<tool_use_error>File does not exist.</tool_use_error>", file_path=str(user.home / "other/main.py")
    )
    assert found == [OTHER]


def test_what_is_no_refusal(user: Places) -> None:
    """A file that does not exist outside either, one that is visible, and a text without an error."""
    assert user.find(f"cat: {user.home}/nothing: No such file or directory") == []
    assert user.find(f"cat: {user.worktree}/a.py: No such file or directory") == []
    assert user.find("cat: /usr/bin/env: Permission denied") == []
    assert user.find(f"read {user.home}/other/main.py") == []
    assert user.find("cat: a.py: No such file or directory") == []
    assert user.find("command not found: /") == []
    assert user.find("cat: /nowhere/x: No such file", command=f"cat {user.home}/other/main.py") == []
    assert user.find('"skipDangerousModePermissionPrompt"', path=f"{user.home}/other/main.py") == []


def test_files_of_the_private_home_directory(user: Places, tmp_path: Path) -> None:
    """What was copied is no refusal; what was left out names sandbox.home; logins have no setting."""
    private = tmp_path / "private-home/.claude"
    for folder, names in ((private, ("a.json",)), (user.home / ".claude", ("a.json", "b.json", "CLAUDE.md"))):
        folder.mkdir(parents=True)
        for name in names:
            (folder / name).write_text("x")
    sight = replace(user.sight, private_home=private.parent, left_out=("b.json#hooks", ".claude/CLAUDE.md"))
    text = "\n".join(f"cat: ~/.claude/{name}: not found" for name in ("a.json", "b.json", "CLAUDE.md"))
    found = [(one.target, one.setting) for one in find_refusals(text, sight)]
    assert found == [
        ("~/.claude/b.json", ""),
        ("~/.claude/CLAUDE.md", 'sandbox.home = [".claude/CLAUDE.md"]'),
    ]


@pytest.mark.parametrize("name", [".ssh/id_rsa", "app/.git/ostler/ostler.db"])
def test_no_setting_for_logins_and_records(user: Places, name: str) -> None:
    """They are reported, but nothing suggests to open them."""
    assert user.find(f"cat: {user.home}/{name}: No such file or directory") == [(f"~/{name}", "")]


@pytest.mark.parametrize(
    "line",
    [
        "sh: 1: cannot create .vscode/settings.json: Read-only file system",
        "/bin/bash: line 1: .vscode/settings.json: Read-only file system",
        "touch: cannot touch '.vscode/settings.json': Read-only file system",
        "OSError: [Errno 30] Read-only file system: '.vscode/settings.json'",
        "EROFS: read-only file system, open '{worktree}/.vscode/settings.json'",
    ],
)
def test_pinned_configuration_names_its_setting(user: Places, line: str) -> None:
    """Also as a relative path."""
    (found,) = user.find(line.format(worktree=user.worktree))
    assert found == (".vscode/settings.json", 'sandbox.writable_config = [".vscode"]')


def test_other_read_only_files_have_no_setting(user: Places) -> None:
    assert user.find("touch: cannot touch '/usr/x': Read-only file system") == [("/usr/x", "")]


def test_each_path_once_and_at_most_twenty(user: Places) -> None:
    """An attempt that walks through the home directory does not fill the journal."""
    refusals = FileRefusals(user.sight)
    for number in range(30):
        (user.home / f"other/{number}").write_text("x")
    found: list[AccessRefused] = []
    for number in (*range(30), *range(30)):
        path = str(user.home / f"other/{number}")
        found += refusals.read(ToolUsed("Read", id="1", input=Raw(json.dumps({"file_path": path}).encode())))
        found += refusals.read(ToolReturned("1", "File does not exist.", failed=True))
    assert len({one.target for one in found}) == len(found) == 20


def test_broken_input_is_ignored(user: Places) -> None:
    refusals = FileRefusals(user.sight)
    assert not [*refusals.read(ToolUsed("x", id="1", input=Raw(b"[")))]
    assert not [*refusals.read(ToolReturned("1", "\0No such file: '\0/x'" + "/" * 5000))]
