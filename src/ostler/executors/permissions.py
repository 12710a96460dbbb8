"""Refuses to start an agent without permission checks and without a sandbox.

The executors call `require_sandbox` where they build the command line, so that no way to start an agent omits
it: a run, `agent spawn`, a model of the pool, or the library.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ostler.config.settings import ExecutorSettings
from ostler.errors import Code, OstlerError
from ostler.model.call import AgentCall, Permissions, PermissionSetting

ALLOW_HINT = "set sandbox.allow_unsandboxed_skip = true to allow it"

# Agents whose headless mode approves every tool.
WITHOUT_CHECKS = frozenset({"crush", "kilocode", "kimi"})

# Program -> arguments that turn its permission checks off. An option and its value are joined by "=".
_UNCHECKED: dict[str, str] = {
    "amp": r"--dangerously-allow-all",
    "claude": r"--dangerously-skip-permissions|--permission-mode=bypassPermissions",
    "codex": r"--dangerously-bypass-approvals-and-sandbox|--yolo|.*\bdanger-full-access\b.*",
    "copilot": r"--allow-all(-tools)?|--yolo|--allow-tool=(shell|\*)",
    "cursor": r"--force|-f|--yolo",
    "droid": r"--skip-permissions-unsafe|--auto=high",
    "gemini": r"--yolo|-y|--approval-mode=yolo",
    "opencode": r"--auto",
    "qwen": r"--yolo|-y|--approval-mode=yolo",
}

# Program -> a variable that replaces its permission checks, and the values that turn them off.
_UNCHECKED_ENV: dict[str, tuple[str, str]] = {
    "opencode": ("OPENCODE_PERMISSION", r'\s*("allow"|\{.*"\*"\s*:\s*"allow".*\})\s*'),
}


def resolve_permissions(setting: PermissionSetting, call: AgentCall) -> Permissions:
    """Return the permissions of one start: those of the settings, unless the sandbox decides."""
    if setting != "auto":
        return setting
    return "skip" if call.in_verified_sandbox else "accept-edits"


def require_sandbox(name: str, settings: ExecutorSettings, allowed: bool, program: str = "") -> None:
    """Raise SANDBOX_UNAVAILABLE when an agent would skip all permission checks and this is not allowed.

    `program` is the name of an agent whose arguments are known; its arguments are then checked too.
    """
    reason = "" if allowed else find_skipped_checks(settings, program)
    if reason:
        what = f"executors.{name}.{reason} lets the agent do anything on this machine"
        raise OstlerError(Code.SANDBOX_UNAVAILABLE, what, ALLOW_HINT)


def create_unchecked_error(name: str) -> OstlerError:
    """Return the error of an agent without permission checks that is not in a sandbox."""
    message = f"{name} approves every tool in its headless mode, and it is not in a sandbox"
    allow = f'executors.{name}.permissions = "skip" and sandbox.allow_unsandboxed_skip = true'
    return OstlerError(Code.SANDBOX_UNAVAILABLE, message, f"use a sandbox (sandbox.tier), or set {allow}")


def find_skipped_checks(settings: ExecutorSettings, program: str = "") -> str:
    """Return the setting that turns the permission checks off, or an empty string."""
    if settings.permissions == "skip":
        return 'permissions = "skip"'
    program = program.removesuffix("-acp")
    pattern = _UNCHECKED.get(program, "")
    for key, args in (("args", settings.args), ("preset_args", settings.preset_args or ())):
        found = next((arg for arg in _join_values(args) if pattern and re.fullmatch(pattern, arg)), "")
        if found:
            return f'{key} = ["{found}"]'
    variable, values = _UNCHECKED_ENV.get(program, ("", ""))
    value = settings.env.get(variable, "")
    return f"env.{variable} = '{value}'" if value and re.fullmatch(values, value, re.DOTALL) else ""


def _join_values(args: tuple[str, ...]) -> Iterator[str]:
    """Yield each argument, alone and with the one after it as its value."""
    for arg, value in zip(args, (*args[1:], ""), strict=False):
        yield arg
        yield f"{arg}={value}"
