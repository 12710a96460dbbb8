"""Command gates of Python projects that are installed in editable mode from the user's checkout (T1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from editable_world import ADDED_TEST, PROGRAMS, SITE, EditableWorld, Kind, Layout
from examples import FULL
from ostler.config.settings import WorkspaceSettings

KINDS: list[tuple[Kind, Layout]] = [
    ("develop", "src"),
    ("path", "flat"),
    ("finder", "src"),
    ("first", "flat"),
    ("strict", "src"),
    ("symlink", "flat"),
]
OTHERS: list[tuple[Kind, Layout]] = [(kind, "flat" if layout == "src" else "src") for kind, layout in KINDS]
GATE = "pytest -q tests"


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("kind", "layout"), KINDS + (OTHERS if FULL else []))
def test_a_gate_judges_the_commit(tmp_path: Path, kind: Kind, layout: Layout) -> None:
    """A module that raises or is deleted fails the gate; one that is added passes with its test."""
    world = EditableWorld(tmp_path, kind, layout)
    plain = world.gate.command(GATE)
    assert plain.verdict == "pass", world.gate.output(plain)
    assert plain.check is not None and plain.check.isolation == "bind-over" and plain.check.links

    world.commit({f"{world.package}/sums.py": "raise RuntimeError('planted')\n"})
    raised = world.gate.command(GATE)
    assert raised.verdict == "fail" and "planted" in world.gate.output(raised)

    world.commit({f"{world.package}/spare.py": None})
    deleted = world.gate.command(GATE)
    assert deleted.verdict == "fail" and "shop.spare" in world.gate.output(deleted)

    world.commit({f"{world.package}/added.py": "TWO = 2\n", **ADDED_TEST})
    added = world.gate.command(GATE)
    assert added.verdict == "pass", world.gate.output(added)


COMMANDS = [
    "python -m pytest -q tests",
    "python -I -m pytest -q tests",
    "python -E -s -m pytest -q tests",
    "env -i .venv/bin/python -m pytest -q tests",
    'env -i "$VIRTUAL_ENV/bin/pytest" -q tests',
    "make test",
    "sh check.sh",
    "cd / && python -m pytest -q $OLDPWD/tests",
    "python -m venv --without-pip --system-site-packages t && t/bin/python -c 'import sys; sys.path.append(\""
    "{site}\"); import shop.sums' && pytest -q tests",
]


@pytest.mark.parametrize("kind", ["path", "finder"] if FULL else ["finder"])
def test_no_wrapper_evades_the_isolation(tmp_path: Path, kind: Kind) -> None:
    """Commands that ignore the environment, or change it, do not import the user's files either."""
    world = EditableWorld(tmp_path, kind, "src")
    world.commit({f"{world.package}/sums.py": "raise RuntimeError('planted')\n"})
    for command in COMMANDS if FULL else COMMANDS[::3]:
        event = world.gate.command(command.replace("{site}", str(world.site)))
        assert event.verdict == "fail" and "planted" in world.gate.output(event), command


@pytest.mark.full
def test_a_linked_environment_is_isolated(tmp_path: Path) -> None:
    """`link = [".venv"]` mounts it; what the command writes there does not reach the user."""
    world = EditableWorld(tmp_path, "path", "src")
    settings = world.gate.settings(WorkspaceSettings(link=(".venv",)))
    world.commit({f"{world.package}/sums.py": "raise RuntimeError('planted')\n"})
    event = world.gate.command("touch .venv/written; .venv/bin/pytest -q tests", settings)
    assert event.verdict == "fail" and "planted" in world.gate.output(event)
    assert not (world.environment / "written").exists()


@pytest.mark.full
def test_an_environment_outside_the_project_is_isolated(tmp_path: Path) -> None:
    """Its links lead to the checkout of the commit as well."""
    world = EditableWorld(tmp_path, "finder", "src", place=tmp_path / "elsewhere")
    assert world.gate.command(GATE).verdict == "pass"
    world.commit({f"{world.package}/sums.py": "raise RuntimeError('planted')\n"})
    assert world.gate.command(GATE).verdict == "fail"


@pytest.mark.full
def test_a_setup_uses_the_paths_of_the_gate(tmp_path: Path) -> None:
    """An environment that the setup creates in the checkout is used by the gate, and not the user's."""
    world = EditableWorld(tmp_path, "path", "src")
    setup = (
        "python -m venv --without-pip .venv && site=$(echo .venv/lib/python3*/site-packages) && "
        f"for one in {' '.join(PROGRAMS)}; do ln -s {SITE}/$one $site/; done && "
        "echo $PWD/src > $site/shop.pth"
    )
    settings = world.gate.settings(WorkspaceSettings(setup=setup))
    event = world.gate.command(".venv/bin/python -m pytest -q tests", settings)
    assert event.verdict == "pass", event.reason
    world.commit({f"{world.package}/sums.py": "raise RuntimeError('planted')\n"})
    assert world.gate.command(".venv/bin/python -m pytest -q tests", settings).verdict == "fail"
