"""Roles: the six built-in ones, those of the project, and their executors."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ostler.config.load import load_settings
from ostler.errors import UsageError
from ostler.model.task import Task
from ostler.project.agents.model_choice import choose_executor
from ostler.prompt.role import AGENTS, find_agent, load_prompt

SIX = ["architect", "decomposer", "implementer", "planner", "researcher", "reviewer"]


def test_the_six_roles_have_prompts_of_their_own(tmp_path: Path) -> None:
    """Each prompt names its role and differs from the others."""
    assert sorted(AGENTS) == SIX
    prompts = {name: load_prompt(find_agent(name, tmp_path), tmp_path) for name in SIX}
    assert len(set(prompts.values())) == 6
    for name, prompt in prompts.items():
        assert prompt.startswith(f"You are the {name}:") and len(prompt) > 500


def test_the_projects_own_roles_have_precedence(tmp_path: Path) -> None:
    """.agents/roles/reviewer.md replaces the built-in one; a new file adds a role."""
    (tmp_path / ".agents" / "roles").mkdir(parents=True)
    (tmp_path / ".agents" / "roles" / "reviewer.md").write_text("Be kind.\n")
    (tmp_path / ".agents" / "roles" / "poet.md").write_text("Rhyme.\n")
    assert load_prompt(find_agent("reviewer", tmp_path), tmp_path) == "Be kind."
    assert load_prompt(find_agent("poet", tmp_path), tmp_path) == "Rhyme."


@pytest.mark.parametrize("name", ["poet", "reviewer"])
@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("directory", "is not a regular file"),
        ("pipe", "is not a regular file"),
        ("broken link", "is not a regular file"),
        ("empty", "the prompt of the role is empty"),
        ("binary", "not UTF-8 text"),
    ],
)
def test_a_file_that_is_no_prompt_is_one_sentence(tmp_path: Path, name: str, kind: str, message: str) -> None:
    """Neither the built-in prompt nor an empty one replaces it."""
    file = tmp_path / ".agents" / "roles" / f"{name}.md"
    file.parent.mkdir(parents=True)
    if kind == "directory":
        file.mkdir()
    elif kind == "pipe":
        os.mkfifo(file)
    elif kind == "broken link":
        file.symlink_to("/nowhere")
    else:
        file.write_bytes(b"" if kind == "empty" else b"\xff")
    with pytest.raises(UsageError, match=rf"^\.agents/roles/{name}\.md:? {message}$"):
        load_prompt(find_agent(name, tmp_path), tmp_path)


@pytest.mark.parametrize("name", ["poet", "", "../implementer", "implementer.md"])
def test_an_unknown_role_is_reported_with_the_list(tmp_path: Path, name: str) -> None:
    """C4: an error with the existing ones, never a silent default."""
    with pytest.raises(UsageError) as caught:
        find_agent(name, tmp_path)
    assert "implementer" in caught.value.hint


@pytest.mark.parametrize(
    ("task", "flags", "expected"),
    [
        (Task("t"), {}, "codex"),
        (Task("t", role="reviewer"), {}, "claude"),
        (Task("t", executor="mine"), {}, "mine"),
        (Task("t"), {"run.executor": "gemini"}, "gemini"),
        (Task("t", executor="mine"), {"run.executor": "gemini"}, "mine"),
    ],
)
def test_which_executor_plays_a_role(
    tmp_path: Path, task: Task, flags: dict[str, object], expected: str
) -> None:
    """The task's, then the flag's, then the role's, then the default (C5)."""
    (tmp_path / "ostler.toml").write_text('[agents]\nimplementer = "codex"\n')
    assert choose_executor(task, load_settings(tmp_path, {}, flags)) == expected


def test_a_role_is_bound_by_the_environment_too(tmp_path: Path) -> None:
    """OSTLER_AGENTS__REVIEWER names the reviewer's executor."""
    loaded = load_settings(tmp_path, {"OSTLER_AGENTS__REVIEWER": "mine"})
    assert choose_executor(Task("t", role="reviewer"), loaded) == "mine"
