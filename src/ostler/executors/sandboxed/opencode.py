"""OpenCode in a sandbox: the provider of the model gets the address of the proxy."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import cast

from msgspec import Struct

from ostler.executors.sandboxed.keys import BEARER, fixed, read_file
from ostler.executors.sandboxed.needs import PLACEHOLDER, ModelAccess, Outside, SandboxNeeds
from ostler.sandbox.home.contents import HomeContents, HomeFile, Table
from ostler.sandbox.home.tables import find_part, merge, read_table, remove_part
from ostler.sandbox.network.policy import ModelRoute, Wire


class _Api(Struct, frozen=True):
    """How the requests of a provider differ."""

    wire: Wire
    header: str
    prefix: str
    paths: tuple[str, ...]
    default_url: str = ""


_OPENAI_PATHS = ("/responses", "/chat/completions", "/completions", "/embeddings", "/models")
_COMPATIBLE = _Api("openai", "authorization", BEARER, _OPENAI_PATHS)
_APIS = {
    "anthropic": _Api("anthropic", "x-api-key", "", ("/messages",), "https://api.anthropic.com/v1"),
    "openai": _Api("openai", "authorization", BEARER, _OPENAI_PATHS, "https://api.openai.com/v1"),
    "google": _Api(
        *("gemini", "x-goog-api-key", "", ("/models/*",)),
        "https://generativelanguage.googleapis.com/v1beta",
    ),
}
_KEYS = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "google": ("GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"),
}
_CONFIG, _DATA = ".config/opencode", ".local/share/opencode"
_CONTENT = "OPENCODE_CONFIG_CONTENT"
_LEFT_OUT = ("mcp", "plugin", "instructions", "command")
_REFERENCE = re.compile(r"\{(env|file):([^}]+)\}")


def find_access(outside: Outside, url: str) -> ModelAccess | None:
    """Return the calls through the proxy; None when the provider or its address is not known."""
    config = _merge_configs(outside)
    name = _find_provider(outside, config)
    provider = _table(config, f"provider.{name}")
    options = _table(provider, "options")
    api = _find_api(name, str(provider.get("npm", "")))
    upstream = _resolve(str(options.get("baseURL") or api.default_url), outside)
    key = _find_key(name, options, outside)
    if not name or not upstream or not key:
        return None
    headers = {
        one.lower(): _resolve(str(value), outside) for one, value in _table(options, "headers").items()
    }
    headers[api.header] = f"{api.prefix}{key}"
    ours = {"provider": {name: {"options": {"baseURL": url, "apiKey": PLACEHOLDER}}}}
    inside = merge(_clean(_read_extra(outside)), ours)
    route = ModelRoute(upstream, api.paths, fixed(headers), api.wire)
    removed = ("OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR", "OPENCODE_AUTH_CONTENT")
    return ModelAccess(route, {_CONTENT: json.dumps(inside)}, removed)


def _find_provider(outside: Outside, config: Table) -> str:
    """Return the provider of the model; without a model, the first that has a key."""
    model = outside.model or str(config.get("model", ""))
    if "/" in model:
        return model.partition("/")[0]
    return next((name for name in _KEYS if _find_key(name, {}, outside)), "")


def _find_api(name: str, package: str) -> _Api:
    return (
        _APIS.get(package.removeprefix("@ai-sdk/"))
        or (_COMPATIBLE if package else None)
        or _APIS.get(name, _COMPATIBLE)
    )


def _find_key(name: str, options: Table, outside: Outside) -> str:
    if own := options.get("apiKey"):
        return _resolve(str(own), outside)
    stored = _table(read_file(_find_data(outside) / "auth.json"), name)
    if stored.get("type") == "api":
        return str(stored.get("key", ""))
    return next((outside.env[key] for key in _KEYS.get(name, ()) if outside.env.get(key)), "")


def _resolve(text: str, outside: Outside) -> str:
    """Return a value without its references {env:NAME} and {file:PATH}."""

    def read(found: re.Match[str]) -> str:
        if found[1] == "env":
            return outside.env.get(found[2], "")
        path = found[2].replace("~", str(outside.home), 1) if found[2].startswith("~") else found[2]
        try:
            return (_find_config(outside) / path).read_text(errors="replace").strip()
        except OSError:
            return ""

    return _REFERENCE.sub(read, text)


def contents(outside: Outside, access: ModelAccess | None) -> HomeContents:
    """Return the settings that are copied, and what is left out."""
    change = _hide_keys if access else None
    names = ("opencode.json", "opencode.jsonc", "config.json")
    files = tuple(HomeFile(f"{_CONFIG}/{name}", left_out=_LEFT_OUT, change=change) for name in names)
    folders = (
        "AGENTS.md",
        "agent",
        "agents",
        "command",
        "commands",
        "plugin",
        "plugins",
        "skill",
        "skills",
        "tool",
    )
    left_out = tuple(f"{_CONFIG}/{name}" for name in folders)
    return HomeContents(files, left_out, {_CONFIG: _find_config(outside), _DATA: _find_data(outside)})


def _clean(config: Table) -> Table:
    for key in _LEFT_OUT:
        config = remove_part(config, key)
    return _hide_keys(config)


def _hide_keys(config: Table) -> Table:
    """Return the settings without keys and headers of providers."""
    providers = _table(config, "provider")
    for name in providers:
        for key in ("apiKey", "headers"):
            config = remove_part(config, f"provider.{name}.options.{key}")
    return config


def _merge_configs(outside: Outside) -> Table:
    """Return the settings in the order of opencode: the user's, the named file, the project, the variable."""
    folders = (_find_config(outside), Path(outside.cwd))
    merged: Table = {}
    for folder in folders:
        for name in ("config.json", "opencode.json", "opencode.jsonc"):
            merged = merge(merged, read_file(folder / name))
    return merge(merged, _read_extra(outside))


def _read_extra(outside: Outside) -> Table:
    """Return the settings that variables hold or name."""
    named = outside.env.get("OPENCODE_CONFIG")
    file = read_file(Path(named)) if named else {}
    return merge(file, read_table(_CONTENT, outside.env.get(_CONTENT, "").encode()) or {})


def _find_config(outside: Outside) -> Path:
    if chosen := outside.env.get("OPENCODE_CONFIG_DIR"):
        return Path(chosen)
    return Path(outside.env.get("XDG_CONFIG_HOME") or outside.home / ".config") / "opencode"


def _find_data(outside: Outside) -> Path:
    return Path(outside.env.get("XDG_DATA_HOME") or outside.home / ".local/share") / "opencode"


def _table(table: Table, key: str) -> Table:
    found = find_part(table, key)
    return cast(Table, found) if isinstance(found, dict) else {}


NEEDS = SandboxNeeds(
    contents,
    find_access,
    # The list of models is on another host; the model of the task is in the settings or built in.
    env={"OPENCODE_DISABLE_MODELS_FETCH": "1"},
    logins=(f"{_DATA}/auth.json",),
)
