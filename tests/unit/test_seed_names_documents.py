"""Names of the seeds for documents: skills, prompts, and their executor."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from ostler import compat
from ostler.errors import Code
from seed_names import Check, Named, Row, find_name


def skill_executor(executor_class: Named, _: Path) -> None:
    """Client, workspace, config; task, signal, agent_config. See test_project_agent_executor*.py."""
    assert list(inspect.signature(executor_class).parameters)[:3] == ["client", "project", "config"]
    given = list(inspect.signature(executor_class.execute).parameters)
    assert given == ["self", "task", "signal", "agent_config"]


def skill_loader(load_skill_content: Named, place: Path) -> None:
    """By name and project root; a missing one is a WorkspaceError."""
    with pytest.raises(compat.WorkspaceError) as caught:
        load_skill_content("none", place)
    assert caught.value.code is Code.SKILL_NOT_FOUND
    (place / ".agents/skills/some").mkdir(parents=True)
    (place / ".agents/skills/some/SKILL.md").write_text("---\nname: some\ndescription: x\n---\nBody.")
    assert isinstance(load_skill_content("some", place), compat.SkillContent)


def prompt_builder(build_prompt: Named, _: Path) -> None:
    given = ["skill_content", "task", "product_context", "upstream_outputs"]
    assert list(inspect.signature(build_prompt).parameters)[:4] == given


def default_config(create_default_config: Named, _: Path) -> None:
    assert create_default_config(max_retries=7) == compat.ExecutorConfig(max_retries=7)


def execution_error(error_class: Named, _: Path) -> None:
    error = error_class("No.", "API_TIMEOUT", "t-1")
    assert (str(error), error.code, error.task_id, error.cause) == ("No.", "API_TIMEOUT", "t-1", None)


def thirteen_codes(codes: Named, _: Path) -> None:
    assert len(codes) == 13 and codes("ABORTED") == "ABORTED"


def model_map(tiers: Named, _: Path) -> None:
    assert set(tiers) == {"opus", "sonnet", "haiku"}


def fields(*names: str) -> Check:
    """A value with these fields, in this order."""

    def check(struct: Named, _: Path) -> None:
        assert struct.__struct_fields__[: len(names)] == names

    return check


RESULT = ("task_id", "skill", "status", "output_path", "tokens_used", "duration_ms", "error")
TABLE: list[Row] = [
    ("AgentExecutor", "project.agents.agent_executor", skill_executor),
    ("AgentConfig", "project.agents.executor_config", fields("model_tier", "timeout_ms", "max_retries")),
    (
        "ExecutorConfig",
        "project.agents.executor_config",
        fields("project_root", "model_map", "default_model_tier"),
    ),
    ("create_default_config", "project.agents.executor_config", default_config),
    ("ExecutionResult", "project.execution", fields(*RESULT)),
    ("ExecutionError", "project.execution", execution_error),
    ("ExecutionErrorCode", "project.execution", thirteen_codes),
    ("DEFAULT_MODEL_MAP", "llm.client", model_map),
    ("SkillContent", "prompt.skill", fields("name", "description", "body")),
    ("load_skill_content", "prompt.skill", skill_loader),
    ("build_prompt", "prompt.document", prompt_builder),
]


@pytest.mark.parametrize(("name", "home", "check"), TABLE, ids=[name for name, *_ in TABLE])
def test_name_is_there_and_behaves(name: str, home: str, check: Check, tmp_path: Path) -> None:
    """Importable from its module, with one behaviour checked."""
    check(find_name(name, home), tmp_path)
