"""The next run of the user gets the answers of the last one: no tool and no index is asked."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from index_world import IndexServer, Project, json_page
from nemesis import needs_root
from ostler.process.tool import ToolResult, run_tool
from ostler.sandbox.network.indexes import find, learn, tools
from ostler.sandbox.network.indexes.found import Indexes
from ostler.sandbox.network.indexes.kept import SECONDS
from ostler.sandbox.network.indexes.learn import RETRY_SECONDS


class Runs:
    """Each call is that of a new process; the tools and the index that it asked are kept."""

    def __init__(self, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        self.project, self.asked = project, list[str]()
        self.kept = project.home / ".cache" / "ostler" / "package-indexes"

        def run(argv: list[str], **options: object) -> ToolResult:
            self.asked.append(Path(argv[0]).name)
            return run_tool(argv, **options)  # type: ignore[arg-type]

        monkeypatch.setattr(tools, "run_tool", run)

    def find(self, *, ask_again: bool = False) -> Indexes:
        find._answers.clear()
        learn._known.clear()
        self.asked.clear()
        self.project.server.asked.clear()
        found = find.find_indexes(
            self.project.environ, self.project.checkout, learn_seconds=5.0, ask_again=ask_again
        )
        self.asked += self.project.server.asked
        return found

    def damage(self, old: bytes, new: bytes) -> None:
        for path in self.kept.iterdir():
            path.write_bytes(path.read_bytes().replace(old, new))

    def replace(self, create: Callable[[Path], object]) -> None:
        """Put something else at the name of each file, which has the suffix .old then."""
        for path in list(self.kept.iterdir()):
            path.rename(path.with_suffix(".old"))
            create(path)

    def make_older(self, seconds: float) -> None:
        for path in self.kept.iterdir():
            file = json.loads(path.read_text())
            path.write_text(json.dumps(file | {"asked_at": time.time() - seconds}))


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runs]:
    with IndexServer() as server:
        project = Project(tmp_path, server)
        project.program("npm", 'echo "{}"')
        project.program("pyenv", "exit 0")
        project.write("home/.npmrc", "registry=http://npm.example/\n")
        versions = {"1": {"dist": {"tarball": "https://files.example/w.tgz"}}}
        server.pages["http://npm.example/wrappy"] = json_page({"versions": versions})
        yield Runs(project, monkeypatch)


def test_the_next_run_asks_nothing(runs: Runs) -> None:
    first = runs.find()
    assert "npm" in runs.asked and "GET http://npm.example/wrappy" in runs.asked
    assert runs.find() == first and runs.asked == []
    assert [path.stat().st_mode & 0o077 for path in runs.kept.iterdir()] == [0] * 2


CHANGES: dict[str, Callable[[Runs], object]] = {
    "settings": lambda runs: runs.project.write("home/.npmrc", "registry=http://other.example/\n"),
    "settings above the project": lambda runs: runs.project.write(".npmrc", "fund=false\n"),
    "program": lambda runs: runs.project.program("npm", "exit 3"),
    "variable": lambda runs: runs.project.environ.update(NPM_CONFIG_REGISTRY="http://c.example/"),
    "version of Python": lambda runs: runs.project.write("home/.pyenv/version", "3.13\n"),
    "an hour": lambda runs: runs.make_older(SECONDS),
    "a clock that was set back": lambda runs: runs.make_older(-60.0),
    "a damaged file": lambda runs: [path.write_text("{") for path in runs.kept.iterdir()],
    "a file that is not UTF-8": lambda runs: runs.damage(b"//npm.example", b"//\xff.example"),
    "a file that is nested too deeply": lambda runs: [
        path.write_text(f'{{"form": 1, "asked_at": {time.time()}, "answer": {"[" * 100_000}')
        for path in runs.kept.iterdir()
    ],
    "a pipe": lambda runs: runs.replace(os.mkfifo),
    "a link": lambda runs: runs.replace(lambda path: path.symlink_to(path.with_suffix(".old"))),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_has_changed_is_asked_again(runs: Runs, name: str) -> None:
    runs.find()
    CHANGES[name](runs)
    runs.find()
    assert "npm" in runs.asked


def test_a_failure_is_asked_again_soon(runs: Runs) -> None:
    runs.project.program("npm", "exit 3")
    runs.find()
    runs.find()
    assert runs.asked == []
    runs.make_older(RETRY_SECONDS)
    runs.find()
    assert "npm" in runs.asked


def test_doctor_asks_again(runs: Runs) -> None:
    runs.find()
    runs.find(ask_again=True)
    assert "npm" in runs.asked and "GET http://npm.example/wrappy" in runs.asked


@pytest.mark.parametrize("place", ["settings", "variable"])
def test_no_secret_is_kept(runs: Runs, place: str) -> None:
    url = "http://me:pw7@npm.example/"
    if place == "settings":
        runs.project.write("home/.npmrc", f"registry={url}\n")
    else:
        runs.project.environ["NPM_CONFIG_REGISTRY"] = url
    runs.find()
    texts = [path.read_text() for path in runs.kept.iterdir()] if runs.kept.exists() else []
    assert not any("pw7" in text or "watched" in text for text in texts)
    runs.find()
    assert "npm" in runs.asked


@needs_root
def test_a_file_of_another_user_is_not_used(runs: Runs) -> None:
    """XDG_CACHE_HOME can name a directory that others write to: such an answer would open any host."""
    runs.find()
    for path in runs.kept.iterdir():
        os.chown(path, 12345, 12345)
    runs.find()
    assert "npm" in runs.asked and "GET http://npm.example/wrappy" in runs.asked


def test_what_is_not_utf8_is_asked_each_time(runs: Runs) -> None:
    """A directory of PATH or the project can have any name; JSON has none for it."""
    odd = os.fsdecode(b"\xff")
    runs.project.environ["PATH"] += f":/{odd}"
    found = runs.find()
    assert "npm" in runs.asked and "npm.example" in found.hosts
    runs.find()
    assert "npm" in runs.asked


def test_old_files_are_deleted(runs: Runs) -> None:

    runs.find()
    old = runs.kept / "old.json"
    old.write_text("{}")
    os.utime(old, (0, 0))
    runs.find(ask_again=True)
    assert not old.exists()
