"""The names that the seeds gave: what is public is loaded on first use."""

from __future__ import annotations

from importlib import import_module

import pytest
from test_seed_names_agents import TABLE as AGENTS
from test_seed_names_documents import TABLE as DOCUMENTS
from test_seed_names_llm import TABLE as LLM
from test_seed_names_worker import TABLE as WORKER

import ostler

PUBLIC = {"CliExecutor", "Executor", "ExecutorRegistry", "ModelSelector", "WorkerPool", "create_spawner"}


@pytest.mark.parametrize("name", ostler.__all__)
def test_public_name_is_loaded_on_first_use(name: str) -> None:
    """`from ostler import ...` gives the same object as its home does."""
    homes = {name: home for name, home, _ in (*AGENTS, *WORKER, *LLM, *DOCUMENTS)}
    found = getattr(ostler, name)
    if name in homes:
        assert found is getattr(import_module(f"ostler.{homes[name]}"), name)


def test_what_seed_000_exports_is_public() -> None:
    """CliExecutor, ModelSelector, the worker pool and create_spawner, beside what an executor needs."""
    assert set(ostler.__all__) >= PUBLIC
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        ostler.Nothing  # noqa: B018
