"""The read-only tools: their results, their errors and their limits."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path

import msgspec
import pytest

from ostler.executors.model_api.project_tools import (
    MAX_CALLS_PER_TURN,
    MAX_RESULT_CHARACTERS,
    ProjectFiles,
    ToolBox,
)
from ostler.llm.client import ToolResult, ToolUse


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a small project with a secret beside it."""
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
    (result,) = asyncio.run(ToolBox(root).use([ToolUse("u-1", name, written)]))
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
    """Paths are relative and in order; links, pipes, hidden files and build directories are skipped."""
    assert ask(root, name, arguments) == ToolResult("u-1", text)


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("read_file", {"path": "../secret.txt"}, "not a path below its root"),
        ("read_file", {"path": "/etc/passwd"}, "not a path below its root"),
        ("read_file", {"path": "~/x"}, "not a path below its root"),
        ("read_file", {"path": "out.md"}, "out.md"),
        ("read_file", {"path": "outside/secret.txt"}, "outside/secret.txt"),
        ("read_file", {"path": "pipe.md"}, "regular file"),
        ("read_file", {"path": "docs"}, "regular file"),
        ("read_file", {"path": "binary.dat"}, "is a binary file"),
        ("read_file", {"path": "nowhere.md"}, "no such file"),
        ("read_file", {"path": "a\0b"}, "not a path below its root"),
        ("read_file", {"path": ".git/config"}, "hidden from models"),
        ("read_file", {"path": "docs/../.env"}, "not a path below its root"),
        ("read_file", {"path": ".ENV.local"}, "hidden from models"),
        ("read_file", {"path": "keys.md"}, "hidden from models"),
        ("list_files", {"path": ".ostler"}, "hidden from models"),
        ("list_files", {"path": "/"}, "not a path below its root"),
        ("list_files", {"path": "outside"}, "crosses a symbolic link"),
        ("list_files", {"path": "nowhere"}, "cannot be read"),
        ("search_text", {"query": "kite", "path": ".."}, "not a path below its root"),
        ("search_text", {"query": ""}, "invalid arguments for search_text"),
        ("search_text", {}, "invalid arguments for search_text"),
        ("read_file", {"path": "README.md", "from_line": 0}, "invalid arguments for read_file"),
        ("read_file", {"file": "README.md"}, "invalid arguments for read_file"),
        ("read_file", '{"path": "READ', "invalid arguments for read_file"),
        ("read_file", "[" * 100_000, "invalid arguments for read_file"),
        ("read_file", '["README.md"]', "invalid arguments for read_file"),
        ("read_file", '{"path": "\udcff"}', "no"),
        (
            "rm",
            {"path": "README.md"},
            "unknown tool 'rm': expected one of list_files, read_file, search_text",
        ),
        ("", {}, "unknown tool"),
    ],
)
def test_a_refusal_is_a_result(root: Path, name: str, arguments: str | dict[str, object], words: str) -> None:
    """No path outside the project is readable; an error is a result with one sentence."""
    result = ask(root, name, arguments)
    assert result.is_error
    assert words in result.text.lower() or words in result.text
    assert "secret\n" not in result.text and "KEY" not in result.text


def test_a_long_file_comes_in_parts(root: Path) -> None:
    """Each part names the start of the next one, and all parts together are the file."""
    whole = "".join(f"line {number}\n" for number in range(10_000))
    (root / "long.txt").write_text(whole)
    read, line = "", 1
    while line:
        text = ask(root, "read_file", {"path": "long.txt", "from_line": line}).text
        assert len(text) <= MAX_RESULT_CHARACTERS
        stored, _, more = text.partition("(cut: continue with from_line ")
        read, line = read + stored, int(more.split()[0]) if more else 0
    assert read == whole


@pytest.mark.parametrize("name", ["read_file", "search_text", "list_files"])
def test_no_result_is_longer_than_it_may_be(root: Path, name: str) -> None:
    """A long line, many hits and many files are cut, with a notice."""
    (root / "line.txt").write_text("kite" * 20_000)
    for number in range(1200):
        (root / "docs" / f"{number:04}-{'k' * 60}.md").write_text("a kite\n")
    arguments = {"read_file": {"path": "line.txt"}, "search_text": {"query": "kite"}, "list_files": {}}
    result = ask(root, name, arguments[name])
    assert not result.is_error
    assert len(result.text) <= MAX_RESULT_CHARACTERS + 100
    assert "(cut: " in result.text or "(there are more" in result.text


def test_a_tree_without_end_comes_to_one(root: Path) -> None:
    """A deep or wide tree does not exhaust descriptors, the stack or the time."""
    deep = root / "/".join(["d"] * 600)
    deep.mkdir(parents=True)
    (deep / "far.md").write_text("osprey")
    (root / "d/near.md").write_text("osprey")
    assert ask(root, "search_text", {"query": "osprey"}).text == "d/near.md:1: osprey"
    assert ask(root, "read_file", {"path": f"{'d/' * 600}far.md"}).text == "osprey"


def test_a_file_that_is_too_large_is_not_read(root: Path) -> None:
    """A large file is neither read nor searched."""
    with (root / "huge.txt").open("wb") as file:
        file.write(b"osprey\n")
        file.truncate(5 << 20)
    assert "larger than" in ask(root, "read_file", {"path": "huge.txt"}).text
    assert ask(root, "search_text", {"query": "osprey"}).text == "(nothing)"


def test_a_name_that_is_no_text_is_listed(root: Path) -> None:
    """A name that is not UTF-8 is listed, and the result can be sent."""
    Path(os.fsdecode(os.fsencode(root) + b"/\xff.md")).write_text("x")
    msgspec.json.encode(ask(root, "list_files", {}))


def test_calls_of_one_turn_are_answered_in_their_order(root: Path) -> None:
    """Calls run in parallel; a failure does not affect the others, and the number is limited."""
    uses = [
        ToolUse(str(number), "read_file" if number % 2 else "nothing", '{"path":"README.md"}')
        for number in range(MAX_CALLS_PER_TURN + 3)
    ]
    results = asyncio.run(ToolBox(root).use(uses))
    assert [result.id for result in results] == [use.id for use in uses]
    assert [result.is_error for result in results[:MAX_CALLS_PER_TURN]] == [True, False] * (
        MAX_CALLS_PER_TURN // 2
    )
    assert all("call again" in result.text for result in results[MAX_CALLS_PER_TURN:])


def test_cancelled_search_ends(root: Path) -> None:
    """A cancelled thread ends at the next file."""
    project = ProjectFiles(root, threading.Event())
    files = project.list_files()
    assert next(files) == "README.md"
    project.cancelled.set()
    assert list(files) == []


def test_a_tool_is_described_by_an_object_schema() -> None:
    """Both APIs need `type: object` at the top, and no references."""
    assert [tool.name for tool in ToolBox(root).tools] == ["list_files", "read_file", "search_text"]
    for tool in ToolBox(root).tools:
        assert tool.parameters["type"] == "object"
        assert "$ref" not in str(tool.parameters)
        assert tool.description


def ask_skill(root: Path, path: str, **more: object) -> ToolResult:
    written = msgspec.json.encode({"path": path, **more}).decode()
    (result,) = asyncio.run(ToolBox(skill=root).use([ToolUse("u-1", "read_skill_file", written)]))
    return result


@pytest.mark.parametrize(
    ("path", "text", "is_error"),
    [
        ("docs/one.md", "one\nA KITE\n", False),
        ("./docs//deep/two.md", "two\n", False),
        ("docs", "docs/one.md\ndocs/deep/two.md", False),
        (".", "README.md\nbinary.dat\ndocs/one.md\ndocs/deep/two.md", False),
        ("binary.dat", "binary.dat is a binary file: it cannot be read as text", True),
        ("../secret.txt", "'../secret.txt' is not a path below its root", True),
        ("out.md", "'out.md' crosses a symbolic link", True),
        ("outside/secret.txt", "'outside/secret.txt' crosses a symbolic link", True),
        ("pipe.md", "'pipe.md' is a device, socket or pipe", True),
    ],
)
def test_a_skill_is_read_within_its_directory(root: Path, path: str, text: str, is_error: bool) -> None:
    """A text file is returned, a directory is listed, and everything else is refused with a sentence."""
    assert ask_skill(root, path) == ToolResult("u-1", text, is_error)


def test_a_missing_file_of_a_skill_is_answered_with_its_files(root: Path) -> None:
    """The model can correct a wrong path."""
    result = ask_skill(root, "references/gone.md")
    assert result.is_error and "'references/gone.md' does not exist in this skill" in result.text
    assert "docs/one.md" in result.text


def test_a_long_file_of_a_skill_comes_in_parts(root: Path) -> None:
    """A result is bounded, and names the line to continue with."""
    (root / "long.md").write_text("x" * 99 + "\n" + ("y" * 99 + "\n") * 999)
    first = ask_skill(root, "long.md")
    assert len(first.text) <= MAX_RESULT_CHARACTERS and "continue with from_line" in first.text
    assert ask_skill(root, "long.md", from_line=1000).text == "y" * 99 + "\n"


def test_the_tool_of_a_skill_gives_no_access_to_the_project(root: Path, tmp_path: Path) -> None:
    """Only tools that were offered can be used."""
    (tmp_path / "skill").mkdir()
    box = ToolBox(skill=tmp_path / "skill")
    (result,) = asyncio.run(box.use([ToolUse("u-1", "read_file", '{"path": "README.md"}')]))
    assert (result.is_error, [tool.name for tool in box.tools]) == (True, ["read_skill_file"])
    assert result.text == "unknown tool 'read_file': expected one of read_skill_file"
