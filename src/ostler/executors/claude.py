"""Claude Code, headless: `claude --print --output-format stream-json`, the prompt on stdin."""

from __future__ import annotations

from ostler.executors import claude_rules, known
from ostler.executors.claude_rules import read_rules
from ostler.executors.claude_verdict import ClaudeListener
from ostler.executors.program import Dialect, ProgramExecutor, Start
from ostler.executors.protocol import Capabilities
from ostler.model.call import AgentCall, CallResult, OnEvent, Permissions, Warned

CAPABILITIES = Capabilities(
    resumes=True,
    takes_our_id=True,
    reports_usage=True,
    reports_cost=True,
    structured_output=True,
    environment=("ANTHROPIC_*", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_*"),
    environment_with={
        "CLAUDE_CODE_USE_BEDROCK": ("AWS_*",),
        "CLAUDE_CODE_USE_VERTEX": ("GOOGLE_*", "CLOUD_ML_REGION", "VERTEX_REGION_*"),
    },
)

# The worker owns the retries; claude's own ten would hide a limit for three minutes.
SWITCHES = {
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


def arguments(start: Start) -> tuple[str, ...]:
    """Resume keeps the model, and never comes with --session-id."""
    return (
        *("--print", "--verbose", "--output-format", "stream-json"),
        *_PERMISSIONS[start.permissions],
        *(("--model", start.model) if start.model else ()),
        *(("--json-schema", start.schema) if start.schema else ()),
        *(("--resume" if start.resume else "--session-id", start.session_id) if start.session_id else ()),
    )


class ClaudeExecutor(ProgramExecutor):
    """Runs Claude Code."""

    dialect = Dialect(
        known=known.CLAUDE,
        capabilities=CAPABILITIES,
        arguments=arguments,
        listen=ClaudeListener,
        switches=SWITCHES,
        at_times=claude_rules.FLAGS,
        system_flag="--append-system-prompt-file",  # not in its help, so that no drift of it can be seen
    )

    async def _run(self, call: AgentCall, on_event: OnEvent, *, resume: bool) -> CallResult:
        for warning in read_rules(call).warnings(self._settings.args):
            on_event(Warned(warning))
        return await super()._run(call, on_event, resume=resume)

    def arguments(self, call: AgentCall, *, resume: bool) -> tuple[str, ...]:
        """See ProgramExecutor.arguments; the project's own tool rules come first (C23)."""
        rules = read_rules(call).flags(self._settings.args)
        return (*rules, *super().arguments(call, resume=resume))
