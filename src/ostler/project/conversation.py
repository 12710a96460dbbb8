"""An agent without a task: one session that a person begins, and goes on with by its id."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ostler.errors import CODES, Code, OstlerError, UsageError
from ostler.executors.protocol import Executor, supports_resumption
from ostler.executors.registry import ExecutorRegistry
from ostler.files.atomic import make_private_dir, write_projection
from ostler.files.lock import Held, try_lock
from ostler.model.call import AgentCall, AgentEvent, CallResult, OnEvent, SessionStarted
from ostler.process.runner import DefaultCommandRunner
from ostler.project.agents import require_sandbox
from ostler.project.project import Project
from ostler.worker.agent_call import base_call, marks_of


class Conversation(Struct, frozen=True):
    """What must stay the same when a session is continued."""

    session_id: str
    executor: str
    role: str
    model: str
    cwd: str
    turns: int = 0
    cost_usd: float = 0.0  # the session's running total, where the agent reports one
    begun_as: str = ""  # our id for it, where the agent chose another; still leads to it, and names its lock


def begin(executor: str, role: str, model: str, cwd: Path) -> Conversation:
    """A conversation with an id of our own, stored before the agent starts."""
    return Conversation(str(uuid.uuid4()), executor, role, model, str(cwd))


def recall(project: Project, session: str) -> Conversation:
    """The conversation that an id, or the beginning of one, names."""
    found = [
        known
        for known in all_conversations(project)
        if session and (known.session_id.startswith(session) or known.begun_as.startswith(session))
    ]
    if len(found) != 1:
        what = "no session" if not found else "more than one session"
        raise UsageError(f"{what} {session}", "ostler agent list shows them")
    return found[0]


def all_conversations(project: Project) -> list[Conversation]:
    """Every conversation of this project, the latest first."""
    files = sorted(_home(project).glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    return [msgspec.json.decode(path.read_bytes(), type=Conversation) for path in files]


async def speak(
    project: Project, conversation: Conversation, prompt: str, on_event: OnEvent, environ: Mapping[str, str]
) -> tuple[Conversation, CallResult]:
    """One turn; the session keeps its executor, model and directory. Cancelling it stops the agent."""
    with _alone(project, conversation) as held:
        executor = _executor(project, conversation, held)
        turn = replace(conversation, turns=conversation.turns + 1)
        _keep(project, turn)
        call = _call(project, turn, prompt, executor, environ)

        def heard(event: AgentEvent) -> None:
            nonlocal turn
            if isinstance(event, SessionStarted):
                turn = _renamed(project, turn, event.session_id)
            on_event(event)

        start = executor.resume if conversation.turns else executor.spawn
        result = await start(call, heard)
        turn = _renamed(project, turn, result.session_id)
        reported = replace(turn, cost_usd=result.session_cost_usd or turn.cost_usd)
        _keep(project, reported)
        return reported, result


def exit_of(result: CallResult) -> int:
    return 0 if result.code is None else CODES[result.code].exit


def _alone(project: Project, conversation: Conversation) -> Held:
    """Two processes in one session would each lose the other's turn."""
    name = conversation.begun_as or conversation.session_id
    held = try_lock(project.layout.state / "locks" / f"session-{name}")
    if held is None:
        message = f"session {conversation.session_id} is in use by another process"
        raise OstlerError(Code.SESSION_IN_USE, message, "wait for it to end")
    return held


def _executor(project: Project, conversation: Conversation, held: Held) -> Executor:
    require_sandbox(project.settings, conversation.executor)
    runner = DefaultCommandRunner(held=(held.fd,))
    executor = ExecutorRegistry().make(conversation.executor, project.settings.executors, runner)
    executor.validate_availability()
    if conversation.turns and not supports_resumption(executor):
        message = f"{conversation.executor} cannot go on with a session"
        raise OstlerError(Code.RESUME_UNSUPPORTED, message, "begin another one: ostler agent spawn")
    return executor


def _call(
    project: Project, turn: Conversation, prompt: str, executor: Executor, environ: Mapping[str, str]
) -> AgentCall:
    marker = f"{project.journal.store_id}:{turn.session_id}:{turn.turns}"
    marks = marks_of(marker, str(project.layout.root))
    return replace(
        base_call(project.settings, executor.capabilities, environ, marks),
        agent=turn.role,
        prompt=prompt,
        session_id=turn.session_id,
        model=turn.model,
        cwd=turn.cwd,
        transcript=str(_home(project) / f"{turn.session_id}.jsonl"),
        session_cost_usd=turn.cost_usd,
    )


def _keep(project: Project, conversation: Conversation) -> None:
    make_private_dir(_home(project))
    write_projection(_file(project, conversation.session_id), msgspec.json.encode(conversation))


def _renamed(project: Project, turn: Conversation, session: str) -> Conversation:
    """The conversation under the id that the agent gave it, kept at once: a kill must not lose it."""
    if session in ("", turn.session_id):
        return turn
    named = replace(turn, session_id=session, begun_as=turn.begun_as or turn.session_id)
    file = _file(project, turn.session_id)
    write_projection(file, msgspec.json.encode(named))
    file.replace(_file(project, session))
    return named


def _file(project: Project, session: str) -> Path:
    return _home(project) / f"{os.path.basename(session)}.json"  # noqa: PTH119


def _home(project: Project) -> Path:
    return project.layout.state / "sessions"
