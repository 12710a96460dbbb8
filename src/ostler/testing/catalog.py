"""The wire formats and faults of the test kit by name, each with one line."""

from __future__ import annotations

import inspect
import re
from importlib import import_module

from ostler.testing import fake_agent, faults
from ostler.testing.github.faults import FAULTS as GITHUB_FAULTS
from ostler.testing.llm.describe import describe_turn
from ostler.testing.llm.faults import FAULTS as MODEL_FAULTS
from ostler.testing.llm.limit_cases import LIMITS
from ostler.testing.llm.script import Scripted

_KEY = re.compile(r'behaviour\["(\w+)"\]')
AGENTS = ("acp", "claude", "codex", "copilot", "cursor", "gemini", "opencode", "qwen")
APIS = {
    "Anthropic Messages": "/v1/messages",
    "OpenAI Responses": "/v1/responses",
    "OpenAI Chat Completions": "/v1/chat/completions",
    "Gemini": "/v1beta/models/MODEL:generateContent",
}
MODEL_TURNS: dict[str, Scripted] = {**MODEL_FAULTS, **LIMITS}


def list_agents() -> dict[str, str]:
    """Return the wire formats of the fake agent."""
    return {name: _summarize(import_module(f"ostler.testing.wires.{name}")) for name in AGENTS}


def list_agent_faults() -> dict[str, str]:
    named = {name: _summarize(fault) for name, fault in faults.FAULTS.items() if name}
    return {**named, **{name: text.rstrip(".") for name, text in fake_agent.START_FAULTS.items()}}


def list_model_faults() -> dict[str, str]:
    return {name: describe_turn(turn) for name, turn in MODEL_TURNS.items()}


def list_github_faults() -> dict[str, str]:
    return {name: fault.describe() for name, fault in GITHUB_FAULTS.items()}


def _summarize(documented: object) -> str:
    line = (inspect.getdoc(documented) or "").partition("\n")[0].rstrip(".")
    return _KEY.sub(lambda key: key[1].upper(), line)
