"""The built-in ACP agents: how each is started, and how they differ."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from ostler.executors import codex, copilot, gemini, opencode, qwen
from ostler.executors.claude import executor as claude
from ostler.executors.discover import COPILOT, GEMINI, OPENCODE, QWEN, AgentProgram
from ostler.executors.failures import Rule
from ostler.executors.limits.retries import RetryLines
from ostler.executors.opencode import repair_cache
from ostler.executors.program.spec import DefaultSettings, Repair
from ostler.executors.protocol import Capabilities
from ostler.executors.sandboxed.needs import SandboxNeeds
from ostler.model.call import Permissions


class AcpAgent(Struct, frozen=True):
    """What is specific to one ACP agent."""

    program: AgentProgram
    args: tuple[str, ...]
    capabilities: Capabilities
    model_flag: str = ""  # empty: the model is set in the session
    modes: dict[Permissions, tuple[str, ...]] = {}  # for agents that decide by mode instead of asking
    default_env: dict[str, str] = {}
    permission_env: dict[Permissions, dict[str, str]] = {}
    default_settings: DefaultSettings | None = None
    repair: Repair | None = None
    retry_lines: RetryLines = RetryLines()  # in its error output
    rules: tuple[Rule, ...] = ()  # of its own failures
    sandbox: SandboxNeeds | None = None


_CLAUDE_ADAPTER = "npm install -g @agentclientprotocol/claude-agent-acp"
_CODEX_ADAPTER = "npm install -g @agentclientprotocol/codex-acp"

# The second name of each is that of the older adapter by Zed.
_CODEX_MODES: dict[Permissions, tuple[str, ...]] = {
    "ask": ("read-only",),
    "accept-edits": ("workspace-write", "auto"),
    "skip": ("agent-full-access", "full-access"),
}

AGENTS: dict[str, AcpAgent] = {
    "acp": AcpAgent(
        program=AgentProgram("acp", "the agent's own installer"),
        args=(),
        capabilities=Capabilities(resumes=True, reports_usage=True, reports_cost=True),
    ),
    "claude": AcpAgent(
        program=AgentProgram("claude-acp", _CLAUDE_ADAPTER, "claude-agent-acp"),
        args=(),
        capabilities=replace(claude.CAPABILITIES, accepts_session_id=False, structured_output=False),
        default_env=claude.DEFAULT_ENV,
        sandbox=claude.NEEDS,
    ),
    "codex": AcpAgent(
        program=AgentProgram("codex-acp", _CODEX_ADAPTER),
        args=(),
        capabilities=replace(codex.CAPABILITIES, structured_output=False),
        modes=_CODEX_MODES,
        default_env=codex.DEFAULT_ENV,
        retry_lines=codex.RETRY_LINES,
        sandbox=codex.NEEDS,
    ),
    "copilot": AcpAgent(
        program=COPILOT,
        args=("--acp", "--no-auto-update", "--disable-client-telemetry"),
        capabilities=replace(copilot.CAPABILITIES, accepts_session_id=False, reports_usage=True),
        model_flag="--model",
        default_env=copilot.DEFAULT_ENV,
        sandbox=copilot.COPILOT_NEEDS,
    ),
    "gemini": AcpAgent(
        program=GEMINI,
        args=("--acp", "--skip-trust"),
        # It announces session/load, but 0.61 does not implement it correctly: the load truncates the session
        # file of the same minute, the replay continues after the response and mixes old text with new,
        # and the next start deletes the rest.
        capabilities=replace(gemini.CAPABILITIES, accepts_session_id=False, resumes=False),
        model_flag="--model",
        default_env=gemini.DEFAULT_ENV,
        rules=gemini.OUTPUT.failures.rules,
        default_settings=gemini.DEFAULT_SETTINGS,
        sandbox=gemini.NEEDS,
    ),
    "opencode": AcpAgent(
        program=OPENCODE,
        args=("acp",),
        capabilities=opencode.CAPABILITIES,
        default_env=opencode.DEFAULT_ENV,
        permission_env=opencode.PERMISSION_ENV,
        repair=repair_cache,
        retry_lines=opencode.RETRY_LINES,
        sandbox=opencode.NEEDS,
    ),
    "qwen": AcpAgent(
        program=QWEN,
        args=("--acp",),
        capabilities=replace(qwen.CAPABILITIES, accepts_session_id=False, reports_usage=False),
        model_flag="--model",
        default_env=qwen.DEFAULT_ENV,
        default_settings=qwen.DEFAULT_SETTINGS,
        sandbox=qwen.QWEN_NEEDS,
    ),
}
