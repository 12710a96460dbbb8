"""The agents that are known to speak ACP: how each is started, and where they differ."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from ostler.executors import claude, codex, copilot, gemini, known, opencode, qwen
from ostler.executors.known import KnownProgram
from ostler.executors.opencode_cache import mend_cache
from ostler.executors.program import Defaults, Mend
from ostler.executors.protocol import Capabilities
from ostler.model.call import Permissions


class AcpAgent(Struct, frozen=True):
    known: KnownProgram
    args: tuple[str, ...]
    capabilities: Capabilities
    model_flag: str = ""  # empty: the model is chosen in the session
    modes: dict[Permissions, tuple[str, ...]] = {}  # for those that decide by mode instead of asking us
    switches: dict[str, str] = {}
    permits: dict[Permissions, dict[str, str]] = {}
    defaults: Defaults | None = None
    mend: Mend | None = None


_CLAUDE_ADAPTER = "npm install -g @agentclientprotocol/claude-agent-acp"
_CODEX_ADAPTER = "npm install -g @agentclientprotocol/codex-acp"

# The second name of each is that of Zed's older adapter.
_CODEX_MODES: dict[Permissions, tuple[str, ...]] = {
    "ask": ("read-only",),
    "accept-edits": ("workspace-write", "auto"),
    "skip": ("agent-full-access", "full-access"),
}

AGENTS: dict[str, AcpAgent] = {
    "acp": AcpAgent(
        known=KnownProgram("acp", "the agent's own installer"),
        args=(),
        capabilities=Capabilities(resumes=True, reports_usage=True, reports_cost=True),
    ),
    "claude": AcpAgent(
        known=KnownProgram("claude-acp", _CLAUDE_ADAPTER, "claude-agent-acp"),
        args=(),
        capabilities=replace(claude.CAPABILITIES, takes_our_id=False, structured_output=False),
        switches=claude.SWITCHES,
    ),
    "codex": AcpAgent(
        known=KnownProgram("codex-acp", _CODEX_ADAPTER),
        args=(),
        capabilities=replace(codex.CAPABILITIES, structured_output=False),
        modes=_CODEX_MODES,
    ),
    "copilot": AcpAgent(
        known=known.COPILOT,
        args=("--acp", "--no-auto-update", "--disable-client-telemetry"),
        capabilities=replace(copilot.CAPABILITIES, takes_our_id=False, reports_usage=True),
        model_flag="--model",
        switches=copilot.SWITCHES,
    ),
    "gemini": AcpAgent(
        known=known.GEMINI,
        args=("--acp", "--skip-trust"),
        # It announces session/load, and 0.61 cannot do it: the load writes a new beginning into the file that
        # is named by the minute, so that a session of the same minute is wiped; the replay goes on after the
        # answer, so that old text runs into the new one; and the start after that deletes what is left.
        capabilities=replace(gemini.CAPABILITIES, takes_our_id=False, resumes=False),
        model_flag="--model",
        switches=gemini.SWITCHES,
        defaults=gemini.DEFAULTS,
    ),
    "opencode": AcpAgent(
        known=known.OPENCODE,
        args=("acp",),
        capabilities=opencode.CAPABILITIES,
        switches=opencode.SWITCHES,
        permits=opencode.PERMITS,
        mend=mend_cache,
    ),
    "qwen": AcpAgent(
        known=known.QWEN,
        args=("--acp",),
        capabilities=replace(qwen.CAPABILITIES, takes_our_id=False, reports_usage=False),
        model_flag="--model",
        switches=qwen.SWITCHES,
        defaults=qwen.DEFAULTS,
    ),
}
