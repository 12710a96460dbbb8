"""The real codex, gemini, qwen, opencode and copilot with a local model server."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from fetch_agents import agent_path, agents_path
from ostler.config.settings import ExecutorSettings
from ostler.executors.registry import ExecutorRegistry
from ostler.process.runner import DefaultCommandRunner
from ostler.testing.fake_llm import Answer, FakeLlm, Request, Turn, call, say
from real_seat import RealSeat
from world import World

CACHE = agents_path()  # read before a test's own HOME is set
KEY = "key-0123456789"  # copilot masks it everywhere, so it must be a text that occurs nowhere else


class RealAgent(NamedTuple):
    """How one agent is configured for the local server, and the names of its tools."""

    environment: Callable[[str, Path], dict[str, str]]  # from the server's address and the agent's HOME
    write: Callable[[Path], Answer]
    shell: Callable[[str], Answer]
    model: str = "fake-model"
    reports_denials: bool = True


def _codex(url: str, home: Path) -> dict[str, str]:
    provider = f'[model_providers.fake]\nname = "fake"\nbase_url = "{url}/v1"\nenv_key = "OPENAI_API_KEY"\n'
    _put(home / ".codex" / "config.toml", f'model_provider = "fake"\n{provider}wire_api = "responses"\n')
    # Its sandbox needs helper programs below HOME, which it does not create in a temporary directory.
    temporary = home / "tmp"
    temporary.mkdir(exist_ok=True)
    return {"OPENAI_API_KEY": KEY, "TMPDIR": str(temporary)}


def _gemini(url: str, home: Path) -> dict[str, str]:
    _put(home / ".gemini" / "settings.json", _auth("gemini-api-key"))
    return {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": KEY}


def _qwen(url: str, home: Path) -> dict[str, str]:
    _put(home / ".qwen" / "settings.json", _auth("openai"))
    return {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": KEY}


def _opencode(url: str, home: Path) -> dict[str, str]:
    model = {"name": "m1", "cost": {"input": 1, "output": 2}, "limit": {"context": 100_000, "output": 10_000}}
    options = {"baseURL": f"{url}/v1", "apiKey": KEY}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"m1": model}}
    settings = {"model": "fake/m1", "small_model": "fake/m1", "provider": {"fake": provider}}
    _put(home / ".config" / "opencode" / "opencode.json", json.dumps(settings))
    return {"OPENCODE_DISABLE_MODELS_FETCH": "1"}


def _copilot(url: str, home: Path) -> dict[str, str]:
    del home
    provider = {"BASE_URL": f"{url}/v1", "TYPE": "openai", "API_KEY": KEY}
    ours = {f"COPILOT_PROVIDER_{name}": value for name, value in provider.items()}
    return {**ours, "COPILOT_MODEL": "fake-model", "COPILOT_OFFLINE": "true"}


def _claude(url: str, home: Path) -> dict[str, str]:
    return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": KEY, "CLAUDE_CONFIG_DIR": str(home / "claude")}


def _auth(kind: str) -> str:
    return json.dumps({"security": {"auth": {"selectedType": kind}}})


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


AGENTS = {
    "codex": RealAgent(
        _codex,
        lambda path: call("exec_command", cmd=f"echo hello > {path}"),
        lambda command: call("exec_command", cmd=command),
        reports_denials=False,
    ),
    "gemini": RealAgent(
        _gemini,
        lambda path: call("write_file", file_path=str(path), content="hello\n"),
        lambda command: call("run_shell_command", command=command, description="x"),
        model="gemini-2.5-pro",
    ),
    "qwen": RealAgent(
        _qwen,
        lambda path: call("write_file", file_path=str(path), content="hello\n"),
        lambda command: call("run_shell_command", command=command, description="x", is_background=False),
    ),
    "opencode": RealAgent(
        _opencode,
        lambda path: call("write", filePath=str(path), content="hello\n"),
        lambda command: call("bash", command=command, description="x"),
        model="fake/m1",
    ),
    "copilot": RealAgent(
        _copilot,
        lambda path: call("create", path=str(path), file_text="hello\n"),
        lambda command: call("bash", command=command, description="x"),
    ),
}


ADAPTERS = {  # programs that provide ACP for one that does not
    "claude-agent-acp": RealAgent(
        _claude,
        lambda path: call("Write", file_path=str(path), content="hello\n"),
        lambda command: call("Bash", command=command, description="x"),
        model="",
    ),
    "codex-acp": AGENTS["codex"]._replace(model=""),
}


def turns(wanted: list[Turn]) -> Callable[[Request], Turn]:
    """These turns, in order, for requests that have tools; titles and memories get a separate answer."""

    def take(request: Request) -> Turn:
        if not request.tool_entries:
            return say("A title")
        return wanted.pop(0) if len(wanted) > 1 else wanted[0]

    return take


class Seat(RealSeat):
    """A workspace in which the executor runs one of the real agents."""

    def __init__(
        self, name: str, place: Path, llm: FakeLlm, permissions: Any = "accept-edits", kind: str = ""
    ) -> None:
        self.agent = (AGENTS | ADAPTERS)[name]
        settings = ExecutorSettings(command=str(agent_path(CACHE, name)), permissions=permissions)
        executor = ExecutorRegistry().get(kind or name)(name, settings, DefaultCommandRunner())
        home = place / "home"
        env = {"HOME": str(home), **self.agent.environment(llm.url, home)}
        super().__init__(place, executor, env, self.agent.model)


def real_world(name: str, place: Path, llm: FakeLlm) -> World:
    """A project whose agent is the real one."""
    world = World(place)
    agent, home = AGENTS[name], Path(world.environ["HOME"])
    program = {f"OSTLER_{name.upper()}_PATH": str(agent_path(CACHE, name))}
    chosen = {"OSTLER_RUN__EXECUTOR": name, "OSTLER_RUN__MODEL": agent.model}
    world.environ |= {**agent.environment(llm.url, home), **program, **chosen}
    return world
