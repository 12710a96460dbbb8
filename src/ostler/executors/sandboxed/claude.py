"""Claude Code in a sandbox."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast

from ostler.executors.sandboxed.keys import (
    BEARER,
    Headers,
    Key,
    KeyHelper,
    ReadHeaders,
    fixed,
    parse_header_lines,
    read_file,
    read_keys,
)
from ostler.executors.sandboxed.needs import PLACEHOLDER, Login, ModelAccess, Outside, SandboxNeeds
from ostler.sandbox.home.contents import HomeContents, HomeFile, Table
from ostler.sandbox.home.tables import find_part
from ostler.sandbox.network.policy import ModelRoute
from ostler.secrets.variables import is_secret_name

_API = "https://api.anthropic.com"
_BASE_URL = "ANTHROPIC_BASE_URL"
_CUSTOM_HEADERS = "ANTHROPIC_CUSTOM_HEADERS"
_PATHS = ("/v1/messages", "/v1/messages/count_tokens")
_KEYS = (
    Key("ANTHROPIC_API_KEY", "x-api-key"),
    Key("ANTHROPIC_AUTH_TOKEN", "authorization", BEARER),
)
_OAUTH = Key("CLAUDE_CODE_OAUTH_TOKEN", "authorization", BEARER)
_CLOUDS = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")
_OFF = ("", "0", "false", "no")
_FAR = 4102444800000  # 2100: claude does not renew the placeholder
_ACCOUNT = ("primaryApiKey", "oauthAccount")
_SETTINGS, _STATE, _CREDENTIALS = ".claude/settings.json", ".claude.json", ".claude/.credentials.json"


def find_access(outside: Outside, url: str) -> ModelAccess | None:
    """Return the calls through the proxy; None for a cloud, whose requests are signed with the keys."""
    env = _effective_environment(outside)
    if any(env.get(name, "").lower() not in _OFF for name in _CLOUDS):
        return None
    read_headers, inside, files, login = _find_credentials(outside, env)
    extra = parse_header_lines(env.get(_CUSTOM_HEADERS, ""))
    route = ModelRoute(
        upstream=env.get(_BASE_URL) or _API,
        paths=_PATHS,
        read_headers=lambda: {**extra, **read_headers()},
        wire="anthropic",
    )
    return ModelAccess(route, {**inside, _BASE_URL: url}, (_CUSTOM_HEADERS,), files=files, login=login)


def _find_credentials(
    outside: Outside, env: Mapping[str, str]
) -> tuple[ReadHeaders, dict[str, str], dict[str, bytes], Login | None]:
    """Return the headers, and the variables and files with placeholders, in the order of claude itself."""
    for keys in (_KEYS, (_OAUTH,)):
        if headers := read_keys(env, keys):
            return (
                fixed(headers),
                {key.variable: PLACEHOLDER for key in keys if env.get(key.variable)},
                {},
                None,
            )
    if helper := read_file(_config_directory(outside) / "settings.json").get("apiKeyHelper"):
        return KeyHelper(str(helper), env), {"ANTHROPIC_API_KEY": PLACEHOLDER}, {}, None
    if key := read_file(_find_state(outside)).get("primaryApiKey"):  # from `claude auth login --console`
        return fixed({"x-api-key": str(key)}), {"ANTHROPIC_API_KEY": PLACEHOLDER}, {}, None
    path = _config_directory(outside) / ".credentials.json"
    login = _read_login(path)
    if not login.get("accessToken"):
        return fixed({}), {}, {}, None
    files = {_CREDENTIALS: json.dumps({"claudeAiOauth": _hide_tokens(login)}).encode()}
    return partial(_read_bearer, path), {}, files, Login(partial(_read_expiry, path), ("auth", "status"))


def _read_login(path: Path) -> Table:
    found = read_file(path).get("claudeAiOauth")
    return cast(Table, found) if isinstance(found, dict) else {}


def _hide_tokens(login: Table) -> Table:
    """Return what claude reads of a login, with a token that is none and never expires."""
    kept = {name: login[name] for name in ("scopes", "subscriptionType", "rateLimitTier") if name in login}
    return {**kept, "accessToken": PLACEHOLDER, "refreshToken": None, "expiresAt": _FAR}


def _read_bearer(path: Path) -> Headers:
    """Return the header of the user's login as it is now: the user's own claude may have renewed it."""
    return {"authorization": f"{BEARER}{_read_login(path).get('accessToken', '')}"}


def _read_expiry(path: Path) -> float | None:
    found = _read_login(path).get("expiresAt")
    return found / 1000 if isinstance(found, int | float) else None


def contents(outside: Outside, access: ModelAccess | None) -> HomeContents:
    """Return the settings that are copied, and what is left out."""
    moved = {".claude": _config_directory(outside), _STATE: _find_state(outside)}
    return HomeContents(
        files=(
            HomeFile(
                _SETTINGS,
                left_out=(
                    *("hooks", "apiKeyHelper", "statusLine", "enabledPlugins", "extraKnownMarketplaces"),
                    *("awsAuthRefresh", "awsCredentialExport", "otelHeadersHelper"),
                    "sandbox",  # of claude itself: it cannot start within another one
                ),
                change=_remove_keys if access else None,
            ),
            HomeFile(
                _STATE,
                keep=(),
                left_out=("mcpServers",),
                secrets=_ACCOUNT,
                change=partial(_accept_dialogs, outside.cwd),
            ),
        ),
        left_out=tuple(
            f".claude/{name}"
            for name in ("CLAUDE.md", "rules", "skills", "agents", "commands", "plugins", "output-styles")
        ),
        moved=moved,
    )


def _remove_keys(settings: Table) -> Table:
    """Return the settings without variables of accounts: the sandbox sets those itself."""
    env = find_part(settings, "env")
    if not isinstance(env, dict):
        return settings
    ours = {_BASE_URL, "CLAUDE_CONFIG_DIR", "HOME", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"}
    variables = cast("dict[str, Any]", env).items()
    kept = {name: value for name, value in variables if name.upper() not in ours and not is_secret_name(name)}
    return {**settings, "env": kept}


def _accept_dialogs(cwd: str, state: Table) -> Table:
    """Return the state of a user who has confirmed the dialogs of the first start and of this directory."""
    project = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    answered = {"approved": [PLACEHOLDER[-20:]], "rejected": []}
    return {
        **state,
        "hasCompletedOnboarding": True,
        "bypassPermissionsModeAccepted": True,
        "customApiKeyResponses": answered,
        "projects": {cwd: project},
    }


def _effective_environment(outside: Outside) -> dict[str, str]:
    """Return the variables as claude uses them: those of its settings override the others."""
    own = read_file(_config_directory(outside) / "settings.json").get("env")
    named = cast("dict[str, Any]", own) if isinstance(own, dict) else {}
    return {**outside.env, **{name: value for name, value in named.items() if isinstance(value, str)}}


def _config_directory(outside: Outside) -> Path:
    return Path(outside.env.get("CLAUDE_CONFIG_DIR") or outside.home / ".claude")


def _find_state(outside: Outside) -> Path:
    chosen = outside.env.get("CLAUDE_CONFIG_DIR")
    return Path(chosen, ".claude.json") if chosen else outside.home / ".claude.json"


NEEDS = SandboxNeeds(
    contents,
    find_access,
    # claude refuses to skip permissions as root, unless this variable names a sandbox.
    env={"IS_SANDBOX": "1"} if os.getuid() == 0 else {},
    removed=("CLAUDE_CONFIG_DIR",),
    logins=(_CREDENTIALS, *(f"{_STATE}#{key}" for key in _ACCOUNT)),
)
