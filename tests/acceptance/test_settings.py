"""The settings through the program itself: shown, checked and refused."""

from __future__ import annotations

import pytest

from world import World

MODEL = '[[models]]\nname = "{name}"\nexecutor = "{executor}"\n'


def rows(world: World, *models: tuple[str, str]) -> None:
    text = "".join(MODEL.format(name=name, executor=executor) for name, executor in models)
    (world.root / "ostler.toml").write_text(text)


def test_a_list_of_models_is_shown_with_its_lines(world: World) -> None:
    """Each value of each model is a row that says where to change it; what is not set says so."""
    rows(world, ("fast", "claude"), ("spare", "codex"))
    shown = [line.split() for line in world.ostler("config", "show").stdout.splitlines()]
    assert ["models[1].name", '"spare"', "ostler.toml:5"] in shown
    assert ["models[1].fallback", "false", "default"] in shown
    assert ["models[1].timeout_seconds", "(unset)", "default"] in shown
    told = {entry["key"]: entry for entry in world.json("config", "show")["settings"]}
    assert told["models[0].executor"]["value"] == "claude"
    assert told["models[0].timeout_seconds"]["value"] is None


@pytest.mark.parametrize("command", [("config", "validate"), ("config", "edit")])
def test_a_model_of_an_unknown_executor_is_refused(world: World, command: tuple[str, ...]) -> None:
    """One line with the file and the line, and exit 2."""
    rows(world, ("fast", "claude"), ("typo", "claud"))
    done = world.ostler(*command, code=2, EDITOR="true", VISUAL="")
    line = 'ostler.toml:6: models[1].executor: unknown executor "claud"; did you mean claude?'
    assert line in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("command", [("config", "validate"), ("run", "-p", "x"), ("run", "--all")])
def test_two_models_of_one_name_are_refused_before_anything_runs(
    world: World, command: tuple[str, ...]
) -> None:
    """Names tell models apart in every report, so each is given once."""
    world.ostler("init")
    rows(world, ("fast", "claude"), ("fast", "codex"))
    done = world.ostler(*command, code=2)
    assert 'ostler.toml:5: models[1].name: "fast" is taken by models[0].name' in done.stderr
    assert not world.ledger.exists()


def test_settings_that_are_right_are_said_to_be_fine(world: World) -> None:
    """The file that init writes passes, and so does a list of models."""
    world.ostler("init")
    assert world.ostler("config", "validate").stdout == "The settings are valid.\n"
    rows(world, ("fast", "claude"), ("spare", "codex"))
    assert world.json("config", "validate") == {"schema": "ostler.validate/1", "ok": True}
