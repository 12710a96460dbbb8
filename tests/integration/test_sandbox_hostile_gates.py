"""Code of a commit that attacks Ostler through the checkout of its gate."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from gate_world import GateWorld
from ostler.config.settings import Settings, WorkspaceSettings
from ostler.engine.steps.gates.reports import read_results
from ostler.sandbox.bubblewrap import find_bubblewrap

pytestmark = pytest.mark.skipif(not find_bubblewrap(os.environ), reason="bubblewrap is not installed")


@pytest.fixture
def world(tmp_path: Path) -> GateWorld:
    return GateWorld(tmp_path)


@pytest.fixture
def victim(world: GateWorld) -> Path:
    """A directory of the user, beside the project."""
    place = world.world.root / "victim"
    (place / "home").mkdir(parents=True)
    (place / "info").mkdir()
    (place / "home" / "secret").write_text("secret")
    (place / "profile").write_text("original\n")
    return place


def inside(world: GateWorld, setup: str = "") -> Settings:
    settings = world.settings(WorkspaceSettings(setup=setup), tier="bubblewrap")
    return replace(settings, sandbox=replace(settings.sandbox, network="off"))


def list_all(place: Path) -> dict[str, str]:
    return {
        str(one.relative_to(place)): one.read_text() if one.is_file() else ""
        for one in sorted(place.rglob("*"))
    }


# The setup runs code of the commit; $D is the directory around the checkout.
FIND = "D=$(ls -d {tmp}/ostler-gate-*); T=$D/{name};"
ATTACKS = {
    "home": "mv $D/sandbox $D/x; ln -s {victim} $D/sandbox",
    "tree": "mv $T $D/x; ln -s {victim} $T",
    "alternates": "ln -sf {victim}/profile $PWD/.git/objects/info/alternates",
    "info": "mv .git/info .git/x; ln -s {victim}/info .git/info; touch made",
    "git": "mv .git x; ln -s {victim} .git",
    "started": "rm -f $D/started/yes; mkdir -p $D/started/yes/x",
}


@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize("in_setup", [True, False])
def test_a_command_reaches_no_other_file(world: GateWorld, victim: Path, name: str, in_setup: bool) -> None:
    start = FIND.format(tmp=world.temporary, name=world.root.name)
    attack = start + ATTACKS[name].format(victim=victim)
    before, mode = list_all(victim), (victim / "home").stat().st_mode
    settings = inside(world, attack if in_setup else "")
    event = world.command(
        "cat ~/secret secret; touch ~/planted planted; true" if in_setup else attack, settings
    )
    output = world.output(event) if event.output and (world.home / event.output).exists() else ""
    assert list_all(victim) == before and (victim / "home").stat().st_mode == mode
    assert not output.startswith("secret")


def test_a_pipe_instead_of_a_report_is_no_report(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "report")
    assert read_results(tmp_path / "report", tmp_path / "log").outcomes == {}
