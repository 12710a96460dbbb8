"""The seed's AgentExecutor from a task to a file: the cases of seed 003, section 4.4."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from executor_world import RESEARCH, ExecutorWorld, Setting, failed_with, fails
from ostler.errors import Code
from ostler.llm.client import ClaudeRequest, ClaudeResponse
from ostler.model.event import TaskBlocked, TaskClaimed, TaskDeferred
from ostler.model.ids import TaskId
from ostler.model.status import TaskStatus
from ostler.model.task import Input, Output, Task
from ostler.project.agents.agent_executor import AgentExecutor
from ostler.project.agents.executor_config import AgentConfig, create_default_config
from ostler.project.project import Project
from ostler.project.running.execution import ExecutionErrorCode
from ostler.testing.mocks import MockClaudeClient

E = ExecutionErrorCode


@pytest.fixture
def world(tmp_path: Path) -> ExecutorWorld:
    return ExecutorWorld(tmp_path)


# Happy path


def test_execute_a_task_pending_in_progress_completed(world: ExecutorWorld) -> None:
    """The status before, during and after the call."""
    seen: list[TaskStatus] = []

    def look(request: ClaudeRequest) -> ClaudeResponse:
        seen.append(world.state(task.id).status)
        return ClaudeResponse("Text.", 1, 1, "end_turn")

    task = world.add()
    seen.append(world.state(task.id).status)
    world.client.generator = look
    world.execute(task)
    seen.append(world.state(task.id).status)
    assert seen == [TaskStatus.PENDING, TaskStatus.IN_PROGRESS, TaskStatus.COMPLETED]


def test_output_file_is_written_to_the_correct_path(world: ExecutorWorld) -> None:
    """outputs/{squad}/{skill}/{task}.md has the answer of the model."""
    result = world.execute()
    path = world.root / "outputs" / "strategy" / "research" / f"{result.task_id}.md"
    assert path.read_text() == "Mock output for task"


def test_execution_result_has_correct_fields(world: ExecutorWorld) -> None:
    """task_id, skill, status, output_path, tokens_used, duration_ms, and no error."""
    world.file("context/product.md", "We sell hay.")
    task = world.add()
    result = world.execute(task)
    assert (result.task_id, result.skill, result.status) == (task.id, "research", "completed")
    assert task.output is not None and result.output_path == task.output.path
    assert result.tokens_used.total == 300 and result.duration_ms > 0
    assert (result.error, result.warning, result.warnings) == (None, None, ())


def test_task_status_in_workspace_is_completed_after_execution(world: ExecutorWorld) -> None:
    """The status is in the project, with the path of the document."""
    state = world.state(world.execute().task_id)
    assert (state.status, state.output) == (
        TaskStatus.COMPLETED,
        f"outputs/strategy/research/{state.task}.md",
    )


def test_client_receives_correct_system_prompt_and_user_message(world: ExecutorWorld) -> None:
    """SKILL.md's body is the system prompt; context and requirements are in the message."""
    world.file("context/product.md", "We sell hay.")
    result = world.execute()
    (request,) = world.client.calls
    assert request.system_prompt.startswith("You find out who buys.")
    for words in ("We sell hay.", "In ten lines.", result.task_id, "**From:** director", "**Priority:** P1"):
        assert words in request.user_message


# Task status edge cases


@pytest.mark.parametrize("status", [TaskStatus.PENDING, TaskStatus.ASSIGNED])
def test_task_with_this_status_executes_normally(world: ExecutorWorld, status: TaskStatus) -> None:
    """C82."""
    task = world.add()
    world.put(task.id, status)
    assert world.execute(task).status == "completed"


def test_task_with_status_revision_executes_with_revision_context(world: ExecutorWorld) -> None:
    """A rejected document continues its session with the feedback."""
    task = world.add(replace(RESEARCH, review="human"))
    first = world.execute(task)
    assert (first.status, first.output_path) == ("completed", task.output and task.output.path)
    assert world.state(task.id).status is TaskStatus.NEEDS_REVIEW and first.warnings
    with Project.open(world.root, {}) as project:
        project.act(task.id, "reject", text="Name the price.")
    assert world.state(task.id).status is TaskStatus.REVISION
    assert world.execute(task).status == "completed"
    assert "Name the price." in world.last_prompt


def test_task_that_came_as_a_revision_has_revision_context(world: ExecutorWorld) -> None:
    """revision > 0 on the task itself, as a pipeline writes it."""
    world.execute(replace(RESEARCH, revision=2))
    assert "## Revision Context\nThis is revision #2." in world.last_prompt


def completed(world: ExecutorWorld, task: Task) -> None:
    world.execute(task)


def failed(world: ExecutorWorld, task: Task) -> None:
    world.execute(task, config={"max_retries": 0}, client=MockClaudeClient(fails(Code.API_ERROR)))


def cancelled(world: ExecutorWorld, task: Task) -> None:
    signal = asyncio.Event()
    world.execute(task, client=Setting(signal), signal=signal)


def in_progress(world: ExecutorWorld, task: Task) -> None:
    world.record(task.id, TaskClaimed("another"))


def in_review(world: ExecutorWorld, task: Task) -> None:
    world.put(task.id, TaskStatus.NEEDS_REVIEW)


def blocked(world: ExecutorWorld, task: Task) -> None:
    world.record(task.id, TaskClaimed("another"), TaskBlocked(Code.AGENT_BLOCKED, "no idea"))


def deferred(world: ExecutorWorld, task: Task) -> None:
    world.record(task.id, TaskClaimed("another"), TaskDeferred(Code.RATE_LIMITED, "later", 1.0))


def paused(world: ExecutorWorld, task: Task) -> None:
    with Project.open(world.root, {}) as project:
        project.act(task.id, "pause")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "put", [completed, failed, cancelled, in_progress, in_review, blocked, deferred, paused]
)
def test_task_with_this_status_is_not_executable(
    world: ExecutorWorld, put: Callable[[ExecutorWorld, Task], None]
) -> None:
    """TASK_NOT_EXECUTABLE; no call of the API, and no further record in the journal."""
    task = world.add()
    put(world, task)
    calls, records = len(world.client.calls), world.records(task.id)
    result = world.execute(task)
    assert failed_with(result, E.TASK_NOT_EXECUTABLE)
    wanted = "needs_review" if put is in_review else put.__name__
    assert f"is {wanted}" in str(result.error)
    assert (len(world.client.calls), world.records(task.id)) == (calls, records)


# Skill loading edge cases


def test_skill_not_found_fails_the_task(world: ExecutorWorld) -> None:
    """A SKILL.md that is deleted after the task was added: SKILL_NOT_FOUND, task failed, no call."""
    task = world.add()
    (world.root / ".agents/skills/research/SKILL.md").unlink()
    assert failed_with(world.execute(task), E.SKILL_NOT_FOUND)
    assert world.state(task.id).status is TaskStatus.FAILED
    assert world.client.calls == []


def test_skill_not_found_for_a_new_task_adds_none(world: ExecutorWorld) -> None:
    """The task is refused before it is added, because its output has no path."""
    result = world.execute(replace(RESEARCH, skill="reserch"))
    assert failed_with(result, E.SKILL_NOT_FOUND) and "reserch" in str(result.error)
    with Project.open(world.root, {}) as project:
        assert project.tasks() == []


def test_skill_with_no_reference_files_executes_normally(world: ExecutorWorld) -> None:
    """No references in the system prompt."""
    assert world.execute().status == "completed"
    assert "Reference:" not in world.client.calls[0].system_prompt


def test_skill_with_references_has_them_in_the_system_prompt(world: ExecutorWorld) -> None:
    """The reverse case, as a control."""
    world.skill("copy", body="You write.", references={"a.md": "First.", "b.md": "Second."})
    world.execute(replace(RESEARCH, skill="copy"))
    system = world.client.calls[0].system_prompt
    assert "## Reference: a.md\nFirst." in system and "## Reference: b.md\nSecond." in system


# Context edge cases


def test_product_context_exists_included_in_user_message(world: ExecutorWorld) -> None:
    """The context is the first section, verbatim."""
    world.file("context/product-marketing-context.md", "We sell hay.")
    world.execute()
    assert "## Product Context\nWe sell hay." in world.last_prompt


def test_product_context_does_not_exist_executes_with_a_note(world: ExecutorWorld) -> None:
    """Some tasks need none; the result has a warning."""
    result = world.execute()
    assert result.status == "completed"
    assert result.warnings == ("CONTEXT_NOT_FOUND: context has no Markdown file",)
    assert "No product marketing context available" in world.last_prompt


def test_product_context_is_created_by_its_own_skill(world: ExecutorWorld) -> None:
    """The foundation skill works without a context, and its output is the context of the next."""
    world.skill("product-marketing-context", "squad: null", "You know the product.")
    first = world.execute(replace(RESEARCH, skill="product-marketing-context"))
    assert (first.status, first.output_path) == ("completed", "context/product-marketing-context.md")
    assert first.warnings == ()
    world.execute()
    assert "## Product Context\nMock output for task" in world.last_prompt


def test_product_context_that_cannot_be_read_fails_the_task(world: ExecutorWorld) -> None:
    """CONTEXT_NOT_FOUND for an unreadable context; a link out of the project is not followed."""
    (world.root / "context").mkdir()
    (world.root / "context/product.md").symlink_to("/etc/hostname")
    result = world.execute()
    assert failed_with(result, E.CONTEXT_NOT_FOUND) and "product.md" in str(result.error)
    assert world.state(result.task_id).status is TaskStatus.FAILED and world.client.calls == []


# Input edge cases


def test_upstream_inputs_are_loaded_and_included(world: ExecutorWorld) -> None:
    """Each input has its description and source."""
    world.file("outputs/a.md", "They have horses.")
    world.execute(replace(RESEARCH, inputs=(Input("outputs/a.md", "The survey"),)))
    assert "### Input: The survey\nSource: outputs/a.md\n\nThey have horses." in world.last_prompt


def test_upstream_input_is_missing(world: ExecutorWorld) -> None:
    """INPUT_NOT_FOUND has the path; the task failed without a call."""
    result = world.execute(replace(RESEARCH, inputs=(Input("outputs/gone.md"),)))
    assert failed_with(result, E.INPUT_NOT_FOUND) and "outputs/gone.md" in str(result.error)
    assert world.state(result.task_id).status is TaskStatus.FAILED
    assert world.client.calls == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize("path", ["../secret.md", "/etc/hostname", "link.md"])
def test_upstream_input_outside_of_the_project(world: ExecutorWorld, path: str) -> None:
    """No file outside the project gets into a prompt."""
    (world.root / "link.md").symlink_to("/etc/hostname")
    result = world.execute(replace(RESEARCH, inputs=(Input(path),)))
    assert failed_with(result, E.INPUT_NOT_FOUND)
    assert world.client.calls == []


def test_task_has_no_inputs(world: ExecutorWorld) -> None:
    """The prompt states that there are no inputs."""
    assert world.execute(replace(RESEARCH, inputs=())).status == "completed"
    assert "No upstream inputs for this task." in world.last_prompt


# Output writing edge cases


def test_normal_skill_writes_to_its_squad(world: ExecutorWorld) -> None:
    """outputs/{squad}/{skill}/{task}.md."""
    world.skill("copy", "squad: creative")
    result = world.execute(replace(RESEARCH, skill="copy"))
    assert result.output_path == f"outputs/creative/copy/{result.task_id}.md"
    assert (world.root / result.output_path).is_file()


def test_foundation_skill_writes_the_context_file(world: ExecutorWorld) -> None:
    """It has no squad."""
    world.skill("product-marketing-context", "squad: null")
    world.execute(replace(RESEARCH, skill="product-marketing-context"))
    assert (world.root / "context/product-marketing-context.md").read_text() == "Mock output for task"


def test_the_path_of_the_task_is_the_canonical_one(world: ExecutorWorld) -> None:
    """Section 10: an explicit output path is not derived from the squad."""
    result = world.execute(replace(RESEARCH, output=Output("docs/hay.md")))
    assert result.output_path == "docs/hay.md"
    assert (world.root / "docs/hay.md").is_file() and not (world.root / "outputs").exists()


def test_workspace_write_fails(world: ExecutorWorld) -> None:
    """A file in place of a directory: WORKSPACE_WRITE_FAILED, task failed, tokens counted."""
    world.file("outputs", "in the way")
    result = world.execute()
    assert failed_with(result, E.WORKSPACE_WRITE_FAILED)
    assert world.state(result.task_id).status is TaskStatus.FAILED
    assert result.tokens_used.total == 300


@pytest.mark.parametrize("path", ["../out.md", "/tmp/out.md", "a/../../b.md"])
def test_output_path_that_leaves_the_workspace(world: ExecutorWorld, path: str) -> None:
    """Refused before any call."""
    assert failed_with(world.execute(replace(RESEARCH, output=Output(path))), E.WORKSPACE_WRITE_FAILED)
    assert world.client.calls == []


def test_output_path_that_became_a_link(
    world: ExecutorWorld, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Nothing is written through a link that was created after the task."""
    outside = tmp_path_factory.mktemp("outside")
    task = world.add(replace(RESEARCH, output=Output("docs/hay.md")))
    (world.root / "docs").symlink_to(outside)
    assert failed_with(world.execute(task), E.WORKSPACE_WRITE_FAILED)
    assert list(outside.iterdir()) == []


# Project root


def test_the_project_is_a_project_a_path_or_the_configs_root(world: ExecutorWorld) -> None:
    """All three are the same project."""
    config = create_default_config(project_root=world.root)
    with Project.open(world.root, {}, create=True) as project:
        executors = [
            AgentExecutor(world.client, project, environ={}),
            AgentExecutor(world.client, str(world.root), environ={}),
            AgentExecutor(world.client, config=config, environ={}),
        ]
    for executor in executors:
        assert asyncio.run(executor.execute(RESEARCH)).status == "completed"
    assert len(list((world.root / "outputs/strategy/research").iterdir())) == 3


def test_the_given_directory_has_precedence_over_the_environment(
    world: ExecutorWorld, tmp_path: Path
) -> None:
    """An executor inside an agent of another project uses its own project."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    environ = {"OSTLER_PROJECT": str(elsewhere)}
    executor = AgentExecutor(world.client, world.root, environ=environ)
    assert asyncio.run(executor.execute(RESEARCH)).status == "completed"
    assert list(elsewhere.iterdir()) == []


def test_the_example_runs(
    world: ExecutorWorld, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The example of the module's docstring, verbatim."""
    import ostler.project.agents.agent_executor as module

    monkeypatch.chdir(world.root)
    shown = [line[4:] for line in str(module.__doc__).splitlines() if line.startswith("    ")]
    names: dict[str, Any] = {}
    exec("\n".join(shown), names)
    asyncio.run(names["main"]())
    assert capsys.readouterr().out.startswith("outputs/strategy/research/who-buys-hay-")


def test_the_skill_that_goes_on_keeps_the_tasks_own_values(world: ExecutorWorld) -> None:
    """Overrides of one execution do not apply to the next."""
    world.skill("copy")
    task = replace(RESEARCH, tier="haiku", timeout_seconds=90.0, max_retries=1, next=("copy",))
    world.execute(task, agent_config=AgentConfig(model_tier="opus"))
    with Project.open(world.root, {}) as project:
        (follower,) = (one for one in project.tasks() if one.status == "pending")
        added = project.task(TaskId(follower.id))
        assert (added.tier, added.timeout_seconds, added.max_retries) == ("haiku", 90.0, 1)
        assert (added.executor, added.model) == ("", "")
