"""OpenCode, headless: `opencode run --format json`, the prompt on stdin.

OpenCode names its session itself, in every line, and has no last line: a step that ends with `stop` is the
end. It would run every tool unasked; OPENCODE_PERMISSION, which only executors.opencode.env overrides, says
what it may do. Its price list is its own: a cost of 0 means that it knows none.
"""

from __future__ import annotations

from ostler.errors import Code
from ostler.executors import known
from ostler.executors.opencode_cache import mend_cache
from ostler.executors.opencode_stream import decode
from ostler.executors.program import Dialect, ProgramExecutor, Start, listening
from ostler.executors.protocol import Capabilities
from ostler.executors.verdict import Manner
from ostler.model.call import Permissions

CAPABILITIES = Capabilities(
    resumes=True,
    reports_usage=True,
    reports_cost=True,
    environment=(
        *("OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR", "OPENCODE_CONFIG_CONTENT", "OPENCODE_AUTH_CONTENT"),
        "OPENCODE_DISABLE_*",
        *("ANTHROPIC_*", "OPENAI_*", "GOOGLE_*", "GEMINI_API_KEY", "OPENCODE_API_KEY", "OPENROUTER_API_KEY"),
        *("DEEPSEEK_API_KEY", "GROQ_API_KEY", "MISTRAL_API_KEY", "XAI_API_KEY", "MOONSHOT_API_KEY"),
    ),
    environment_with={"AWS_BEARER_TOKEN_BEDROCK": ("AWS_*",), "AWS_PROFILE": ("AWS_*",)},
)

SWITCHES = {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_SHARE": "1"}

# Never "ask": with nobody there opencode refuses, and ends the run without another word of the model.
PERMITS: dict[Permissions, dict[str, str]] = {
    "ask": {"OPENCODE_PERMISSION": '{"edit":"deny","bash":"deny","webfetch":"deny"}'},
    "accept-edits": {"OPENCODE_PERMISSION": '{"edit":"allow","bash":"deny","webfetch":"deny"}'},
    "skip": {"OPENCODE_PERMISSION": '{"*":"allow"}'},
}

MANNER = Manner(
    program="opencode",
    decode=decode,
    words={r"session not found|invalid session": Code.SESSION_NOT_FOUND},
)


def arguments(start: Start) -> tuple[str, ...]:
    return (
        *("run", "--format", "json"),
        *(("--auto",) if start.permissions == "skip" else ()),
        *(("--model", start.model) if start.model else ()),
        *(("--session", start.session_id) if start.resume else ()),
    )


class OpencodeExecutor(ProgramExecutor):
    """Runs opencode."""

    dialect = Dialect(
        known.OPENCODE, CAPABILITIES, arguments, listening(MANNER), SWITCHES, PERMITS, mend=mend_cache
    )
