"""Gemini CLI, headless: `gemini --output-format stream-json`, the prompt on stdin.

Its exit codes are its own: an HTTP status comes back modulo 256, and SIGTERM ends it with 0.
"""

from __future__ import annotations

from ostler.errors import Code
from ostler.executors import known
from ostler.executors.failure import STATUSES
from ostler.executors.gemini_stream import decode
from ostler.executors.program import Defaults, Dialect, ProgramExecutor, Start, listening
from ostler.executors.protocol import Capabilities
from ostler.executors.verdict import Manner
from ostler.model.call import Permissions

CAPABILITIES = Capabilities(
    resumes=True,
    takes_our_id=True,
    reports_usage=True,
    environment=("GEMINI_*", "GOOGLE_*", "CODE_ASSIST_*"),
)

SWITCHES = {"GEMINI_TELEMETRY_ENABLED": "false"}

# With its own ten attempts a limit would stay hidden for minutes: the worker owns the retries.
DEFAULTS = Defaults(
    "GEMINI_CLI_SYSTEM_DEFAULTS_PATH",
    b"""{
  "general": {"maxAttempts": 2, "enableAutoUpdate": false, "enableAutoUpdateNotification": false},
  "privacy": {"usageStatisticsEnabled": false}
}
""",
)

_PERMISSIONS: dict[Permissions, str] = {"ask": "default", "accept-edits": "auto_edit", "skip": "yolo"}

MANNER = Manner(
    program="gemini",
    decode=decode,
    words={
        r"no previous sessions found|invalid session identifier|session .* not found": Code.SESSION_NOT_FOUND,
        r"session id .* already exists": Code.SESSION_IN_USE,
        r"quota.{0,80}(per day|daily)|exhausted your (daily )?(quota|capacity)": Code.QUOTA_EXCEEDED,
        r"exceeded your current quota": Code.RATE_LIMITED,  # Google's word for requests per minute, too
        r"empty response": Code.RESPONSE_EMPTY,
        r"ModelNotFoundError": Code.MODEL_NOT_FOUND,
        r"not running in a trusted|untrusted": Code.AGENT_INCOMPATIBLE,
    },
    http={status % 256: status for status in (*STATUSES, 400, 500, 502, 504)},
    statuses={
        41: Code.AUTH_FAILED,
        42: Code.AGENT_INCOMPATIBLE,
        52: Code.AGENT_INCOMPATIBLE,
        53: Code.ITERATION_LIMIT,
        55: Code.AGENT_INCOMPATIBLE,
    },
)


def arguments(start: Start) -> tuple[str, ...]:
    """Without --skip-trust a new worktree is a strange folder, and nothing may be edited in it."""
    return (
        *("--output-format", "stream-json", "--skip-trust"),
        *("--approval-mode", _PERMISSIONS[start.permissions]),
        *(("--model", start.model) if start.model else ()),
        *(("--resume" if start.resume else "--session-id", start.session_id) if start.session_id else ()),
    )


class GeminiExecutor(ProgramExecutor):
    """Runs gemini."""

    dialect = Dialect(known.GEMINI, CAPABILITIES, arguments, listening(MANNER), SWITCHES, defaults=DEFAULTS)
