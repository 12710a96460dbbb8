"""Roles of agents (the seeds' Agent) and their prompts."""

from __future__ import annotations

import os
import re
from pathlib import Path

from msgspec import Struct

from ostler.config.checks.expect import nearest
from ostler.config.literal import quote
from ostler.errors import UsageError
from ostler.text import describe_os_error

BUILT_IN = Path(__file__).parent / "roles"
OVERRIDES = Path(".agents", "roles")


class Agent(Struct, frozen=True):
    """A role: its name, description, capabilities and prompt file."""

    name: str
    description: str
    capabilities: tuple[str, ...]

    @property
    def prompt_path(self) -> str:
        """A file of the project's .agents/roles, or of the package."""
        return f"{self.name}.md"


AGENTS: dict[str, Agent] = {
    agent.name: agent
    for agent in (
        Agent("implementer", "turns a task into working changes", ("edit", "run", "test")),
        Agent("architect", "decides how something should be built", ("read", "write documents")),
        Agent("reviewer", "judges a change and finds what it breaks", ("read", "run", "test")),
        Agent("planner", "turns a goal into an order of work", ("read", "write documents")),
        Agent("researcher", "answers a question with evidence", ("read", "run", "write documents")),
        Agent("decomposer", "splits a large task into parts", ("read", "write documents")),
    )
}


def find_agent(name: str, root: Path) -> Agent:
    """Return a built-in role or one of the project; raises UsageError with the list."""
    if name in AGENTS:
        return AGENTS[name]
    if name in list_project_roles(root):
        return Agent(name, f"defined in {prompt_file(name)}", ())
    raise UsageError(f"unknown role: {name}", _suggest_roles(name, root))


def describe_unknown_role(name: str, root: Path) -> str:
    """Return the message for a role that does not exist, with the nearest name."""
    near = nearest(name, _list_roles(root))
    suggestion = f"did you mean {near}?" if near else _suggest_roles(name, root)
    return f"unknown role {quote(name)}; {suggestion}"


def _suggest_roles(name: str, root: Path) -> str:
    create = f", or create {prompt_file(name)}" if re.fullmatch(r"\w[\w-]*", name) else ""
    return f"use one of {', '.join(_list_roles(root))}{create}"


def prompt_file(name: str) -> Path:
    """Return the project's file for the prompt of a role."""
    return OVERRIDES / f"{name}.md"


def list_project_roles(root: Path) -> list[str]:
    """Return the names of the roles that the project defines."""
    return sorted(path.stem for path in (root / OVERRIDES).glob("*.md"))


def _list_roles(root: Path) -> list[str]:
    return sorted({*AGENTS, *list_project_roles(root)})


def load_prompt(agent: Agent, root: Path) -> str:
    """Return the prompt of a role; a file of the project replaces the built-in one. Raises UsageError."""
    own = root / OVERRIDES / agent.prompt_path
    # A link that leads nowhere is not a missing file: the built-in prompt would silently replace it.
    if agent.name in AGENTS and not os.path.lexists(own):
        return (BUILT_IN / agent.prompt_path).read_text("utf-8").strip()
    file = prompt_file(agent.name)
    if not (prompt := _read(own, file)):
        raise UsageError(f"{file}: the prompt of the role is empty", "write a prompt, or delete the file")
    return prompt


def _read(path: Path, file: Path) -> str:
    if not path.is_file():  # reading a pipe would wait for ever
        raise UsageError(f"{file} is not a regular file", "correct or delete it")
    try:
        return path.read_text("utf-8").strip()
    except UnicodeDecodeError:
        raise UsageError(f"{file}: not UTF-8 text", "save it as UTF-8") from None
    except OSError as error:
        hint = "correct or delete it"
        raise UsageError(f"{file} cannot be read: {describe_os_error(error)}", hint) from None
