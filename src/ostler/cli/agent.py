"""ostler agent"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import click
import msgspec
from msgspec.structs import asdict

from ostler.cli.given import read_text
from ostler.cli.out import emit, hint, json_option, open_project, say
from ostler.cli.text import printable, table
from ostler.errors import UsageError
from ostler.model.call import (
    AgentEvent,
    CallResult,
    SessionReplaced,
    TextSaid,
    ToolDenied,
    ToolUsed,
    Warned,
)
from ostler.model.task import Task
from ostler.project.agents import executor_for
from ostler.project.conversation import Conversation, all_conversations, begin, exit_of, recall, speak
from ostler.project.project import Project
from ostler.prompt.role import AGENTS, find_agent, load_prompt, own_roles

_LOST = "- the session was lost; a new one begins, which knows nothing of what was said before"


@click.group("agent")
def command() -> None:
    """Roles, and an agent directly, without a task."""


@command.command("list")
@json_option
def list_roles(as_json: bool) -> None:
    """The roles, who plays them, and the sessions begun here."""
    with open_project(create=True) as project:
        roles = [find_agent(name, project.layout.root) for name in (*AGENTS, *_further_roles(project))]
        players = {role.name: executor_for(Task("", role=role.name), project.loaded) for role in roles}
        sessions = all_conversations(project)
    if as_json:
        listed = [{**msgspec.to_builtins(role), "executor": players[role.name]} for role in roles]
        emit({"schema": "ostler.agents/1", "agents": listed, "sessions": msgspec.to_builtins(sessions)})
        return
    say(
        table(("role", "executor", "what it does"), [(r.name, players[r.name], r.description) for r in roles])
    )
    if sessions:
        rows = [(s.session_id, s.executor, s.role, str(s.turns)) for s in sessions]
        say("\n" + table(("session", "executor", "role", "turns"), rows))


@command.command("spawn")
@click.option("-a", "--agent", "role", metavar="ROLE", default="implementer", show_default=True)
@click.option("-p", "--prompt", metavar="TEXT", help="What to say.")
@click.option("-f", "--file", metavar="FILE.md", help="The same from a file (- for stdin).")
@click.option("--executor", metavar="NAME", help="The agent; without it, as the settings say.")
@click.option("--model", metavar="NAME", default="", help="The model; without it, as the settings say.")
@json_option
def spawn(
    role: str, prompt: str | None, file: str | None, executor: str | None, model: str, as_json: bool
) -> int:
    """Begin a session in this directory and print its id; Ctrl-C leaves it to be resumed."""
    text = _text(prompt, file)
    with open_project({"run.executor": executor} if executor else None, create=True) as project:
        agent = find_agent(role, project.layout.root)
        name = executor_for(Task("", role=role), project.loaded)
        conversation = begin(name, role, model or project.settings.run.model, Path.cwd())
        words = f"{load_prompt(agent, project.layout.root)}\n\n{text}"
        return asyncio.run(_speak(project, conversation, words, as_json))


@command.command("resume")
@click.argument("session")
@click.option("-p", "--prompt", metavar="TEXT", help="What to say.")
@click.option("-f", "--file", metavar="FILE.md", help="The same from a file (- for stdin).")
@json_option
def resume(session: str, prompt: str | None, file: str | None, as_json: bool) -> int:
    """Go on with a session, in its own directory and with its own model."""
    text = _text(prompt, file)
    with open_project() as project:
        return asyncio.run(_speak(project, recall(project, session), text, as_json))


def _further_roles(project: Project) -> list[str]:
    return [name for name in own_roles(project.layout.root) if name not in AGENTS]


def _text(prompt: str | None, file: str | None) -> str:
    if (prompt is None) == (file is None):
        raise UsageError("say something to the agent", "with -p TEXT or -f FILE")
    text = prompt if prompt is not None else read_text(file or "")
    if not text.strip():
        raise UsageError("say something to the agent", "with -p TEXT or -f FILE")
    return text


async def _speak(project: Project, conversation: Conversation, text: str, as_json: bool) -> int:
    if not as_json:
        hint(f"session {conversation.session_id} with {conversation.executor}")
    work = asyncio.create_task(
        speak(project, conversation, text, _tell_json if as_json else _tell, os.environ)
    )
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, work.cancel)
    try:
        spoken, result = await work
    except asyncio.CancelledError:
        hint(f"stopped; ostler agent resume {conversation.session_id} -p TEXT   goes on")
        return 130
    _conclude(spoken, result, as_json)
    return exit_of(result)


def _tell(event: AgentEvent) -> None:
    match event:
        case TextSaid(text=text):
            say(printable(text))
        case ToolUsed(tool=tool, detail=detail):
            say(printable(f"- {tool} {detail}"))
        case ToolDenied(tool=tool, detail=detail):
            say(printable(f"- {tool} denied {detail}"))
        case SessionReplaced(resumed=resumed):
            say("- the session was there already; it goes on" if resumed else _LOST)
        case Warned(message=message):
            say(printable(f"- {message}"))
        case _:
            return
    sys.stdout.flush()


def _tell_json(event: AgentEvent) -> None:
    emit({"schema": "ostler.agent_event/1", "type": event.__struct_config__.tag, **asdict(event)})


def _conclude(spoken: Conversation, result: CallResult, as_json: bool) -> None:
    if as_json:
        emit({"schema": "ostler.call/1", "session_id": spoken.session_id, **msgspec.to_builtins(result)})
        return
    if result.code is not None:
        hint(f"ostler: {result.code}: {result.message}")
    hint(f"ostler agent resume {spoken.session_id} -p TEXT   goes on")
