"""How to fix each error: one phrase per code, for the screens and the reference."""

from __future__ import annotations

from ostler.errors import Code, WarningCode

_C = Code
READ_LOG = "read its log: ostler log ID"
RETRIED = "nothing: it is retried automatically; if it persists, read ostler log ID"
REPORT = "please report it, with the log that the message names"

FIXES: dict[Code, str] = {
    _C.AGENT_NOT_FOUND: "ostler doctor shows which agents work here",
    _C.AGENT_INCOMPATIBLE: "ostler doctor shows the agent's version; update it or Ostler",
    _C.SPAWN_FAILED: "close other programs, or run fewer tasks at once",
    _C.AGENT_FAILED: READ_LOG,
    _C.AGENT_KILLED: READ_LOG,
    _C.AGENT_OOM: "raise memory_mb of its pool in [pools], or run fewer tasks at once",
    _C.CRASH_LOOP: "start the agent by hand to see why it exits",
    _C.TIMEOUT: "raise run.timeout_seconds, or the timeout of the task or model, or make the task smaller",
    _C.IDLE_TIMEOUT: "raise run.idle_timeout_seconds if the agent is idle for long",
    _C.NEEDS_INPUT: "answer it: ostler resume ID -m TEXT",
    _C.NO_RESULT: READ_LOG,
    _C.RESPONSE_EMPTY: READ_LOG,
    _C.SESSION_NOT_FOUND: READ_LOG,
    _C.SESSION_IN_USE: READ_LOG,
    _C.RESUME_UNSUPPORTED: "use an executor that can resume; ostler executors lists what each can do",
    _C.OUTPUT_LIMIT: READ_LOG,
    _C.RATE_LIMITED: "nothing: it resumes when the limit ends; ostler models shows when",
    _C.QUOTA_EXCEEDED: "nothing: it resumes when the limit ends; a second account in [[models]] helps",
    _C.BILLING: "check the billing of your account",
    _C.OVERLOADED: "wait a while",
    _C.AUTH_FAILED: "log in to the agent, or correct its key",
    _C.MODEL_NOT_FOUND: "correct the model's name",
    _C.API_ERROR: READ_LOG,
    _C.NETWORK: "check the connection",
    _C.STREAM_BROKEN: READ_LOG,
    _C.PROMPT_TOO_LARGE: "shorten the task",
    _C.REFUSED: READ_LOG,
    _C.MODELS_EXHAUSTED: "ostler models shows the state of each model",
    _C.SLOT_TIMEOUT: "raise the pool's size in [pools], or run fewer tasks at once",
    _C.TASK_NOT_EXECUTABLE: "ostler show ID shows its status and the next command",
    _C.CONFLICT: RETRIED,
    _C.AGENT_BLOCKED: "read why, then answer: ostler resume ID -m TEXT",
    _C.STUCK: "read the failure, then describe what to do differently: ostler resume ID -m TEXT",
    _C.ITERATION_LIMIT: "continue it: ostler resume ID; or make the task smaller",
    _C.GATE_REJECTED: "describe what to change: ostler resume ID -m TEXT; or ostler approve ID",
    _C.GATE_UNRUNNABLE: "make the gate's command run here; then ostler retry ID",
    _C.BUDGET_EXCEEDED: "ostler retry ID --budget-usd USD, or raise [budget] in ostler.toml",
    _C.DEPENDENCY_FAILED: "retry the task that failed, or continue without it: ostler resume ID",
    _C.ABORTED: "nothing, or ostler retry ID if it was a mistake",
    _C.INTERRUPTED: "resume it: ostler run --all",
    _C.GIT_NO_COMMITS: 'git commit --allow-empty -m "first commit"',
    _C.GIT_LOCKED: RETRIED,
    _C.GIT_CORRUPT: "restore the repository; git fsck lists the damage",
    _C.BRANCH_EXISTS: "rename or delete the branch that the message names, or check out another one",
    _C.WORKTREE_LOST: RETRIED,
    _C.MERGE_CONFLICT: "let the agent solve it: ostler resume ID -m TEXT; or solve it on its branch",
    _C.PUSH_REJECTED: "read the remote's message in ostler show ID and fix its cause",
    _C.PUBLISH_FAILED: "read the message in ostler show ID and fix its cause",
    _C.REMOTE_UNREACHABLE: "make git ls-remote work for that remote on this machine; then run again",
    _C.LFS_UNAVAILABLE: "install git-lfs",
    _C.SKILL_NOT_FOUND: "list the skills: ostler skills list",
    _C.CONTEXT_NOT_FOUND: "make the file readable, or delete it",
    _C.INPUT_NOT_FOUND: "create the file",
    _C.WORKSPACE_WRITE_FAILED: "make the path writable",
    _C.PATH_ESCAPE: "use a path inside the project",
    _C.DISK_FULL: "free some space; ostler cleanup helps",
    _C.DISK_LIMIT: "delete large files of the task, or raise sandbox.max_disk_mb",
    _C.CONFIG_INVALID: "correct it",
    _C.USAGE: "ostler --help, or --help after the command",
    _C.STATE_BUSY: RETRIED,
    _C.STORE_UNAVAILABLE: "check the PostgreSQL server and store.url; a run waits for it",
    _C.ENGINE_UNAVAILABLE: "start the Temporal server, or correct engine.address; workers wait for it",
    _C.STATE_CORRUPT: "ostler journal rebuild, or restore a backup; branches and worktrees are intact",
    _C.STATE_VERSION: "use the newer Ostler that wrote it",
    _C.STORAGE_ERROR: "check the disk",
    _C.BLOBS_UNAVAILABLE: "check [blobs] url and endpoint, the connection, and the AWS_* variables",
    _C.JOURNAL_LOST: "ostler journal rebuild restores it; branches and worktrees are intact",
    _C.JOURNAL_IN_USE: "stop the other process (ostler run, worker or serve), then repeat the command",
    _C.SANDBOX_UNAVAILABLE: "ostler doctor shows the fix; or change sandbox.tier, or the agent's permissions",
    _C.HELPER_STUCK: RETRIED,
    _C.STEP_REPEATS: "fix the cause that the message names",
    _C.UNKNOWN: REPORT,
}

WARNINGS: dict[WarningCode, tuple[str, str]] = {
    WarningCode.RESPONSE_TRUNCATED: (
        "the answer was cut at the length limit",
        "raise max_tokens, or make the task smaller",
    ),
    WarningCode.NO_MARK: (
        "the agent changed files but did not report completion",
        "look at ostler diff ID",
    ),
    WarningCode.PERMISSION_DENIED: (
        "the agent was denied a permission",
        "ostler log ID shows which; allow it in the agent's own settings",
    ),
    WarningCode.GATE_INERT: (
        "a gate passes even when the work is broken, so it checks nothing",
        "correct its command, or accept it: ostler gates accept NAME",
    ),
    WarningCode.CHECKS_WEAKENED: (
        "the work removes, skips or changes tests that existed before",
        "look at ostler diff ID; then ostler approve ID or ostler reject ID",
    ),
    WarningCode.NO_CHANGES: (
        "the commits of the work change no file, or the document is still the one that was rejected",
        "read ostler log ID; then ostler approve ID, or ostler reject ID -m TEXT",
    ),
    WarningCode.NETWORK_REFUSED: (
        "the sandbox refused a connection",
        "if it is needed, add the setting that ostler show ID names; then ostler config accept",
    ),
    WarningCode.FILE_REFUSED: (
        "the sandbox refused access to a file",
        "if it is needed, add the setting that ostler show ID names; then ostler config accept",
    ),
    WarningCode.FILES_LEFT: (
        "the agent left files that no commit contains, such as ignored ones",
        "copy what you need from the directory that ostler show ID names",
    ),
    WarningCode.BRANCH_MOVED: (
        "a branch, a tag or the stash of the repository changed while the task ran, not by Ostler",
        "look at the commit that ostler show ID names; git reflog BRANCH has the earlier one",
    ),
    WarningCode.REPOSITORY_CHANGED: (
        "settings, hooks or exclude patterns of the repository changed while the task ran",
        "look at the files that ostler show ID names",
    ),
    WarningCode.CONFIGURATION_CHANGED: (
        "the agent created or changed files that agents, editors or shells execute",
        "look at the files that ostler show ID names before you start a program in the worktree or merge",
    ),
    WarningCode.REBUILT: (
        "the journal was rebuilt and lacks records of the task, such as the results of its gates",
        "look at ostler diff ID and run the checks on its commit",
    ),
    WarningCode.SECRETS_REDACTED: (
        "the document contains [redacted:KIND] in place of a secret, or of text that has the form of one",
        "read the document; if the text is no secret, write it by hand",
    ),
    WarningCode.PUSH_REFUSED: (
        "the agent tried to push, which only Ostler does",
        "ostler diff ID; git.on_complete sets how the work is published",
    ),
}


def describe_warning(warning: str) -> str:
    """Return a warning of a task as text: its code with its meaning, or the text that it is."""
    known = WARNINGS.get(WarningCode(warning)) if warning in list(WarningCode) else None
    return f"{warning}: {known[0]}" if known else warning


def find_prerequisite(code: Code) -> str:
    """Return what to do before a retry; empty if the fix is a command for the task itself."""
    fix = FIXES[code]
    return "" if " ID" in fix or fix.startswith("nothing") else fix
