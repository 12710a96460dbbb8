"""ostler agent"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec.structs import asdict

from ostler.cli.event_loop import run_loop
from ostler.cli.options import json_option, open_for_reading, open_project
from ostler.cli.task_input import read_text
from ostler.cli.terminal.output import print_hint, print_json, print_text
from ostler.cli.terminal.text import escape_controls, format_table, to_one_line
from ostler.clock import format_local_time, format_rfc3339
from ostler.errors import Code, UsageError
from ostler.model.call import (
    AccessRefused,
    AgentEvent,
    CallResult,
    SessionReplaced,
    TextReceived,
    ToolDenied,
    ToolUsed,
    WarningRaised,
)
from ostler.model.fix import find_prerequisite
from ostler.model.policy.sandbox import describe_refusal
from ostler.model.task import Task
from ostler.project.agents.agent_session import check_session, create_session, get_exit_code, send_prompt
from ostler.project.agents.model_choice import choose_executor
from ostler.project.agents.stored_session import (
    LOG,
    RAW,
    AgentSession,
    find_session,
    find_sessions,
    is_in_use,
    list_sessions,
    list_unreadable,
    output_path,
)
from ostler.project.project import Project
from ostler.prompt.role import AGENTS, find_agent, list_project_roles, load_prompt

_COLUMNS = ("session", "executor", "role", "turns", "used", "prompt")
_NOT_STARTED = (
    Code.AGENT_NOT_FOUND,
    Code.AGENT_INCOMPATIBLE,
    Code.SPAWN_FAILED,
    Code.CONFIG_INVALID,
    Code.SANDBOX_UNAVAILABLE,
)
_SESSION_LOST = "- the session was lost; a new session starts without its history"


@click.group("agent")
def command() -> None:
    """List roles, and call an agent directly, without a task."""


@command.command("list")
@json_option
def list_roles(as_json: bool) -> None:
    """List the roles and their executors."""
    with open_for_reading() as project:
        roles = [find_agent(name, project.layout.root) for name in (*AGENTS, *_custom_roles(project))]
        executors = {role.name: choose_executor(Task("", role=role.name), project.loaded) for role in roles}
        sessions = list_sessions(project)
    if as_json:
        listed = [{**msgspec.to_builtins(role), "executor": executors[role.name]} for role in roles]
        print_json({"schema": "ostler.agents/1", "agents": listed, "sessions": msgspec.to_builtins(sessions)})
        return
    rows = [(role.name, executors[role.name], role.description) for role in roles]
    print_text(format_table(("role", "executor", "description"), rows))
    if sessions:
        print_hint(f"\n{_count(sessions)} of this project: ostler agent sessions")


@command.command("sessions")
@json_option
def list_all_sessions(as_json: bool) -> None:
    """List the sessions of this project, latest first."""
    with open_project() as project:
        sessions = [(one, is_in_use(project, one)) for one in list_sessions(project)]
        described = [_describe_session(project, *one) for one in sessions]
        for path in list_unreadable(project):
            print_hint(f"ostler: {path} is left out: it is damaged")
    if as_json:
        print_json({"schema": "ostler.sessions/1", "sessions": described})
    elif not sessions:
        print_text("No sessions.")
        print_hint("Next: ostler agent spawn -p TEXT")
    else:
        rows = [_format_session(*one) for one in sessions]
        print_text(format_table(_COLUMNS, rows, (), ("role", "executor")))
        print_hint("Next: ostler log SESSION, or ostler agent resume SESSION -p TEXT")


@command.command("spawn")
@click.option(
    "-a", "--agent", "role", metavar="ROLE", default="implementer", show_default=True, help="The role."
)
@click.option("-p", "--prompt", metavar="TEXT", help="The prompt.")
@click.option("-f", "--file", metavar="FILE.md", help="Read the prompt from a file; - reads stdin.")
@click.option("--executor", metavar="NAME", help="The agent.  [default: from the settings]")
@click.option("--model", metavar="NAME", default="", help="The model.  [default: from the settings]")
@json_option
def spawn(
    role: str, prompt: str | None, file: str | None, executor: str | None, model: str, as_json: bool
) -> int:
    """Start a session without a task in this directory and print its id.

    After Ctrl-C, continue with ostler agent resume. To start the agent of a task, use ostler run ID.
    """
    text = _read_prompt(prompt, file)
    with open_project({"run.executor": executor} if executor else None, create=True) as project:
        agent = find_agent(role, project.layout.root)
        name = choose_executor(Task("", role=role), project.loaded)
        session = create_session(name, role, model or project.settings.run.model, Path.cwd(), text)
        preamble = f"{load_prompt(agent, project.layout.root)}\n\n"
        return run_loop(_run_call(project, session, text, as_json, preamble))


@command.command("resume")
@click.argument("session")
@click.argument("text", required=False, metavar="[TEXT]")
@click.option("-p", "--prompt", metavar="TEXT", help="The prompt, instead of TEXT.")
@click.option("-f", "--file", metavar="FILE.md", help="Read the prompt from a file; - reads stdin.")
@json_option
def resume(session: str, text: str | None, prompt: str | None, file: str | None, as_json: bool) -> int:
    """Continue a session with a prompt, in its own directory and with its own model."""
    if text is not None and prompt is not None:
        raise UsageError("pass the prompt either as an argument or with -p TEXT")
    text = _read_prompt(prompt if text is None else text, file)
    with open_project() as project:
        return run_loop(_run_call(project, _find_session(project, session), text, as_json))


def _find_session(project: Project, session: str) -> AgentSession:
    """Return the session; raises UsageError, which for the id of a task names the command for tasks."""
    if not find_sessions(project, session) and (tasks := project.journal.find(session)):
        raise UsageError(f"{tasks[0]} is a task, not a session", f"ostler resume {tasks[0]} -m TEXT")
    return find_session(project, session)


def _custom_roles(project: Project) -> list[str]:
    return [name for name in list_project_roles(project.layout.root) if name not in AGENTS]


def _read_prompt(prompt: str | None, file: str | None) -> str:
    if (prompt is None) == (file is None):
        raise UsageError("pass the prompt with -p TEXT or with -f FILE")
    text = prompt if prompt is not None else read_text(file or "")
    if not text.strip():
        raise UsageError("the prompt is empty", "pass a text with -p TEXT or -f FILE")
    return text


async def _run_call(
    project: Project, conversation: AgentSession, text: str, as_json: bool, preamble: str = ""
) -> int:
    check_session(project, conversation)
    if not as_json:
        print_hint(f"session {conversation.session_id} with {conversation.executor}")
    on_event = _print_event_json if as_json else _print_event
    call = asyncio.create_task(
        send_prompt(project, conversation, text, on_event, os.environ, preamble=preamble)
    )
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, call.cancel)
    try:
        updated, result = await call
    except asyncio.CancelledError:
        print_hint(f"Stopped.  Next: ostler agent resume {conversation.session_id} -p TEXT")
        return 130
    _print_summary(updated, result, as_json)
    return get_exit_code(result)


def _print_event(event: AgentEvent) -> None:
    match event:
        case TextReceived(text=text):
            print_text(escape_controls(text))
        case ToolUsed(tool=tool, detail=detail):
            print_text(escape_controls(f"- {tool} {detail}"))
        case ToolDenied(tool=tool, detail=detail):
            print_text(escape_controls(f"- {tool} denied {detail}"))
        case SessionReplaced(resumed=resumed):
            print_text("- the session exists already and continues" if resumed else _SESSION_LOST)
        case AccessRefused(kind=kind, target=target, setting=setting):
            print_text(escape_controls(f"- {describe_refusal(kind, target, setting)}"))
        case WarningRaised(message=message):
            print_text(escape_controls(f"- {message}"))
        case _:
            return
    sys.stdout.flush()


def _print_event_json(event: AgentEvent) -> None:
    print_json({"schema": "ostler.agent_event/1", "type": event.__struct_config__.tag, **asdict(event)})


def _print_summary(conversation: AgentSession, result: CallResult, as_json: bool) -> None:
    if as_json:
        print_json(
            {"schema": "ostler.call/1", "session_id": conversation.session_id, **msgspec.to_builtins(result)}
        )
        return
    if result.code is not None:
        print_hint(f"ostler: {result.code}: {result.message}")
    print_hint(_next_step(conversation, result.code))


def _next_step(conversation: AgentSession, code: Code | None) -> str:
    if code is Code.SESSION_NOT_FOUND:
        # A new session would not have the history, so the prompt was not sent.
        return "The agent no longer has this session; nothing was sent.  Next: ostler agent spawn -p TEXT"
    if code is Code.MODEL_NOT_FOUND:
        # The session keeps its model, so it cannot be resumed with another one.
        return "Next: ostler agent spawn -p TEXT --model NAME"
    fix = find_prerequisite(code) if code else ""
    first = f"{fix}; then   " if fix else ""
    # Without a first turn the agent has no session to resume.
    if conversation.turns == 1 and code in _NOT_STARTED:
        return f"Next: {first}ostler agent spawn -p TEXT"
    return f"Next: {first}ostler agent resume {conversation.session_id} -p TEXT"


def _describe_session(project: Project, session: AgentSession, in_use: bool) -> dict[str, Any]:
    outputs = {"log": output_path(project, session, LOG), "raw": output_path(project, session, RAW)}
    existing = {name: str(path) if path.exists() else None for name, path in outputs.items()}
    used_at = format_rfc3339(session.used_at) if session.used_at else None
    return {**msgspec.to_builtins(session), "used_at": used_at, "in_use": in_use, **existing}


def _format_session(session: AgentSession, in_use: bool) -> tuple[str, ...]:
    used = format_local_time(session.used_at, time.time()) if session.used_at else ""
    named = (to_one_line(session.session_id), session.executor, session.role, str(session.turns))
    return (*named, "now" if in_use else used, to_one_line(session.prompt))


def _count(sessions: list[AgentSession]) -> str:
    return f"{len(sessions)} session{'s' if len(sessions) != 1 else ''}"
