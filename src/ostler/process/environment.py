"""The environment variables that a child process inherits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

# fmt: off
BASE = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TZ", "TERM", "TMPDIR", "XDG_*",
    "*_PROXY", "*_proxy", "SSL_CERT_*", "NODE_EXTRA_CA_CERTS", "VIRTUAL_ENV", "PYENV_ROOT",
    "NVM_DIR", "JAVA_HOME", "GOPATH", "GOROOT", "CARGO_HOME", "RUSTUP_HOME",
)
# fmt: on

_BLOCKED = ("CLAUDECODE", "SSH_AUTH_SOCK")
_EXPLICIT_PREFIX = "CLAUDE_CODE_"  # settings of an outer agent must not apply to an agent inside it


_PATTERN = re.compile(r"[^\s=$\d][^\s=$]*")  # a name; *, ? and [...] match several


def explain_unusable(pattern: str) -> str:
    """Return why a pattern passes no variable on; empty if it can."""
    if not _PATTERN.fullmatch(pattern):
        return "is not the name of a variable"
    if pattern in _BLOCKED or pattern.rstrip("*?") == _EXPLICIT_PREFIX:
        return "is never passed on"
    return ""


def build_child_environment(
    inherited: Mapping[str, str], allow: Iterable[str], extra: Mapping[str, str]
) -> dict[str, str]:
    """Return the inherited variables that the base list or `allow` names, and all of `extra`."""
    patterns = (*BASE, *allow)
    passed = {name: value for name, value in inherited.items() if _may_pass(name, patterns)}
    return {**passed, **extra}


def _may_pass(name: str, patterns: Sequence[str]) -> bool:
    if name in _BLOCKED:
        return False
    if name.startswith(_EXPLICIT_PREFIX):
        patterns = [pattern for pattern in patterns if _is_specific(pattern)]
    return name in patterns or any(
        fnmatchcase(name, pattern) for pattern in patterns if not pattern.isidentifier()
    )


def _is_specific(pattern: str) -> bool:
    """Return whether the pattern names more than the prefix: CLAUDE_CODE_USE_* does, CLAUDE_CODE_* and
    CLAUDE* do not.
    """
    return pattern.startswith(_EXPLICIT_PREFIX) and pattern[len(_EXPLICIT_PREFIX) :] not in ("", "*")
