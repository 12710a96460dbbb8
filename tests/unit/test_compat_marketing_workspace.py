"""Seed 003, sections 2.3, 2.5, 4.2, 10 and 18: skills, squads and the workspace."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import get_args

import pytest

from executor_world import RESEARCH, ExecutorWorld, failed_with, fails
from ostler import compat
from ostler.compat import (
    SKILL_SQUAD_MAP,
    AgentExecutor,
    ExecutionErrorCode,
    SquadMap,
    UpstreamOutput,
    WorkspaceError,
    WorkspaceManager,
    build_prompt,
    load_skill_content,
    load_skill_meta,
    parse_frontmatter,
)
from ostler.errors import Code, UsageError
from ostler.model.status import TaskStatus


@pytest.fixture
def world(tmp_path: Path) -> ExecutorWorld:
    return ExecutorWorld(tmp_path)


@pytest.fixture
def workspace(world: ExecutorWorld) -> WorkspaceManager:
    return WorkspaceManager(world.root, {})


# Skills (section 4.2)


def test_loads_a_skill_with_body_and_reference_contents(world: ExecutorWorld) -> None:
    """The body has no front matter; references have path and content, by name."""
    world.skill("copywriting", body="You write.", references={"b.md": "Second.", "a.md": "First."})
    skill = load_skill_content("copywriting", world.root)
    assert skill.body.strip() == "You write." and "---" not in skill.body
    assert [one.content for one in skill.reference_contents] == ["First.", "Second."]
    assert [Path(one.path).name for one in skill.reference_contents] == ["a.md", "b.md"]


def test_a_skill_without_references_has_an_empty_list(world: ExecutorWorld) -> None:
    """No reference is no error."""
    assert load_skill_content("research", world.root).reference_contents == ()


@pytest.mark.parametrize("name", ["none", "", "../research", "a/b", " "])
def test_a_skill_that_does_not_exist(world: ExecutorWorld, name: str) -> None:
    """WorkspaceError, from both functions."""
    for load in (load_skill_content, load_skill_meta):
        with pytest.raises(WorkspaceError) as caught:
            load(name, world.root)
        assert caught.value.code is Code.SKILL_NOT_FOUND


def test_a_reference_that_cannot_be_read_is_skipped(world: ExecutorWorld) -> None:
    """With a warning; the other references are loaded."""
    folder = world.skill("copy", body="You write.", references={"a.md": "First."})
    (folder / "references" / "b.md").symlink_to("/nowhere")
    skill = load_skill_content("copy", world.root)
    assert [one.content for one in skill.reference_contents] == ["First."]
    assert any("b.md" in warning for warning in skill.warnings)


def test_skill_meta_is_the_skill_without_its_text(world: ExecutorWorld) -> None:
    """Name, description, squad, reference files and path."""
    world.skill("copy", "squad: creative", "You write.", {"a.md": "First."})
    meta = load_skill_meta("copy", world.root)
    assert (meta.name, meta.description, meta.squad) == ("copy", "copy", "creative")
    assert meta.path == ".agents/skills/copy/SKILL.md"
    assert meta.reference_files == (".agents/skills/copy/references/a.md",)


def test_parse_frontmatter() -> None:
    """Data and body; without front matter the data is empty, and a mistake has its line."""
    found = parse_frontmatter("---\nname: copy\ntags: [a]\n---\nBody.\n")
    assert (found.data, found.body.strip()) == ({"name": "copy", "tags": ["a"]}, "Body.")
    assert parse_frontmatter("Body.").data == {}
    with pytest.raises(WorkspaceError, match=r"SKILL\.md:2"):
        parse_frontmatter("---\nname: [\n---\n", "SKILL.md")


def test_the_prompt_is_built_from_what_is_loaded(world: ExecutorWorld) -> None:
    """loadSkillContent, then buildPrompt, which returns systemPrompt and userMessage."""
    skill = load_skill_content("research", world.root)
    upstream = [UpstreamOutput(path="outputs/a.md", description="The survey", content="Horses.")]
    prompt = build_prompt(
        skill_content=skill, task=RESEARCH, product_context="We sell hay.", upstream_outputs=upstream
    )
    assert prompt.system_prompt == "You find out who buys."
    assert "### Input: The survey\nSource: outputs/a.md\n\nHorses." in prompt.user_message


# SKILL_SQUAD_MAP


def test_squads_of_the_skills(world: ExecutorWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """The foundation skill has none; the map is that of the working directory."""
    world.skill("product-marketing-context", "license: MIT")
    world.skill("copy", "squad: creative")
    monkeypatch.chdir(world.root)
    assert dict(SKILL_SQUAD_MAP) == {
        "copy": "creative",
        "product-marketing-context": None,
        "research": "strategy",
    }
    assert SKILL_SQUAD_MAP["product-marketing-context"] is None and len(SKILL_SQUAD_MAP) == 3
    assert "none" not in SquadMap(world.root)
    with pytest.raises(KeyError):
        SquadMap(world.root)["none"]


# WorkspaceManager


def test_context_exists_and_is_read(world: ExecutorWorld, workspace: WorkspaceManager) -> None:
    """Missing: CONTEXT_NOT_FOUND with the file to write."""
    assert not workspace.context_exists()
    with pytest.raises(WorkspaceError) as caught:
        workspace.read_context()
    assert caught.value.code is Code.CONTEXT_NOT_FOUND
    assert "context/product-marketing-context.md" in caught.value.hint
    world.file("context/product-marketing-context.md", "We sell hay.\n")
    assert workspace.context_exists() and workspace.read_context() == "We sell hay."


def test_files_are_read_and_written(world: ExecutorWorld, workspace: WorkspaceManager) -> None:
    """write_output: outputs/{squad}/{skill}/{taskId}.md."""
    path = workspace.write_output("creative", "copy", "sell-hay-1", "Buy hay.")
    assert path == "outputs/creative/copy/sell-hay-1.md" and workspace.read_file(path) == "Buy hay."
    assert workspace.write_file("context/product.md", "We sell.") == "context/product.md"
    assert (world.root / "context/product.md").read_text() == "We sell."


@pytest.mark.parametrize("path", ["../out.md", "/etc/passwd", ".git/config", "ostler.toml", "src/a.py", ""])
def test_only_documents_are_written(world: ExecutorWorld, workspace: WorkspaceManager, path: str) -> None:
    """A path outside the directories of documents is refused, and nothing is written."""
    with pytest.raises(WorkspaceError):
        workspace.write_file(path, "x")
    assert not (world.root.parent / "out.md").exists()


@pytest.mark.parametrize(
    ("squad", "skill", "task"),
    [("..", "copy", "sell-hay"), ("a/b", "copy", "sell-hay"), ("", "copy", "sell-hay"), ("a", "b", "../x")],
)
def test_names_of_an_output_are_no_paths(
    workspace: WorkspaceManager, squad: str, skill: str, task: str
) -> None:
    """Squad, skill and task are checked."""
    with pytest.raises(UsageError, match="invalid"):
        workspace.write_output(squad, skill, task, "x")


@pytest.mark.parametrize("path", ["none.md", "../x.md"])
def test_a_file_that_cannot_be_read(workspace: WorkspaceManager, path: str) -> None:
    """INPUT_NOT_FOUND, or PATH_ESCAPE for a path that leaves the project."""
    with pytest.raises(WorkspaceError) as caught:
        workspace.read_file(path)
    assert caught.value.code is (Code.PATH_ESCAPE if path.startswith("..") else Code.INPUT_NOT_FOUND)


def test_update_task_status_records_a_decision(world: ExecutorWorld, workspace: WorkspaceManager) -> None:
    """paused, pending and cancelled are decisions; the same status again changes nothing."""
    task = world.add()
    assert workspace.update_task_status(task.id, "paused") is TaskStatus.PAUSED
    assert workspace.update_task_status(task.id, "pending") is TaskStatus.PENDING
    assert workspace.update_task_status(task.id, "cancelled", "not needed") is TaskStatus.CANCELLED
    records = world.records(task.id)
    workspace.update_task_status(task.id, workspace.task_status(task.id))
    assert world.records(task.id) == records


@pytest.mark.parametrize("status", ["in_progress", "completed", "failed", "in_review", "halfway", "approved"])
def test_a_status_that_only_a_run_sets(
    world: ExecutorWorld, workspace: WorkspaceManager, status: str
) -> None:
    """The error names the status; the task is unchanged."""
    task = world.add()
    with pytest.raises(UsageError):
        workspace.update_task_status(task.id, status)
    assert workspace.task_status(task.id) is TaskStatus.PENDING
    with pytest.raises(UsageError, match="no task none"):
        workspace.update_task_status("none", "cancelled")


def test_the_executor_takes_the_workspace(world: ExecutorWorld, workspace: WorkspaceManager) -> None:
    """new AgentExecutor(client, workspace, config): a failed task is made pending and executed again."""
    world.client.generator = fails(Code.API_ERROR, times=1)
    config = compat.create_default_config(max_retries=0)
    executor = AgentExecutor(world.client, workspace, config, environ={})

    async def scene() -> str:
        first = await executor.execute(RESEARCH)
        assert failed_with(first, ExecutionErrorCode.API_ERROR)
        assert workspace.task_status(first.task_id) is TaskStatus.FAILED
        workspace.update_task_status(first.task_id, "pending")
        second = await executor.execute(world.task(first.task_id))
        return workspace.read_file(str(second.output_path))

    assert asyncio.run(scene()) == "At last."


def test_every_name_of_the_seeds_barrel_is_public() -> None:
    """Section 2.6, the helpers of sections 13 and 17, and what section 6 imports."""
    barrel = {
        *("AgentExecutor", "AnthropicClaudeClient", "MockClaudeClient", "load_skill_content", "build_prompt"),
        *("ClaudeClient", "ClaudeClientConfig", "ClaudeRequest", "ClaudeResponse", "ExecutionResult"),
        *("ExecutionStatus", "ExecutorConfig", "SkillContent", "ExecutionError", "ExecutionErrorCode"),
        *("DEFAULT_MODEL_MAP", "create_default_config", "cancellable_sleep"),
        *("WorkspaceManager", "load_skill_meta", "parse_frontmatter", "TaskStatus", "AgentConfig"),
        *("AgentMeta", "SKILL_SQUAD_MAP", "WorkspaceError", "TokensUsed", "Input", "Output", "ModelError"),
        *("Task", "SkillName", "ModelTier", "FileSystemWorkspaceManager"),
    }
    assert barrel <= set(compat.__all__)
    assert set(get_args(compat.ModelTier)) == set(compat.DEFAULT_MODEL_MAP)
    assert compat.FileSystemWorkspaceManager is compat.WorkspaceManager
