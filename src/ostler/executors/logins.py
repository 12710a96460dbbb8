"""The login that a model uses: which account an agent logs in to, from its program and its variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from fnmatch import fnmatchcase
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path

from ostler.config.settings import ExecutorSettings
from ostler.executors.protocol import Capabilities, Executor, select_environment
from ostler.executors.registry import find_section, resolve_type
from ostler.model.policy.model_config import LOGIN_MARK, Login, ModelConfig
from ostler.secrets.redact import redact_text

# Variables that decide which account or address is used; others, such as the length of answers, do not.
_SECRETS = (
    *("*_KEY", "*_KEY_ID", "*_TOKEN", "*_TOKEN_BEDROCK", "*_CONTENT", "*_CREDENTIALS", "*_PASSWORD"),
    "*_HEADERS",
)
_FOLDERS = ("HOME", "*_CONFIG_DIR", "*_HOME", "*_CONFIG")
_ADDRESSES = ("*_BASE_URL", "*_API_BASE", "*_ENDPOINT", "*_HOST")
_NAMES = ("*_PROFILE", "*_PROJECT", "*_USE_*", "*_ORG_ID", "*_ORGANIZATION", "*_REGION")
# Where an agent looks when the variable is not set, below the home directory.
_DEFAULT_FOLDERS = {"CLAUDE_CONFIG_DIR": ".claude", "CODEX_HOME": ".codex", "HOME": ""}


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
        return Login(f"{kind}{LOGIN_MARK}{_digest(project)}", kind)
    home, own = environ.get("HOME", ""), {**section.env, **model.env}
    variables = _login_variables(executor.capabilities, environ, own, home)
    arguments = _login_arguments((*section.args, *model.args))
    parts = [section.command, *(f"{name}={value}" for name, value in sorted(variables.items())), *arguments]
    if not any(parts):
        return Login(kind, kind)
    label = _describe(section.command, variables, arguments, home)
    return Login(f"{kind}{LOGIN_MARK}{_digest(*parts)}", redact_text(f"{kind} ({label})"))


def _login_variables(
    capabilities: Capabilities, environ: Mapping[str, str], own: Mapping[str, str], home: str
) -> dict[str, str]:
    """Return the variables that decide about the account; a directory that is used anyway does not."""
    variables = {**select_environment(capabilities, environ), **own}
    patterns = (*_SECRETS, *_FOLDERS, *_ADDRESSES, *_NAMES)
    found = {name: value for name, value in variables.items() if value and _matches(name, patterns)}
    found |= {name: os.path.normpath(value) for name, value in found.items() if _matches(name, _FOLDERS)}
    usual = {name: os.path.normpath(f"{home}/{folder}") for name, folder in _DEFAULT_FOLDERS.items()}
    return {name: value for name, value in found.items() if usual.get(name) != value}


def _login_arguments(args: tuple[str, ...]) -> list[str]:
    """Return the arguments that select a profile or a provider: --profile work, -c model_provider=azure."""
    found = [arg for arg in args if arg.startswith(("--profile=", "model_provider"))]
    return [*found, *(value for flag, value in pairwise(args) if flag == "--profile")]


def _describe(command: str, variables: Mapping[str, str], arguments: list[str], home: str) -> str:
    """Return what makes the login different; values of secrets are replaced by a digest."""
    parts = [Path(command).name] if command else []
    for name, value in sorted(variables.items()):
        if _matches(name, _SECRETS):
            parts.append(f"{name} {_digest(value)[:4]}")
        elif _matches(name, _ADDRESSES):
            parts.append(_find_host(value))
        else:
            parts.append(_shorten(value, home))
    return ", ".join((*parts, *arguments))


def _find_host(address: str) -> str:
    """Return the host of an address: the rest may contain a key."""
    return address.rpartition("://")[2].partition("/")[0].partition("?")[0].rpartition("@")[2]


def _shorten(value: str, home: str) -> str:
    return f"~{value.removeprefix(home)}" if home and value.startswith(f"{home}/") else value


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _digest(*parts: str) -> str:
    return blake2b("\0".join(parts).encode("utf-8", "surrogateescape"), digest_size=6).hexdigest()
