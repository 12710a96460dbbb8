"""OpenAI Codex, headless: `codex exec --json`, the prompt on stdin.

Codex names its thread itself, in its first line, and counts tokens for the whole thread. How often it tries
its provider again is part of the provider's own configuration: there is no switch for all of them.
"""

from __future__ import annotations

from msgspec.structs import replace

from ostler.errors import Code
from ostler.executors import known
from ostler.executors.codex_stream import decode
from ostler.executors.paper import paper_for
from ostler.executors.program import Dialect, ProgramExecutor, Start, listening
from ostler.executors.protocol import Capabilities
from ostler.executors.verdict import Manner
from ostler.model.call import AgentCall, CallResult, OnEvent, Permissions

CAPABILITIES = Capabilities(
    resumes=True,
    reports_usage=True,
    structured_output=True,
    own_sandbox=True,
    environment=("OPENAI_*", "CODEX_HOME", "CODEX_API_KEY", "CODEX_ACCESS_TOKEN", "CODEX_CA_CERTIFICATE"),
)

# Without the first two a run waits five seconds for a server that it does not need.
_QUIET = ("features.plugins=false", "features.apps=false", "check_for_update_on_startup=false")
_PRIVATE = ("analytics.enabled=false", 'approval_policy="never"')

# `exec resume` has no --sandbox: the configuration works for both.
_PERMISSIONS: dict[Permissions, tuple[str, ...]] = {
    "ask": ("-c", 'sandbox_mode="read-only"'),
    "accept-edits": ("-c", 'sandbox_mode="workspace-write"'),
    "skip": ("--dangerously-bypass-approvals-and-sandbox",),
}

MANNER = Manner(
    program="codex",
    decode=decode,
    words={
        r"no rollout found|no (thread|session|conversation) found": Code.SESSION_NOT_FOUND,
        r"quota exceeded": Code.QUOTA_EXCEEDED,
    },
)


def arguments(start: Start) -> tuple[str, ...]:
    """`exec`, or `exec resume ID`; the last dash says that the prompt is on stdin."""
    settings = tuple(word for setting in (*_QUIET, *_PRIVATE) for word in ("-c", setting))
    return (
        *(("exec", "resume") if start.resume else ("exec",)),
        *("--json", "--skip-git-repo-check"),
        *settings,
        *_PERMISSIONS[start.permissions],
        *(("--model", start.model) if start.model else ()),
        *(("--output-schema", start.schema) if start.schema else ()),
        *((start.session_id, "-") if start.resume else ("-",)),
    )


class CodexExecutor(ProgramExecutor):
    """Runs codex."""

    dialect = Dialect(known.CODEX, CAPABILITIES, arguments, listening(MANNER))

    async def _once(self, call: AgentCall, on_event: OnEvent, *, resume: bool) -> tuple[CallResult, str]:
        """See ProgramExecutor; it wants its schema in a file, which is no file of the workspace."""
        if not call.schema:
            return await super()._once(call, on_event, resume=resume)
        with paper_for(call.transcript, "schema.json", call.schema.encode()) as path:
            return await super()._once(replace(call, schema=path), on_event, resume=resume)
