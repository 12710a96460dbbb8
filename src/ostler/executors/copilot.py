"""GitHub Copilot CLI, headless: `copilot --output-format json`, the prompt on stdin.

Two things to know: an id that is taken is resumed without a word, and copilot blackens its own API key
wherever it stands in its output, so that a key of one or two letters makes that unreadable.
"""

from __future__ import annotations

from ostler.errors import Code
from ostler.executors import known
from ostler.executors.copilot_stream import decode
from ostler.executors.program import Dialect, ProgramExecutor, Start, listening
from ostler.executors.protocol import Capabilities
from ostler.executors.verdict import Manner
from ostler.model.call import Permissions

CAPABILITIES = Capabilities(
    resumes=True,
    takes_our_id=True,
    environment=("COPILOT_*", "GH_TOKEN", "GITHUB_TOKEN", "GH_HOST"),
)

SWITCHES = {"COPILOT_AUTO_UPDATE": "false"}

_PERMISSIONS: dict[Permissions, tuple[str, ...]] = {
    "ask": (),
    "accept-edits": ("--allow-tool=write",),
    "skip": ("--allow-all-tools", "--allow-all-paths"),
}

MANNER = Manner(
    program="copilot",
    decode=decode,
    words={
        r"no session, task, or name matched": Code.SESSION_NOT_FOUND,
        r"no response was returned": Code.RESPONSE_EMPTY,
        r"no authentication information found": Code.AUTH_FAILED,
    },
)


def arguments(start: Start) -> tuple[str, ...]:
    """Without a person at the keyboard nothing may be asked of one."""
    return (
        *("--output-format", "json", "--no-color", "--no-ask-user", "--no-auto-update"),
        "--disable-client-telemetry",
        *_PERMISSIONS[start.permissions],
        *(("--model", start.model) if start.model else ()),
        *(("--resume" if start.resume else "--session-id", start.session_id) if start.session_id else ()),
    )


class CopilotExecutor(ProgramExecutor):
    """Runs copilot."""

    dialect = Dialect(known.COPILOT, CAPABILITIES, arguments, listening(MANNER), SWITCHES)
