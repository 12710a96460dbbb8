"""What a person does about a code: one phrase each, for the screens and for the reference."""

from __future__ import annotations

from ostler.errors import Code, Warn

_C = Code
LOG = "read what it said: ostler log ID"
AGAIN = "nothing: it is tried again by itself; if it stays, read ostler log ID"
REPORT = "please report it, with the log that the message names"

CURES: dict[Code, str] = {
    _C.AGENT_NOT_FOUND: "ostler doctor shows which agents work here",
    _C.AGENT_INCOMPATIBLE: "ostler doctor shows the agent's version; update it or Ostler",
    _C.SPAWN_FAILED: "close other programs, or run fewer tasks at once",
    _C.AGENT_FAILED: LOG,
    _C.AGENT_KILLED: LOG,
    _C.AGENT_OOM: "raise memory_mb of its pool in [pools], or run fewer tasks at once",
    _C.CRASH_LOOP: "start the agent by hand to see why it dies",
    _C.TIMEOUT: "raise run.timeout_seconds or make the task smaller",
    _C.IDLE_TIMEOUT: "raise run.idle_timeout_seconds if the agent needs long silences",
    _C.NEEDS_INPUT: "answer it: ostler resume ID -m TEXT",
    _C.NO_RESULT: LOG,
    _C.RESPONSE_EMPTY: LOG,
    _C.SESSION_NOT_FOUND: LOG,
    _C.SESSION_IN_USE: LOG,
    _C.RESUME_UNSUPPORTED: "use an executor that can resume; ostler executors lists what each can do",
    _C.OUTPUT_LIMIT: LOG,
    _C.RATE_LIMITED: "nothing: it goes on when the limit ends; ostler models shows when",
    _C.QUOTA_EXCEEDED: "nothing: it goes on when the limit ends; a second account in [[models]] helps",
    _C.BILLING: "put the account at your provider in order",
    _C.OVERLOADED: "wait a while",
    _C.AUTH_FAILED: "log in to the agent, or correct its key",
    _C.MODEL_NOT_FOUND: "correct the model's name",
    _C.API_ERROR: LOG,
    _C.NETWORK: "check the connection",
    _C.STREAM_BROKEN: LOG,
    _C.PROMPT_TOO_LARGE: "shorten the task",
    _C.REFUSED: LOG,
    _C.MODELS_EXHAUSTED: "ostler models shows how each one stands",
    _C.SLOT_TIMEOUT: "raise the pool's size in [pools], or run fewer tasks at once",
    _C.TASK_NOT_EXECUTABLE: "ostler show ID says how it stands and what can be done",
    _C.CONFLICT: AGAIN,
    _C.AGENT_BLOCKED: "read why, then answer: ostler resume ID -m TEXT",
    _C.STUCK: "read the failure, then say what to do differently: ostler resume ID -m TEXT",
    _C.ITERATION_LIMIT: "let it go on: ostler resume ID; or make the task smaller",
    _C.GATE_REJECTED: "say what to change: ostler resume ID -m TEXT; or ostler approve ID",
    _C.GATE_UNRUNNABLE: "make the gate's command run here; then ostler retry ID",
    _C.BUDGET_EXCEEDED: "raise [budget] in ostler.toml, or give more with --budget-usd",
    _C.DEPENDENCY_FAILED: "retry the task that failed, or go on without it: ostler resume ID",
    _C.ABORTED: "nothing, or ostler retry ID if it was a mistake",
    _C.INTERRUPTED: "ostler run --all goes on where it was",
    _C.GIT_NO_COMMITS: 'git commit --allow-empty -m "first commit"',
    _C.GIT_LOCKED: AGAIN,
    _C.GIT_CORRUPT: "restore the repository; git fsck says what is damaged",
    _C.BRANCH_EXISTS: "rename or delete the branch that the message names",
    _C.WORKTREE_LOST: AGAIN,
    _C.MERGE_CONFLICT: "let the agent solve it: ostler resume ID -m TEXT; or solve it on its branch",
    _C.PUSH_REJECTED: "read the remote's words in ostler show ID; mend that",
    _C.PUBLISH_FAILED: "read why in ostler show ID; mend that",
    _C.LFS_UNAVAILABLE: "install git-lfs",
    _C.SKILL_NOT_FOUND: "ostler skills list names those that there are",
    _C.CONTEXT_NOT_FOUND: "write the file, or take it out of the task",
    _C.INPUT_NOT_FOUND: "write the file, or take it out of the task's inputs",
    _C.WORKSPACE_WRITE_FAILED: "make the place writable",
    _C.PATH_ESCAPE: "use a path inside the project",
    _C.DISK_FULL: "free some space; ostler cleanup helps",
    _C.DISK_LIMIT: LOG,
    _C.CONFIG_INVALID: "correct it",
    _C.USAGE: "ostler --help, or --help after the command",
    _C.STATE_BUSY: AGAIN,
    _C.STATE_CORRUPT: "restore .ostler/ostler.db from a backup; the branches and worktrees are whole",
    _C.STATE_VERSION: "use the newer Ostler that wrote it",
    _C.STORAGE_ERROR: "check the disk",
    _C.SANDBOX_UNAVAILABLE: "do what the message says, or choose other permissions for the agent",
    _C.UNKNOWN: REPORT,
}

WARNINGS: dict[Warn, tuple[str, str]] = {
    Warn.RESPONSE_TRUNCATED: (
        "the answer was cut at its longest",
        "raise max_tokens, or make the task smaller",
    ),
    Warn.NO_MARK: ("the agent changed files and did not say that it was done", "look at ostler diff ID"),
    Warn.PERMISSION_DENIED: (
        "the agent was not allowed something",
        "ostler log ID shows what; allow it in the agent's own settings",
    ),
}
