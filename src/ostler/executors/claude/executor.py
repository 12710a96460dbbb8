"""Claude Code, headless: `claude --print --output-format stream-json`, with the prompt on stdin."""

from __future__ import annotations

from ostler.executors.claude import tool_rules
from ostler.executors.claude.evaluate import ClaudeReader
from ostler.executors.discover import CLAUDE
from ostler.executors.program.executor import ProgramExecutor
from ostler.executors.program.spec import AgentSpec, LaunchOptions
from ostler.executors.protocol import Capabilities
from ostler.executors.sandboxed.claude import NEEDS
from ostler.model.call import Permissions

CAPABILITIES = Capabilities(
    resumes=True,
    accepts_session_id=True,
    reports_usage=True,
    reports_cost=True,
    structured_output=True,
    environment=("ANTHROPIC_*", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_*"),
    environment_with={
        "CLAUDE_CODE_USE_BEDROCK": ("AWS_*",),
        "CLAUDE_CODE_USE_VERTEX": ("GOOGLE_*", "CLOUD_ML_REGION", "VERTEX_REGION_*"),
    },
)

# Ostler does the retries: the ten of claude would hide a rate limit for three minutes.
DEFAULT_ENV = {
    "CLAUDE_CODE_MAX_RETRIES": "2",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
}

_PERMISSIONS: dict[Permissions, tuple[str, ...]] = {
    "ask": (),
    "accept-edits": ("--permission-mode", "acceptEdits"),
    "skip": ("--dangerously-skip-permissions",),
}


def arguments(options: LaunchOptions) -> tuple[str, ...]:
    """Return the arguments of one start; --resume and --session-id exclude each other."""
    session = ("--resume" if options.resume else "--session-id", options.session_id)
    return (
        *("--print", "--verbose", "--output-format", "stream-json"),
        *_PERMISSIONS[options.permissions],
        *(("--model", options.model) if options.model else ()),
        *(("--json-schema", options.schema) if options.schema else ()),
        *(session if options.session_id else ()),
    )


class ClaudeExecutor(ProgramExecutor):
    """Runs Claude Code."""

    spec = AgentSpec(
        program=CLAUDE,
        capabilities=CAPABILITIES,
        arguments=arguments,
        read_output=ClaudeReader,
        default_env=DEFAULT_ENV,
        extra_arguments=tool_rules.extra_arguments,
        optional_flags=tool_rules.FLAGS,
        # The help of claude does not list this flag, so the check of drift cannot cover it.
        system_prompt_flag="--append-system-prompt-file",
        sandbox=NEEDS,
    )
