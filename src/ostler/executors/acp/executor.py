"""Runs any agent that supports the Agent Client Protocol, over its standard input and output.

    [executors.mine]
    type = "acp"
    command = "my-agent"
    args = ["--acp"]

gemini-acp, qwen-acp, copilot-acp, opencode-acp, claude-acp and codex-acp are built in. The agent chooses its
session id. `permissions` decides each permission request, for this one time. A session is continued with
session/resume or session/load, as the agent announces; gemini-acp cannot resume, because session/load of
gemini 0.61 loses the session (`gemini` without ACP can resume).
"""

from __future__ import annotations

import os
from functools import partial

from msgspec.structs import replace

from ostler.config.settings import ExecutorSettings
from ostler.errors import AgentUnavailable, OstlerError
from ostler.executors.acp.agents import AGENTS, AcpAgent
from ostler.executors.acp.conversation import AcpConversation, SessionOptions
from ostler.executors.discover import path_variable
from ostler.executors.exit_status import result_from_error
from ostler.executors.permissions import resolve_permissions
from ostler.executors.program.executor import ProgramExecutor, collect_error_output
from ostler.executors.program.spec import AgentSpec, LaunchOptions
from ostler.model.call import AgentCall, CallResult, OnEvent
from ostler.process.protocol import CommandRunner

# How long the agent has to exit after its answer, when its input is closed.
_EXIT_SECONDS = 2.0


class AcpExecutor(ProgramExecutor):
    """Starts the agent for one conversation."""

    def __init__(self, kind: str, name: str, settings: ExecutorSettings, runner: CommandRunner) -> None:
        super().__init__(name, settings, runner)
        self._agent = AGENTS[kind]
        self.spec = _make_spec(self._agent)

    async def _run_once(self, call: AgentCall, on_event: OnEvent, *, resume: bool) -> tuple[CallResult, str]:
        conversation = AcpConversation(call, on_event, self._session_options(call, resume=resume))
        try:
            with self._write_settings(call) as prepared:
                command = self._command(prepared, resume=resume)
                grace = min(command.result_grace_seconds, _EXIT_SECONDS)
                command = replace(
                    command, result_grace_seconds=grace, on_error_line=conversation.read_error_line
                )
                exit = await self._runner.converse(command, conversation)
        except OstlerError as error:
            return result_from_error(error), ""
        result = conversation.evaluate(exit)
        return result, collect_error_output(exit, result)

    def _session_options(self, call: AgentCall, *, resume: bool) -> SessionOptions:
        permissions = resolve_permissions(self._settings.permissions, call)
        return SessionOptions(
            program=self.name,
            resume=resume,
            permissions=permissions,
            modes=self._agent.modes.get(permissions, ()),
            model_in_session=not self._agent.model_flag,
            retry_lines=self._agent.retry_lines,
            rules=self._agent.rules,
        )

    def _program(self) -> str:
        environ = os.environ if self.environ is None else self.environ
        configured = self._settings.command or environ.get(path_variable(self.name))
        if self._agent is AGENTS["acp"] and not configured:
            hint = f"set executors.{self.name}.command to a program that supports the Agent Client Protocol"
            raise AgentUnavailable(f"executor {self.name} has no command", hint)
        return super()._program()


def _make_spec(agent: AcpAgent) -> AgentSpec:
    def arguments(options: LaunchOptions) -> tuple[str, ...]:
        has_model = agent.model_flag and options.model
        return (*agent.args, *((agent.model_flag, options.model) if has_model else ()))

    return AgentSpec(
        program=agent.program,
        capabilities=replace(agent.capabilities, acp=True),
        arguments=arguments,
        default_env=agent.default_env,
        permission_env=agent.permission_env,
        default_settings=agent.default_settings,
        repair=agent.repair,
        sandbox=agent.sandbox,
    )


acp = partial(AcpExecutor, "acp")
claude = partial(AcpExecutor, "claude")
codex = partial(AcpExecutor, "codex")
copilot = partial(AcpExecutor, "copilot")
gemini = partial(AcpExecutor, "gemini")
opencode = partial(AcpExecutor, "opencode")
qwen = partial(AcpExecutor, "qwen")
