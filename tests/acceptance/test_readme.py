"""The documents are correct: their commands run, their examples work, their links have targets."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ostler.cli.app import GROUPS
from reader import LINK, ROOT, Reader, blocks, text_of
from world import World

RUNS_TASKS = pytest.mark.one_machine("the commands of the page run the tasks themselves")

DOCUMENTS = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")
LONGEST = {"README.md": 200, "ARCHITECTURE.md": 120, "CONTRIBUTING.md": 190, "CHANGELOG.md": 400}

# Blocks that are not run here, by their first line, with the reason.
EXEMPT = {
    "make demo    # install": "installs; CI types it, and test_first_hour runs the demo",
    "make check     # the inner loop": "would run this test inside itself",
    "make cluster-demo": "starts servers for a minute; cluster/test_demo.py runs it in make test-full",
    "export PATH=": "concerns the shell of the reader",
    "pipx install .": "installs from the network",
}


def is_exempt(block: re.Match[str]) -> bool:
    return any(block["body"].startswith(first) for first in EXEMPT)


@pytest.fixture
def reader(world: World) -> Reader:
    return Reader(world)


@RUNS_TASKS
def test_the_commands_of_the_readme_run_as_they_stand(reader: Reader) -> None:
    """Every block, in order, in one project, as a new user would type them."""
    ran = 0
    for block in blocks("README.md", "sh", "toml"):
        if block["file"]:
            reader.write(block)
        elif not is_exempt(block):
            reader.type(block["body"])
            ran += 1
    assert ran >= 4
    world = reader.world
    waiting = [task["title"] for task in world.json("status")["tasks"] if task["status"] != "completed"]
    assert waiting == ["Explain the build"], (
        "the README runs all of its tasks but the last that it writes down"
    )
    assert "Write this down" in world.ostler("diff", "write-this").stdout
    assert world.git("status", "--porcelain").split() == ["??", "ostler.toml"]


@RUNS_TASKS
def test_the_library_example_of_the_readme_runs(reader: Reader) -> None:
    """It is a whole program, and prints how the task ended."""
    (example,) = blocks("README.md", "python")
    done = subprocess.run(
        [sys.executable, "-c", example["body"]],
        cwd=reader.world.root,
        env=reader.world.environ,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("completed\n", 0), done.stderr


@RUNS_TASKS
@pytest.mark.full
def test_an_executor_is_added_in_the_five_steps(reader: Reader) -> None:
    """The package of CONTRIBUTING.md, written as described, conforms and runs a task."""
    world = reader.world
    package = world.root.parent / "package"
    package.mkdir()
    for block in blocks("CONTRIBUTING.md", "sh", "python", "toml"):
        if block["file"]:
            (package / block["file"]).write_text(block["body"])
    (package / "parrot").chmod(0o755)
    install(package)
    world.environ["PATH"] = f"{package}:{world.environ['PATH']}"
    world.environ["PYTHONPATH"] = f"{package}{os.pathsep}{world.environ['PYTHONPATH']}"
    reader.type(
        f'"{sys.executable}" -m pytest -q -p no:cacheprovider -c /dev/null "{package}/test_parrot.py"'
    )
    for block in blocks("CONTRIBUTING.md", "sh"):
        if not block["file"] and not is_exempt(block):
            reader.type(block["body"])
    (task,) = world.json("status")["tasks"]
    assert task["status"] == "completed"
    assert "parrot.txt" in world.ostler("diff", task["id"]).stdout


def install(package: Path) -> None:
    """Write what pip would write for the entry point, without the network."""
    reported = (package / "pyproject.toml").read_text("utf-8")
    (entry,) = re.findall(r'^parrot = "(.*)"$', reported, re.MULTILINE)
    assert '[project.entry-points."ostler.executors"]' in reported
    facts = package / "ostler_parrot-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: ostler-parrot\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(f"[ostler.executors]\nparrot = {entry}\n")


def test_the_command_table_is_the_list_of_commands() -> None:
    """It has every command, and no others."""
    rows = re.findall(r"^\| ([A-Z][A-Za-z ]+) \| (`.*) \|$", text_of("README.md"), re.MULTILINE)
    listed = {title: re.findall(r"`([a-z]+)`", names) for title, names in rows}
    assert listed == {title: list(group) for title, group in GROUPS.items()}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_to_files_that_exist(document: str) -> None:
    """Every relative link, pictures and proofs included."""
    local = [link for link in LINK.findall(text_of(document)) if "://" not in link]
    assert [link for link in local if not (ROOT / link).exists()] == []


@pytest.mark.parametrize(("document", "lines"), LONGEST.items())
def test_documents_stay_short(document: str, lines: int) -> None:
    """ARCHITECTURE.md is one page; the others have a limit."""
    assert text_of(document).count("\n") <= lines


def test_every_exemption_is_still_needed() -> None:
    """A removed block needs no exemption."""
    shell = "".join(block["body"] for document in DOCUMENTS for block in blocks(document, "sh"))
    assert [first for first in EXEMPT if first not in shell] == []


def test_pictures_are_self_contained() -> None:
    """They load nothing from elsewhere, and contain no directories of a user."""
    for picture in (ROOT / "docs" / "pictures").glob("*.svg"):
        shown = picture.read_text("utf-8")
        assert "url(http" not in shown and "@import" not in shown, picture.name
        assert "/tmp/" not in shown and "/home/" not in shown, picture.name
