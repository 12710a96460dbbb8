"""Shell completion, as requested by a real shell."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from world import World

ASK = """
eval "$(ostler completion bash)"
complete -p ostler >&2
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
_ostler_completion ostler
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "ostler"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m ostler "$@"\n')
    program.chmod(0o755)
    made.environ["PATH"] = f"{tmp_path / 'bin'}{os.pathsep}{made.environ['PATH']}"
    yield made
    made.close()


def complete(world: World, *words: str) -> list[str]:
    """Return what bash would offer for the last of these words."""
    done = subprocess.run(
        ["bash", "--norc", "-c", ASK, "bash", "ostler", *words],
        cwd=world.root,
        env=world.environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "_ostler_completion ostler" in done.stderr
    return done.stdout.split()


def ask(world: World, shell: str, line: str) -> str:
    """Return the program's answer to the script of a shell that may not be installed."""
    last = line.rsplit(maxsplit=1)[-1] if shell == "fish" else str(len(line.split()) - 1)
    words = {"COMP_WORDS": line, "COMP_CWORD": last}
    return world.ostler(**words, _OSTLER_COMPLETE=f"{shell}_complete").stdout


@pytest.mark.full
def test_bash_completes_commands_options_and_ids(world: World) -> None:
    """An id from its first letters, of each task where several may be named."""
    first, second = world.new("Mend the gate"), world.new("Mend the fence")
    world.new("Paint it")
    assert complete(world, "stat") == ["status"]
    assert complete(world, "run", "--execu") == ["--executor"]
    assert complete(world, "show", "mend") == sorted([first, second])
    assert complete(world, "pause", first, "mend-the-f") == [second]


def test_other_shells_get_a_description_of_each_task(world: World) -> None:
    """Its status and title are next to the id, on one line, for any content."""
    task = world.new("Mend \x1b[31mthe: gate")
    assert ask(world, "zsh", "ostler show mend") == f"plain\n{task}\npending: Mend \\x1b[31mthe: gate\n"
    assert ask(world, "fish", "ostler stat").startswith("plain,status\tList all tasks")


def test_outside_a_project_nothing_is_offered_and_nothing_reported(world: World) -> None:
    """An error must not appear in the middle of a typed line."""
    world.root = world.root.parent
    done = world.ostler(COMP_WORDS="ostler show x", COMP_CWORD="2", _OSTLER_COMPLETE="bash_complete")
    assert (done.stdout.strip(), done.stderr) == ("", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(world: World, shell: str) -> None:
    """The script calls the program with the variable."""
    assert f"_OSTLER_COMPLETE={shell}_complete" in world.ostler("completion", shell).stdout
