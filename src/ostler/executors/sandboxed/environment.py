"""The variables of a program in a sandbox with a private home directory."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

from ostler.executors.protocol import Capabilities
from ostler.executors.sandboxed.needs import ModelAccess, SandboxNeeds
from ostler.model.call import AgentCall
from ostler.sandbox.network.variables import set_proxy
from ostler.secrets.variables import is_secret_name

# They name directories that are not in the sandbox; the defaults below HOME and /tmp are.
_MOVED = ("XDG_*", "TMPDIR")


def enter_sandbox(env: Mapping[str, str], call: AgentCall) -> dict[str, str]:
    """Return the variables of a program in the sandbox of a call."""
    kept = {name: value for name, value in env.items() if not _matches(name, _MOVED)}
    return set_proxy(kept, call.model_url) if call.model_url else kept


def enter_sandbox_as(
    needs: SandboxNeeds,
    capabilities: Capabilities,
    access: ModelAccess | None,
    env: Mapping[str, str],
    call: AgentCall,
) -> dict[str, str]:
    """Return the variables of an agent in the sandbox of a call; without keys if the proxy has them."""
    kept = {name: value for name, value in env.items() if name not in needs.removed}
    if access is None:
        return {**enter_sandbox(kept, call), **needs.env}
    removed = {*access.removed, *(name for name in kept if _is_key(name, capabilities))}
    kept = {name: value for name, value in kept.items() if name not in removed}
    return {**enter_sandbox(kept, call), **needs.env, **access.env}


def _is_key(name: str, capabilities: Capabilities) -> bool:
    patterns = (
        *capabilities.environment,
        *(one for more in capabilities.environment_with.values() for one in more),
    )
    return is_secret_name(name) and _matches(name, patterns)


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
