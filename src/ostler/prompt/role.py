"""Roles: what kind of worker an agent is asked to be (the seeds' Agent)."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from ostler.errors import UsageError

BUILT_IN = Path(__file__).parent / "roles"
OVERRIDES = Path(".agents", "roles")


class Agent(Struct, frozen=True):
    """A role: its name, what it is for, what it may be expected to do, and where its prompt is."""

    name: str
    description: str
    capabilities: tuple[str, ...]

    @property
    def prompt_path(self) -> str:
        """Below the project's .agents/roles, or in the package."""
        return f"{self.name}.md"


AGENTS: dict[str, Agent] = {
    agent.name: agent
    for agent in (
        Agent("implementer", "turns a task into working changes", ("edit", "run", "test")),
        Agent("architect", "decides how something should be built", ("read", "write documents")),
        Agent("reviewer", "judges a change and finds what it breaks", ("read", "run", "test")),
        Agent("planner", "turns a goal into an order of work", ("read", "write documents")),
        Agent("researcher", "finds out what is true", ("read", "run", "write documents")),
        Agent("decomposer", "splits a large task into parts", ("read", "write documents")),
    )
}


def find_agent(name: str, root: Path) -> Agent:
    """A built-in role, or one of the project's own; raises UsageError with the list otherwise."""
    if name in AGENTS:
        return AGENTS[name]
    if name in own_roles(root):
        return Agent(name, f"the project's own, in {OVERRIDES / name}.md", ())
    known = ", ".join(sorted({*AGENTS, *own_roles(root)}))
    raise UsageError(f"unknown role: {name}", f"known are {known}; .agents/roles/{name}.md would make it one")


def own_roles(root: Path) -> list[str]:
    """The roles that the project describes itself."""
    return sorted(path.stem for path in (root / OVERRIDES).glob("*.md"))


def load_prompt(agent: Agent, root: Path) -> str:
    """What the agent is told about its role; the project's own words win over ours."""
    own = root / OVERRIDES / agent.prompt_path
    if not own.is_file():
        return (BUILT_IN / agent.prompt_path).read_text("utf-8").strip()
    try:
        return own.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{own} cannot be read: {error}") from None
