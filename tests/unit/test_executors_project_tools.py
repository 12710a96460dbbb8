"""Three tools that read: what they give, what they refuse, and how little a hostile caller gets."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path

import msgspec
import pytest

from ostler.executors.project_files import Project
from ostler.executors.project_tools import MOST_AT_ONCE, MOST_CHARACTERS, TOOLS, use_tools
from ostler.llm.client import ToolResult, ToolUse


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small project, and a secret beside it."""
    project = tmp_path / "project"
    for path, text in {
        "README.md": "# Kites\nThey fly.\n",
        "docs/one.md": "one\nA KITE\n",
        "docs/deep/two.md": "two\n",
        ".git/config": "token",
        ".ostler/ostler.db": "journal",
        ".env": "KEY=1",
        "node_modules/x/index.js": "kite",
        "../secret.txt": "kite secret",
    }.items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(text)
    (project / "binary.dat").write_bytes(b"kite\0kite")
    (project / "out.md").symlink_to("../secret.txt")
    (project / "outside").symlink_to("..")
    (project / "inner.md").symlink_to("docs/one.md")
    (project / "keys.md").symlink_to(".env")
    os.mkfifo(project / "pipe.md")
    return project


def ask(root: Path, name: str, arguments: str | dict[str, object]) -> ToolResult:
    written = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
    (result,) = asyncio.run(use_tools(root, [ToolUse("u-1", name, written)]))
    assert result.id == "u-1"
    return result


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("list_files", {}, "README.md\nbinary.dat\ndocs/one.md\ndocs/deep/two.md"),
        ("list_files", {"path": "./docs/"}, "docs/one.md\ndocs/deep/two.md"),
        ("list_files", {"path": "docs/one.md"}, "docs/one.md"),
        ("read_file", {"path": "README.md"}, "# Kites\nThey fly.\n"),
        ("read_file", {"path": "README.md", "from_line": 2}, "They fly.\n"),
        ("read_file", {"path": "README.md", "from_line": 9}, "(nothing)"),
        ("read_file", {"path": "inner.md"}, "one\nA KITE\n"),
        ("search_text", {"query": "kite"}, "README.md:1: # Kites\ndocs/one.md:2: A KITE"),
        ("search_text", {"query": "kite", "path": "docs"}, "docs/one.md:2: A KITE"),
        ("search_text", {"query": "[a-z]+"}, "(nothing)"),
    ],
)
def test_it_gives_what_is_there(root: Path, name: str, arguments: str | dict[str, object], text: str) -> None:
    """Paths from the root, in order; links, pipes, what is hidden and what is built are passed over."""
    assert ask(root, name, arguments) == ToolResult("u-1", text)


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("read_file", {"path": "../secret.txt"}, "not a path below its root"),
        ("read_file", {"path": "/etc/passwd"}, "not a path below its root"),
        ("read_file", {"path": "~/x"}, "not a path below its root"),
        ("read_file", {"path": "out.md"}, "out.md"),
        ("read_file", {"path": "outside/secret.txt"}, "outside/secret.txt"),
        ("read_file", {"path": "pipe.md"}, "plain file"),
        ("read_file", {"path": "docs"}, "plain file"),
        ("read_file", {"path": "binary.dat"}, "not a text file"),
        ("read_file", {"path": "nowhere.md"}, "no such file"),
        ("read_file", {"path": "a\0b"}, "not a path below its root"),
        ("read_file", {"path": ".git/config"}, "not shown"),
        ("read_file", {"path": "docs/../.env"}, "not a path below its root"),
        ("read_file", {"path": ".ENV.local"}, "not shown"),
        ("read_file", {"path": "keys.md"}, "not shown"),
        ("list_files", {"path": ".ostler"}, "not shown"),
        ("list_files", {"path": "/"}, "not a path below its root"),
        ("list_files", {"path": "outside"}, "crosses a symbolic link"),
        ("list_files", {"path": "nowhere"}, "cannot be read"),
        ("search_text", {"query": "kite", "path": ".."}, "not a path below its root"),
        ("search_text", {"query": ""}, "no arguments for search_text"),
        ("search_text", {}, "no arguments for search_text"),
        ("read_file", {"path": "README.md", "from_line": 0}, "no arguments for read_file"),
        ("read_file", {"file": "README.md"}, "no arguments for read_file"),
        ("read_file", '{"path": "READ', "no arguments for read_file"),
        ("read_file", "[" * 100_000, "no arguments for read_file"),
        ("read_file", '["README.md"]', "no arguments for read_file"),
        ("read_file", '{"path": "\udcff"}', "no"),
        ("rm", {"path": "README.md"}, "there is no tool 'rm', but list_files, read_file, search_text"),
        ("", {}, "there is no tool"),
    ],
)
def test_a_refusal_is_a_result(root: Path, name: str, arguments: str | dict[str, object], words: str) -> None:
    """Nothing outside is seen, nothing is raised, and the model is told in a sentence."""
    result = ask(root, name, arguments)
    assert result.is_error
    assert words in result.text.lower() or words in result.text
    assert "secret\n" not in result.text and "KEY" not in result.text


def test_a_long_file_comes_in_parts(root: Path) -> None:
    """Each part says where the next one begins, and all together they are the file."""
    whole = "".join(f"line {number}\n" for number in range(10_000))
    (root / "long.txt").write_text(whole)
    read, line = "", 1
    while line:
        text = ask(root, "read_file", {"path": "long.txt", "from_line": line}).text
        assert len(text) <= MOST_CHARACTERS
        kept, _, more = text.partition("(cut: go on with from_line ")
        read, line = read + kept, int(more.split()[0]) if more else 0
    assert read == whole


@pytest.mark.parametrize("name", ["read_file", "search_text", "list_files"])
def test_no_result_is_longer_than_it_may_be(root: Path, name: str) -> None:
    """One endless line, thousands of hits, thousands of files: all are cut, and say so."""
    (root / "line.txt").write_text("kite" * 20_000)
    for number in range(1200):
        (root / "docs" / f"{number:04}-{'k' * 60}.md").write_text("a kite\n")
    arguments = {"read_file": {"path": "line.txt"}, "search_text": {"query": "kite"}, "list_files": {}}
    result = ask(root, name, arguments[name])
    assert not result.is_error
    assert len(result.text) <= MOST_CHARACTERS + 100
    assert "(cut: " in result.text or "(there are more" in result.text


def test_a_tree_without_end_comes_to_one(root: Path) -> None:
    """Neither depth nor breadth uses up descriptors, the stack or the afternoon."""
    deep = root / "/".join(["d"] * 600)
    deep.mkdir(parents=True)
    (deep / "far.md").write_text("osprey")
    (root / "d/near.md").write_text("osprey")
    assert ask(root, "search_text", {"query": "osprey"}).text == "d/near.md:1: osprey"
    assert ask(root, "read_file", {"path": f"{'d/' * 600}far.md"}).text == "osprey"


def test_a_file_that_is_too_large_is_not_read(root: Path) -> None:
    """Neither by its name nor by a search."""
    with (root / "huge.txt").open("wb") as file:
        file.write(b"osprey\n")
        file.truncate(5 << 20)
    assert "larger than" in ask(root, "read_file", {"path": "huge.txt"}).text
    assert ask(root, "search_text", {"query": "osprey"}).text == "(nothing)"


def test_a_name_that_is_no_text_harms_nobody(root: Path) -> None:
    """It can be listed, and the answer can be sent."""
    Path(os.fsdecode(os.fsencode(root) + b"/\xff.md")).write_text("x")
    msgspec.json.encode(ask(root, "list_files", {}))


def test_calls_of_one_turn_are_answered_in_their_order(root: Path) -> None:
    """Side by side; a failure stops no other, and too many at once are told to wait."""
    uses = [
        ToolUse(str(number), "read_file" if number % 2 else "nothing", '{"path":"README.md"}')
        for number in range(MOST_AT_ONCE + 3)
    ]
    results = asyncio.run(use_tools(root, uses))
    assert [result.id for result in results] == [use.id for use in uses]
    assert [result.is_error for result in results[:MOST_AT_ONCE]] == [True, False] * (MOST_AT_ONCE // 2)
    assert all("ask again" in result.text for result in results[MOST_AT_ONCE:])


def test_nobody_waits_for_a_cancelled_search(root: Path) -> None:
    """The thread sees that it is unwanted, and ends at the next file."""
    project = Project(root, threading.Event())
    files = project.files()
    assert next(files) == "README.md"
    project.unwanted.set()
    assert list(files) == []


def test_a_tool_is_described_by_an_object_schema() -> None:
    """Both APIs want `type: object` at the top, and no reference in it."""
    assert [tool.name for tool in TOOLS] == ["list_files", "read_file", "search_text"]
    for tool in TOOLS:
        assert tool.parameters["type"] == "object"
        assert "$ref" not in str(tool.parameters)
        assert tool.description
