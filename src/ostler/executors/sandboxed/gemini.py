"""Gemini CLI in a sandbox."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from ostler.executors.sandboxed.keys import (
    BEARER,
    Headers,
    Key,
    fixed,
    read_file,
    read_variables,
    select_keys,
)
from ostler.executors.sandboxed.needs import PLACEHOLDER, Login, ModelAccess, Outside, SandboxNeeds
from ostler.sandbox.home.contents import HomeContents, HomeFile, Table
from ostler.sandbox.home.tables import find_part, merge, read_table, set_part
from ostler.sandbox.network.policy import ModelRoute

_API = "https://generativelanguage.googleapis.com"
_LOGIN_API = "https://cloudcode-pa.googleapis.com"
_MODEL_PATHS = (
    "generateContent",
    "streamGenerateContent",
    "countTokens",
    "embedContent",
    "batchEmbedContents",
)
_PATHS = tuple(
    f"/{version}/models/*:{name}" for version in ("v1", "v1beta", "v1alpha") for name in _MODEL_PATHS
)
_LOGIN_PATHS = ("/v1internal:*", "/v1internal/operations/*")
_KEYS = (Key("GEMINI_API_KEY", "x-goog-api-key"), Key("GOOGLE_API_KEY", "x-goog-api-key"))
_OFF = ("", "0", "false", "no")
_TYPE = "security.auth.selectedType"
_SETTINGS = ".gemini/settings.json"
_LOGINS = (".gemini/oauth_creds.json", ".gemini/google_accounts.json", ".gemini/.env")


def find_access(outside: Outside, url: str) -> ModelAccess | None:
    """Return the calls through the proxy; None for Vertex AI, which uses other credentials."""
    env = _effective_environment(outside)
    if env.get("GOOGLE_GENAI_USE_VERTEXAI", "").lower() not in _OFF:
        return None
    for key in select_keys(env, _KEYS):
        upstream = env.get("GOOGLE_GEMINI_BASE_URL") or _API
        route = ModelRoute(upstream, _PATHS, fixed({key.header: env[key.variable]}), "gemini")
        return ModelAccess(route, {"GOOGLE_GEMINI_BASE_URL": url, key.variable: PLACEHOLDER})
    path = _find_home(outside) / "oauth_creds.json"
    if not read_file(path).get("access_token"):
        return None
    upstream = env.get("CODE_ASSIST_ENDPOINT") or _LOGIN_API
    route = ModelRoute(upstream, _LOGIN_PATHS, partial(_read_bearer, path), "gemini")
    # With these variables gemini uses the token as it is: it neither checks nor renews it.
    inside = {"GOOGLE_GENAI_USE_GCA": "true", "GOOGLE_CLOUD_ACCESS_TOKEN": PLACEHOLDER}
    inside |= {"CODE_ASSIST_ENDPOINT": url}
    return ModelAccess(
        route, inside, login=Login(partial(_read_expiry, path), ("--prompt", "Answer with OK."))
    )


def _read_bearer(path: Path) -> Headers:
    return {"authorization": f"{BEARER}{read_file(path).get('access_token', '')}"}


def _read_expiry(path: Path) -> float | None:
    found = read_file(path).get("expiry_date")
    return found / 1000 if isinstance(found, int | float) else None


def _contents(defaults: Table, outside: Outside, access: ModelAccess | None) -> HomeContents:
    del access
    settings = HomeFile(
        _SETTINGS,
        left_out=("mcpServers", "hooks", "extensions", "telemetry", "context.fileName", "contextFileName"),
        change=partial(_change_settings, defaults, outside),
    )
    names = ("GEMINI.md", "extensions", "commands", "skills", "policies")
    left_out = tuple(f".gemini/{name}" for name in names)
    return HomeContents((settings,), left_out, {".gemini": _find_home(outside)})


def _change_settings(defaults: Table, outside: Outside, settings: Table) -> Table:
    """Return the settings over those of Ostler, with the kind of the login, so that gemini does not ask."""
    settings = merge(defaults, settings)
    if find_part(settings, _TYPE):
        return settings
    keys = select_keys(_effective_environment(outside), _KEYS)
    return set_part(settings, _TYPE, "gemini-api-key" if keys else "oauth-personal")


def _effective_environment(outside: Outside) -> dict[str, str]:
    """Return the variables as gemini uses them; its file does not override others."""
    return {**read_variables(_find_home(outside) / ".env"), **outside.env}


def _find_home(outside: Outside) -> Path:
    return Path(outside.env.get("GEMINI_CLI_HOME") or outside.home) / ".gemini"


def make_needs(defaults: bytes) -> SandboxNeeds:
    """Return what gemini needs; `defaults` are the settings of Ostler, which those of the user override."""
    return SandboxNeeds(
        partial(_contents, read_table(_SETTINGS, defaults) or {}),
        find_access,
        removed=("GEMINI_CLI_HOME",),
        logins=_LOGINS,
    )
