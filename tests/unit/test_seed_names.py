"""Names of the seeds: public names are loaded on first use."""

from __future__ import annotations

import pytest
from test_seed_names_agents import TABLE as AGENTS
from test_seed_names_worker import TABLE as WORKER

import ostler
import ostler.compat
import ostler.executors
from seed_names import find_name

PUBLIC = {"CliExecutor", "Executor", "ExecutorRegistry", "ModelSelector", "WorkerPool", "create_spawner"}


@pytest.mark.parametrize("name", ostler.compat.__all__)
def test_public_name_is_loaded_on_first_use(name: str) -> None:
    """`from ostler import ...` gives the same object as its module."""
    homes = {name: home for name, home, _ in (*AGENTS, *WORKER)}
    found = getattr(ostler.compat, name)
    if name in homes:
        assert found is find_name(name, homes[name])


def test_what_seed_000_exports_is_public() -> None:
    """CliExecutor, ModelSelector, the worker pool and create_spawner, beside what an executor needs."""
    assert set(ostler.compat.__all__) >= PUBLIC
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        ostler.Nothing  # noqa: B018


def test_the_public_api_is_small_and_complete() -> None:
    """`dir(ostler)` and `__all__` list the same names, and each one can be imported."""
    for module in (ostler, ostler.compat, ostler.executors):
        names = set(module.__all__) - {"__version__"}
        assert names == set(dir(module)) - {"__version__"}
        assert all(getattr(module, name) is not None for name in names)
