"""What every call of an agent has in common: its environment and its deadlines."""

from __future__ import annotations

from collections.abc import Mapping

from ostler.config.settings import Settings
from ostler.executors.environment import declared_environment
from ostler.executors.protocol import Capabilities
from ostler.model.call import AgentCall
from ostler.process.environment import child_environment


def base_call(
    settings: Settings, capabilities: Capabilities, environ: Mapping[str, str], marks: Mapping[str, str]
) -> AgentCall:
    """A call without words; `marks` are the variables by which the agent knows that it is ours."""
    run = settings.run
    ours = {**declared_environment(capabilities, environ), **marks}
    return AgentCall(
        agent="",
        prompt="",
        env=child_environment(environ, settings.sandbox.env_allow, ours),
        timeout_seconds=run.timeout_seconds,
        idle_timeout_seconds=run.idle_timeout_seconds,
        result_grace_seconds=run.result_grace_seconds,
        grace_seconds=run.grace_seconds,
    )


def marks_of(marker: str, project: str, task: str = "", state: str = "") -> dict[str, str]:
    """The variables that tell an agent whose attempt it is, and where its state file is."""
    marks = {"OSTLER_ATTEMPT": marker, "OSTLER_PROJECT": project, "OSTLER_TASK": task, "OSTLER_STATE": state}
    return {name: value for name, value in marks.items() if value}
