"""Agent sessions without a task: `ostler agent spawn` starts one, `ostler agent resume` continues it."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from ostler.calls.attempts.base_call import create_base_call, identity_variables
from ostler.calls.sandbox.agent import AgentSandbox, open_agent_sandbox
from ostler.engine.steps.workspaces.box_files import create_session_workspace
from ostler.errors import CODES, Code, OstlerError, UsageError
from ostler.executors.protocol import Executor, supports_resumption
from ostler.executors.registry import ExecutorRegistry
from ostler.files.atomic import make_private_dir, write_projection
from ostler.files.lock import LockHandle, try_lock
from ostler.model.call import AgentCall, AgentEvent, CallResult, OnEvent, SessionStarted
from ostler.model.model_config import ModelConfig
from ostler.process.runner import DefaultCommandRunner
from ostler.project.agents.executors import check_permissions
from ostler.project.project import Project


class AgentSession(Struct, frozen=True):
    """What stays the same when a session is continued."""

    session_id: str
    executor: str
    role: str
    model: str
    cwd: str
    turns: int = 0
    cost_usd: float = 0.0  # total cost of the session, where the agent reports it
    initial_id: str = field(
        default="", name="begun_as"
    )  # the id before the agent chose its own; also finds the session, and names its lock


def create_session(executor: str, role: str, model: str, cwd: Path) -> AgentSession:
    """Create a session with a new id."""
    return AgentSession(str(uuid.uuid4()), executor, role, model, str(cwd))


def find_session(project: Project, prefix: str) -> AgentSession:
    """Return the session with this id or id prefix; raises UsageError."""
    found = [
        one
        for one in list_sessions(project)
        if prefix and (one.session_id.startswith(prefix) or one.initial_id.startswith(prefix))
    ]
    if len(found) != 1:
        what = "no session" if not found else "more than one session"
        raise UsageError(f"{what} {prefix}", "run ostler agent list to see the sessions")
    return found[0]


def list_sessions(project: Project) -> list[AgentSession]:
    """Return all sessions of this project, latest first."""
    files = sorted(
        _sessions_folder(project).glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True
    )
    return [msgspec.json.decode(path.read_bytes(), type=AgentSession) for path in files]


async def send_prompt(
    project: Project, session: AgentSession, prompt: str, on_event: OnEvent, environ: Mapping[str, str]
) -> tuple[AgentSession, CallResult]:
    """Run one turn with the session's executor, model and directory; cancelling it stops the agent."""
    project.require_person("start agents")
    with _lock_session(project, session) as held:
        executor = _create_executor(project, session, held)
        turn = replace(session, turns=session.turns + 1)
        _save(project, turn)
        call = _create_call(project, turn, prompt, executor, environ)

        def receive(event: AgentEvent) -> None:
            nonlocal turn
            if isinstance(event, SessionStarted):
                turn = _update_id(project, turn, event.session_id)
            on_event(event)

        start = executor.resume if session.turns else executor.spawn
        workspace = create_session_workspace(Path(session.cwd), project.layout)
        agent = AgentSandbox(call, executor, project.settings, receive, workspace, host_environ=environ)
        async with open_agent_sandbox(agent) as sandboxed:
            result = await start(sandboxed.call, sandboxed.on_event or receive)
        turn = _update_id(project, turn, result.session_id)
        reported = replace(turn, cost_usd=result.session_cost_usd or turn.cost_usd)
        _save(project, reported)
        return reported, result


def get_exit_code(result: CallResult) -> int:
    return 0 if result.code is None else CODES[result.code].exit


def _lock_session(project: Project, session: AgentSession) -> LockHandle:
    """Lock the session: two processes would overwrite each other's turns."""
    name = session.initial_id or session.session_id
    held = try_lock(project.layout.state / "locks" / f"session-{name}")
    if held is None:
        message = f"session {session.session_id} is in use by another process"
        raise OstlerError(Code.SESSION_IN_USE, message, "wait for it to end")
    return held


def _create_executor(project: Project, session: AgentSession, held: LockHandle) -> Executor:
    check_permissions(project.settings, ModelConfig(session.executor, session.executor))
    runner = DefaultCommandRunner(held=(held.fd,))
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
        transcript=str(_session_file(project, turn.session_id).with_suffix(".jsonl")),
        session_cost_usd=turn.cost_usd,
    )


def _save(project: Project, session: AgentSession) -> None:
    make_private_dir(_sessions_folder(project))
    write_projection(_session_file(project, session.session_id), msgspec.json.encode(session))


def _update_id(project: Project, turn: AgentSession, session_id: str) -> AgentSession:
    """Save the session under the id that the agent chose, at once, so that a kill does not lose it."""
    if session_id in ("", turn.session_id):
        return turn
    named = replace(turn, session_id=session_id, initial_id=turn.initial_id or turn.session_id)
    file = _session_file(project, turn.session_id)
    write_projection(file, msgspec.json.encode(named))
    file.replace(_session_file(project, session_id))
    return named


def _session_file(project: Project, session_id: str) -> Path:
    """Return the file of a session; the agent may have chosen the id."""
    name = re.sub(r"[^\w.-]", "_", session_id)[:200]
    return _sessions_folder(project) / f"{name}.json"


def _sessions_folder(project: Project) -> Path:
    return project.layout.state / "sessions"
