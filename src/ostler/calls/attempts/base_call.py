"""The parts of a call that are the same for all calls of an executor: environment, timeouts, permissions."""

from __future__ import annotations

from collections.abc import Mapping

from ostler.config.settings import Settings
from ostler.executors.protocol import Capabilities, select_environment
from ostler.model.call import AgentCall
from ostler.process.environment import build_child_environment


def create_base_call(
    settings: Settings, capabilities: Capabilities, environ: Mapping[str, str], identity: Mapping[str, str]
) -> AgentCall:
    """Return a call without a prompt: its environment, which includes `identity`, and its timeouts."""
    run = settings.run
    own = {**select_environment(capabilities, environ), **identity}
    return AgentCall(
        agent="",
        prompt="",
        env=build_child_environment(environ, settings.sandbox.env_allow, own),
        timeout_seconds=run.timeout_seconds,
        idle_timeout_seconds=run.idle_timeout_seconds,
        result_grace_seconds=run.result_grace_seconds,
        grace_seconds=run.grace_seconds,
        allowed_commands=tuple(dict.fromkeys(settings.gates.commands.values())),
        allow_unsandboxed_skip=settings.sandbox.allow_unsandboxed_skip,
    )


def identity_variables(marker: str, project: str, task: str = "", state_file: str = "") -> dict[str, str]:
    """Return the environment variables that identify the attempt of a process and its state file."""
    variables = {
        "OSTLER_ATTEMPT": marker,
        "OSTLER_PROJECT": project,
        "OSTLER_TASK": task,
        "OSTLER_STATE": state_file,
    }
    return {name: value for name, value in variables.items() if value}
