"""Agent sessions without a task: `ostler agent spawn` starts one, `ostler agent resume` continues it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from ostler.calls.attempts.base_call import create_base_call, identity_variables
from ostler.calls.sandbox.agent import AgentSandbox, open_agent_sandbox
from ostler.clock import Clock, SystemClock
from ostler.engine.steps.workspaces.box_files import create_session_workspace
from ostler.errors import CODES, Code, OstlerError, UsageError
from ostler.executors.protocol import Executor, supports_resumption
from ostler.executors.registry import ExecutorRegistry
from ostler.files.lock import LockHandle, try_lock
from ostler.model.call import AgentCall, AgentEvent, CallResult, OnEvent, SessionStarted
from ostler.model.policy.model_config import ModelConfig
from ostler.process.protocol import CommandRunner
from ostler.process.runner import DefaultCommandRunner
from ostler.project.agents.executors import check_permissions
from ostler.project.agents.session_log import SessionLog
from ostler.project.agents.stored_session import (
    LOG,
    RAW,
    AgentSession,
    lock_path,
    move_outputs,
    output_path,
    rename_session,
    save_session,
)
from ostler.project.inspection.executors import explain_unknown_executor
from ostler.project.project import Project
from ostler.secrets.redact import redact_text
from ostler.text import first_line

_CLOCK = SystemClock()


def create_session(executor: str, role: str, model: str, cwd: Path, prompt: str = "") -> AgentSession:
    """Create a session with a new id."""
    title = redact_text(first_line(prompt.strip()))
    return AgentSession(str(uuid.uuid4()), executor, role, model, str(cwd), prompt=title)


async def send_prompt(
    project: Project,
    session: AgentSession,
    prompt: str,
    on_event: OnEvent,
    environ: Mapping[str, str],
    *,
    preamble: str = "",
    clock: Clock = _CLOCK,
) -> tuple[AgentSession, CallResult]:
    """Run one turn with the session's executor, model and directory; cancelling it stops the agent.

    The preamble is sent before the prompt and is not in the log.
    """
    project.require_person("start agents")
    project.create()
    with _lock_session(project, session) as held:
        executor = _create_executor(project, session, DefaultCommandRunner(held=(held.fd,)))
        turn = replace(session, turns=session.turns + 1, used_at=clock.now())
        move_outputs(project, turn)
        save_session(project, turn)
        call = _create_call(project, turn, f"{preamble}{prompt}", executor, environ)
        start = executor.resume if session.turns else executor.spawn
        with SessionLog(output_path(project, turn, LOG), turn, prompt, clock.now) as log:

            def receive(event: AgentEvent) -> None:
                nonlocal turn
                if isinstance(event, SessionStarted):
                    turn = rename_session(project, turn, event.session_id)
                log.write_event(event)
                on_event(event)

            workspace = create_session_workspace(Path(session.cwd), project.layout)
            agent = AgentSandbox(call, executor, project.settings, receive, workspace, host_environ=environ)
            async with open_agent_sandbox(agent) as sandboxed:
                result = await start(sandboxed.call, sandboxed.on_event or receive)
            log.write_result(result)
        turn = rename_session(project, turn, result.session_id)
        reported = replace(turn, cost_usd=result.session_cost_usd or turn.cost_usd)
        save_session(project, reported)
        move_outputs(project, reported)
        return reported, result


def check_session(project: Project, session: AgentSession) -> None:
    """Raise OstlerError when the session's executor is unknown, not installed or cannot resume."""
    if why := explain_unknown_executor(session.executor, project.setup()):
        raise UsageError(why, "ostler executors")
    _create_executor(project, session, DefaultCommandRunner())


def get_exit_code(result: CallResult) -> int:
    return 0 if result.code is None else CODES[result.code].exit


def _lock_session(project: Project, session: AgentSession) -> LockHandle:
    """Lock the session: two processes would overwrite each other's turns."""
    held = try_lock(lock_path(project, session))
    if held is None:
        message = f"session {session.session_id} is in use by another process"
        raise OstlerError(Code.SESSION_IN_USE, message, "wait for it to end")
    return held


def _create_executor(project: Project, session: AgentSession, runner: CommandRunner) -> Executor:
    check_permissions(project.settings, ModelConfig(session.executor, session.executor))
    executor = ExecutorRegistry().make(session.executor, project.settings.executors, runner)
    executor.validate_availability()
    if session.turns and not supports_resumption(executor):
        message = f"{session.executor} cannot resume a session"
        raise OstlerError(Code.RESUME_UNSUPPORTED, message, "start a new one: ostler agent spawn")
    return executor


def _create_call(
    project: Project, turn: AgentSession, prompt: str, executor: Executor, environ: Mapping[str, str]
) -> AgentCall:
    marker = f"{project.journal.store_id}:{turn.session_id}:{turn.turns}"
    marks = identity_variables(marker, str(project.layout.root))
    return replace(
        create_base_call(project.settings, executor.capabilities, environ, marks),
        agent=turn.role,
        prompt=prompt,
        session_id=turn.session_id,
        model=turn.model,
        cwd=turn.cwd,
        transcript=str(output_path(project, turn, RAW)),
        session_cost_usd=turn.cost_usd,
    )
