"""An agent that has a model needs a network."""

from __future__ import annotations

import pytest

from ostler.calls.sandbox.agent import require_model_network
from ostler.config.settings import ExecutorSettings, SandboxSettings
from ostler.errors import Code, OstlerError
from ostler.executors.registry import ExecutorRegistry
from ostler.process.runner import DefaultCommandRunner
from ostler.sandbox.box.tiers import ChosenTier

INSIDE, OUTSIDE = ChosenTier("bubblewrap", verified=True), ChosenTier("supervised")
OFF, PROXY = SandboxSettings(network="off"), SandboxSettings()


def check(kind: str, settings: SandboxSettings, chosen: ChosenTier) -> None:
    sections = {"own": ExecutorSettings(type=kind, command="true")}
    executor = ExecutorRegistry().make("own", sections, DefaultCommandRunner())
    require_model_network(executor, settings, chosen)


def test_an_agent_without_a_network_is_refused() -> None:
    """Waiting for the network would not help."""
    with pytest.raises(OstlerError) as caught:
        check("claude", OFF, INSIDE)
    assert caught.value.code is Code.CONFIG_INVALID
    assert caught.value.message == 'sandbox.network is "off", so own cannot connect to its model'


def test_others_are_not() -> None:
    """A program of the user, an agent with the proxy, and one without a sandbox."""
    check("command", OFF, INSIDE)
    check("claude", PROXY, INSIDE)
    check("claude", OFF, OUTSIDE)
