"""What a child may know of our environment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

# fmt: off
BASE = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TZ", "TERM", "TMPDIR", "XDG_*",
    "*_PROXY", "*_proxy", "SSL_CERT_*", "NODE_EXTRA_CA_CERTS", "VIRTUAL_ENV", "PYENV_ROOT",
    "NVM_DIR", "JAVA_HOME", "GOPATH", "GOROOT", "CARGO_HOME", "RUSTUP_HOME",
)
# fmt: on

_NEVER = ("CLAUDECODE", "SSH_AUTH_SOCK")
_BY_NAME_ONLY = "CLAUDE_CODE_"  # an agent inside an agent must not take the outer one's switches for its own


def child_environment(
    inherited: Mapping[str, str], allow: Iterable[str], extra: Mapping[str, str]
) -> dict[str, str]:
    """The base list and what `allow` names out of `inherited`; `extra` wins and is never filtered."""
    patterns = (*BASE, *allow)
    passed = {name: value for name, value in inherited.items() if _may_pass(name, patterns)}
    return {**passed, **extra}


def _may_pass(name: str, patterns: Sequence[str]) -> bool:
    if name in _NEVER:
        return False
    if name.startswith(_BY_NAME_ONLY):
        patterns = [pattern for pattern in patterns if _names_more(pattern)]
    return name in patterns or any(fnmatchcase(name, wild) for wild in patterns if not wild.isidentifier())


def _names_more(pattern: str) -> bool:
    """CLAUDE_CODE_USE_* names something; CLAUDE_CODE_* and CLAUDE* only sweep things in."""
    return pattern.startswith(_BY_NAME_ONLY) and pattern[len(_BY_NAME_ONLY) :] not in ("", "*")
