"""The login that a model uses: which account an agent logs in to, from its program and its variables."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from hashlib import blake2b
from pathlib import Path

from ostler.config.settings import ExecutorSettings
from ostler.executors.protocol import Capabilities, Executor, select_environment
from ostler.executors.registry import find_section, resolve_type
from ostler.model.model_config import Login, ModelConfig

# Variables that decide which account or address is used; others, such as the length of answers, do not.
_SECRETS = ("*_KEY", "*_KEY_ID", "*_TOKEN", "*_TOKEN_BEDROCK", "*_CONTENT", "*_CREDENTIALS", "*_PASSWORD")
_PLACES = ("*_CONFIG_DIR", "*_HOME", "*_CONFIG", "*_BASE_URL", "*_API_BASE", "*_ENDPOINT", "*_HOST")
_NAMES = ("*_PROFILE", "*_PROJECT", "*_USE_*", "*_ORG_ID", "*_ORGANIZATION", "*_REGION", "*_CUSTOM_HEADERS")
_MARK = "@"  # separates the type of an executor from what makes its login different


def identify_login(
    model: ModelConfig,
    executor: Executor,
    executors: Mapping[str, ExecutorSettings],
    environ: Mapping[str, str],
    project: str,
) -> Login:
    """Return the login of a model's calls; projects with the same login share its limits."""
    section, kind = find_section(model.executor, executors), resolve_type(model.executor, executors)
    if not executor.capabilities.has_account:
        return Login(f"{kind}{_MARK}{_digest(project)}", kind)
    variables = _login_variables(executor.capabilities, {**environ}, {**section.env, **model.env})
    parts = [section.command, *(f"{name}={value}" for name, value in sorted(variables.items()))]
    if not any(parts):
        return Login(kind, kind)
    label = _describe(section.command, variables, environ.get("HOME", ""))
    return Login(f"{kind}{_MARK}{_digest(*parts)}", f"{kind} ({label})")


def _login_variables(
    capabilities: Capabilities, environ: Mapping[str, str], own: Mapping[str, str]
) -> dict[str, str]:
    variables = {**select_environment(capabilities, environ), **own}
    patterns = (*_SECRETS, *_PLACES, *_NAMES)
    return {name: value for name, value in variables.items() if value and _matches(name, patterns)}


def _describe(command: str, variables: Mapping[str, str], home: str) -> str:
    """Return what makes the login different; values of secrets are replaced by a digest."""
    parts = [Path(command).name] if command else []
    for name, value in sorted(variables.items()):
        if _matches(name, _SECRETS):
            parts.append(f"{name} {_digest(value)[:4]}")
        else:
            parts.append(_shorten(value, home))
    return ", ".join(parts)


def _shorten(value: str, home: str) -> str:
    return f"~{value.removeprefix(home)}" if home and value.startswith(f"{home}/") else value


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _digest(*parts: str) -> str:
    return blake2b("\0".join(parts).encode("utf-8", "surrogateescape"), digest_size=6).hexdigest()
