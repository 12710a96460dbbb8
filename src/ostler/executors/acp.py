"""Any agent that speaks the Agent Client Protocol, over its standard input and output.

    [executors.mine]
    type = "acp"
    command = "my-agent"
    args = ["--acp"]

gemini-acp, qwen-acp, copilot-acp, opencode-acp, claude-acp and codex-acp are known by name. The agent chooses
its session id; what it asks permission for is answered by `permissions`, each time for that once. A session
goes on by session/resume or session/load, whichever the agent announces; with gemini-acp never, as gemini
0.61 announces session/load and loses the session by it (`gemini` without ACP resumes).
"""

from __future__ import annotations

import os
from functools import partial

from msgspec.structs import replace

from ostler.config.settings import ExecutorSettings
from ostler.errors import AgentUnavailable, OstlerError
from ostler.executors.acp_agents import AGENTS, AcpAgent
from ostler.executors.acp_conversation import AcpConversation, Wishes
from ostler.executors.discover import path_variable
from ostler.executors.ending import result_of
from ostler.executors.program import Dialect, ProgramExecutor, Start, last_words
from ostler.model.call import AgentCall, CallResult, OnEvent
from ostler.process.protocol import CommandRunner

_EXIT_SECONDS = 2.0  # after the answer and the end of its input; there is nothing more to wait for


class AcpExecutor(ProgramExecutor):
    """Starts the agent, holds one conversation with it, and lets it go."""

    def __init__(self, kind: str, name: str, settings: ExecutorSettings, runner: CommandRunner) -> None:
        super().__init__(name, settings, runner)
        self._agent = AGENTS[kind]
        self.dialect = _dialect_of(self._agent)

    async def _once(self, call: AgentCall, on_event: OnEvent, *, resume: bool) -> tuple[CallResult, str]:
        talk = AcpConversation(call, on_event, self._wishes(resume=resume))
        try:
            with self._defaults(call) as quiet:
                command = self._command(quiet, resume=resume)
                patience = min(command.result_grace_seconds, _EXIT_SECONDS)
                exit = await self._runner.converse(replace(command, result_grace_seconds=patience), talk)
        except OstlerError as error:
            return result_of(error), ""
        result = talk.judge(exit)
        return result, last_words(exit, result)

    def _wishes(self, *, resume: bool) -> Wishes:
        permissions = self._settings.permissions
        return Wishes(
            program=self.name,
            resume=resume,
            permissions=permissions,
            modes=self._agent.modes.get(permissions, ()),
            sets_model=not self._agent.model_flag,
        )

    def _program(self) -> str:
        named = self._settings.command or os.environ.get(path_variable(self.name))
        if self._agent is AGENTS["acp"] and not named:
            hint = f"set executors.{self.name}.command to a program that speaks the Agent Client Protocol"
            raise AgentUnavailable(f"executor {self.name} names no program", hint)
        return super()._program()


def _dialect_of(agent: AcpAgent) -> Dialect:
    def arguments(start: Start) -> tuple[str, ...]:
        wanted = agent.model_flag and start.model
        return (*agent.args, *((agent.model_flag, start.model) if wanted else ()))

    return Dialect(
        known=agent.known,
        capabilities=replace(agent.capabilities, acp=True),
        arguments=arguments,
        switches=agent.switches,
        permits=agent.permits,
        defaults=agent.defaults,
        mend=agent.mend,
    )


acp = partial(AcpExecutor, "acp")
claude = partial(AcpExecutor, "claude")
codex = partial(AcpExecutor, "codex")
copilot = partial(AcpExecutor, "copilot")
gemini = partial(AcpExecutor, "gemini")
opencode = partial(AcpExecutor, "opencode")
qwen = partial(AcpExecutor, "qwen")
