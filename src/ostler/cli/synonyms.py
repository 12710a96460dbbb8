"""Commands that people know from other programs, and the commands to use here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ostler.config.checks.expect import nearest

_DELETE = "ostler rm for a task that never ran, ostler archive or ostler purge for an ended one"
_STOP = "ostler cancel, or ostler pause to continue later"
# Below 0.7 "store" is similar to "stop"; a command of three letters with two exchanged is at 0.67.
_MIN_SIMILARITY = 0.7
_MIN_SIMILARITY_OF_COMMANDS = 0.65
_REVIEW = "ostler status to see what waits for you, then ostler approve or ostler reject"
_FAILED = "ostler status --failed, then ostler retry --failed"
_BREAK = "ostler run ID --break PHASE, or --step"

# A key with two words has precedence over its first word.
SYNONYMS = {
    "list": "ostler status",
    "ls": "ostler status",
    "tasks": "ostler status",
    "task": "ostler status, ostler new or ostler set",
    "task list": "ostler status",
    "task show": "ostler show ID",
    "task status": "ostler show ID",
    "task add": "ostler new TITLE",
    "task new": "ostler new TITLE",
    "task set": "ostler set ID FIELD=VALUE, or ostler pause, resume or cancel for the status",
    "task abandon": "ostler cancel ID",
    "task input": "ostler new TITLE --skill NAME --input PATH",
    "task output": "ostler new TITLE --skill NAME --output PATH",
    "task-new": "ostler new TITLE",
    "add": "ostler new",
    "create": "ostler new",
    "start": "ostler run, or ostler run --all for every ready task",
    "up": "ostler worker, or ostler run --all --detach",
    "down": _STOP,
    "stop": _STOP,
    "abandon": "ostler cancel",
    "abort": "ostler cancel",
    "close": "ostler cancel, or ostler archive for an ended task",
    "restart": "ostler retry, or ostler rewind ID --to PHASE",
    "reset": "ostler retry, or ostler rewind ID --to PHASE",
    "advance": "ostler run ID, or ostler skip ID --phase NAME --reason TEXT",
    "finalize": "ostler merge",
    "pr": 'ostler run with git.on_complete = "pr" in ostler.toml',
    "answer": "ostler resume ID -m TEXT",
    "reply": "ostler resume ID -m TEXT",
    "continue": "ostler resume ID, then ostler run ID",
    "logs": "ostler log",
    "tail": "ostler log ID -f",
    "transcript": "ostler log ID, or ostler show ID --attempt N",
    "transcripts": "ostler log ID, or ostler show ID --files",
    "history": "ostler events",
    "info": "ostler show",
    "inspect": "ostler show",
    "describe": "ostler show",
    "queue": "ostler status",
    "prune": "ostler worktree prune, ostler cleanup or ostler purge",
    "clear": "ostler cleanup, ostler archive or ostler purge",
    "accept": "ostler approve for a task, ostler gates accept or ostler config accept for settings",
    "update": "ostler edit, or ostler set in a script",
    "validate": "ostler config validate",
    "check": "ostler doctor, or ostler config validate",
    "setup": "ostler init",
    "login": "ostler doctor, which prints the login command of your agent",
    "search": "ostler status TEXT",
    "find": "ostler status TEXT",
    "filter": "ostler status; its options select tasks",
    "delete": _DELETE,
    "remove": _DELETE,
    "hide": "ostler archive",
    "unarchive": "ostler archive --undo",
    "decision": _REVIEW,
    "decisions": _REVIEW,
    "deadletter": _FAILED,
    "dead-letter": _FAILED,
    "quarantine": _FAILED,
    "requeue": "ostler retry",
    "debug": _BREAK,
    "debugger": _BREAK,
    "breakpoint": _BREAK,
    "breakpoints": _BREAK,
    "reschedule": "ostler set ID not_before=TIME",
    "decompose": "ostler import --checklist FILE",
    "processes": "ostler ps",
    "orphans": "ostler ps --orphans, and ostler kill --orphans to end them",
    "monitor": "ostler watch",
    "ui": "ostler serve, or ostler watch in the terminal",
    "board": "ostler serve, or ostler watch in the terminal",
    "dashboard": "ostler serve, or ostler watch in the terminal",
    "checkpoint": "ostler show ID for the commits of a task, ostler run ID to continue it",
    "session": "ostler agent sessions, or ostler attach ID for a task",
    "sessions": "ostler agent sessions, or ostler attach ID for a task",
    "prompt": "ostler agent list; the prompts of roles are files in .agents/roles",
    "template": "ostler new -f FILE.md",
    "goal": "ostler pipeline run, or ostler new TITLE --skill NAME",
    "skill": "ostler skills",
    "budget": "ostler cost; ostler config show lists the settings of budget",
    "telemetry": "ostler config show, section telemetry",
    "settings": "ostler config",
    "quota": "ostler limits",
    "tokens": "ostler cost",
    "usage": "ostler cost, or ostler limits for the windows of accounts",
    "version": "ostler --version",
}


def describe_unknown(args: Sequence[str], commands: Iterable[str]) -> str:
    """Return the error for an unknown command, with the command to use where one is close."""
    for name in (" ".join(args[:2]), args[0]):
        if name in SYNONYMS:
            return f'unknown command "{name}": use {SYNONYMS[name]}'
    known = [*commands]
    single = [name for name in SYNONYMS if " " not in name]
    closest = nearest(args[0], [*known, *single], _MIN_SIMILARITY)
    closest = closest or nearest(args[0], known, _MIN_SIMILARITY_OF_COMMANDS)
    suggestion = SYNONYMS.get(closest or "", f"ostler {closest}")
    return f'unknown command "{args[0]}"' + (f": did you mean {suggestion}?" if closest else "")
