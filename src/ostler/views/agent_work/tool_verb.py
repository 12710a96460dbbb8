"""What a tool does, in one word: agents name the same tools differently."""

from __future__ import annotations

import re

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
# The first word of a tool's name that is listed decides; names of agents differ in their order and style.
_VERBS = {
    "bash": "run",
    "shell": "run",
    "run": "run",
    "exec": "run",
    "execute": "run",
    "command": "run",
    "terminal": "run",
    "fetch": "fetch",
    "web": "look up",
    "read": "read",
    "view": "read",
    "open": "read",
    "cat": "read",
    "multi": "edit",
    "edit": "edit",
    "replace": "edit",
    "patch": "edit",
    "change": "edit",
    "notebook": "edit",
    "write": "write",
    "create": "write",
    "delete": "delete",
    "move": "move",
    "grep": "search",
    "glob": "search",
    "search": "search",
    "find": "search",
    "list": "list",
    "ls": "list",
    "todo": "plan",
    "todos": "plan",
    "plan": "plan",
    "ask": "ask",
    "task": "delegate",
    "agent": "delegate",
    "think": "think",
}
_MCP = "mcp__"  # before the name of a server and of its tool
_WEB = {"fetch": "fetch", "search": "look up"}


def find_verb(tool: str) -> str:
    """Return the verb for a tool; its name if it has none."""
    words = [word.lower() for word in _WORDS.findall(tool)]
    if "web" in words:
        return next((_WEB[word] for word in words if word in _WEB), _VERBS["web"])
    own_name = tool.removeprefix(_MCP).replace("__", " ") if tool.startswith(_MCP) else tool
    return next((_VERBS[word] for word in words if word in _VERBS), own_name)
