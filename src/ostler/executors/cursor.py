"""Cursor's agent, headless: `cursor-agent --print --output-format stream-json`, the prompt on stdin.

Written from Cursor's documentation alone (cursor.com/docs/cli): the program cannot be had without an account,
so nothing here was tried on the real one. By those pages the chat's id is in the first line, `--resume ID`
continues it, and a failure is a sentence on stderr and an exit that is not 0, without JSON. Where a version
wants `--chat-id` or `--trust`, executors.cursor.args is the place. Print mode has no flag for edits alone:
with accept-edits the agent does what .cursor/cli.json allows.
"""

from __future__ import annotations

from ostler.errors import Code
from ostler.executors import known
from ostler.executors.cursor_stream import decode
from ostler.executors.program import Dialect, ProgramExecutor, Start, listening
from ostler.executors.protocol import Capabilities
from ostler.executors.verdict import Manner
from ostler.model.call import Permissions

CAPABILITIES = Capabilities(resumes=True, environment=("CURSOR_*",))

_PERMISSIONS: dict[Permissions, tuple[str, ...]] = {
    "ask": ("--mode", "ask"),
    "accept-edits": (),
    "skip": ("--force",),
}

MANNER = Manner(
    program="cursor-agent",
    decode=decode,
    words={
        r"(chat|session|conversation).{0,60}(not found|does not exist)": Code.SESSION_NOT_FOUND,
        r"cursor_api_key|cursor-agent login|agent login": Code.AUTH_FAILED,
    },
)


def arguments(start: Start) -> tuple[str, ...]:
    return (
        *("--print", "--output-format", "stream-json"),
        *_PERMISSIONS[start.permissions],
        *(("--model", start.model) if start.model else ()),
        *(("--resume", start.session_id) if start.resume else ()),
    )


class CursorExecutor(ProgramExecutor):
    """Runs cursor-agent."""

    dialect = Dialect(known.CURSOR, CAPABILITIES, arguments, listening(MANNER))
