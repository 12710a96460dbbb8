"""The registries of npm, pnpm and Yarn."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import msgspec

from ostler.sandbox.network.indexes.found import Found, Index, join_found
from ostler.sandbox.network.indexes.tools import NoAnswer, Tools
from ostler.sandbox.network.indexes.user_file import read_other_file, read_user_file

# Corepack would install Yarn in order to answer.
_NO_INSTALL = {"COREPACK_ENABLE_NETWORK": "0", "COREPACK_ENABLE_DOWNLOAD_PROMPT": "0"}


def find_npm(tools: Tools) -> Found:
    """Return the registries of npm and pnpm: the default and those of scopes."""
    files = [
        read_user_file(_user_file(tools), "pairs", _read_npmrc),
        read_other_file(tools.cwd / ".npmrc", "pairs", _read_npmrc),
    ]
    for name in ("npm", "pnpm"):
        if program := tools.find(name):
            files.append(_ask(name, program, tools))
    return join_found(files)


def _user_file(tools: Tools) -> Path:
    named = tools.environ.get("npm_config_userconfig") or tools.environ.get("NPM_CONFIG_USERCONFIG")
    return tools.locate(named) if named else tools.home / ".npmrc"


def _ask(name: str, program: str, tools: Tools) -> Found:
    try:
        # The directory of the project: npm finds the .npmrc of a workspace above it.
        answer = tools.ask([program, "config", "list", "--json"], cwd=tools.cwd)
        values = msgspec.json.decode(answer[max(0, answer.find("{")) :], type=dict[str, Any])
    except (NoAnswer, msgspec.MsgspecError) as error:
        return Found(notes=(f"{name} was not asked for its registries: {error}",), failed=True)
    system = values.get("globalconfig")
    watched = (Path(system),) if isinstance(system, str) else ()
    return join_found([_read_npmrc(values), Found(watched=watched)])


def _read_npmrc(values: Mapping[str, Any]) -> Found:
    urls = [
        value
        for key, value in values.items()
        if isinstance(value, str)
        and (key == "registry" or (key.startswith("@") and key.endswith(":registry")))
    ]
    trusted = values.get("cafile")
    certificates = (trusted,) if isinstance(trusted, str) and trusted else ()
    return Found(tuple(Index("npm", url) for url in urls if "://" in url), certificates=certificates)


def find_yarn(tools: Tools) -> Found:
    """Return the registries of Yarn, classic and current."""
    files = [
        read_user_file(tools.home / ".yarnrc", "words", _read_npmrc),
        read_user_file(tools.home / ".yarnrc.yml", "yaml", _read_yarn),
        read_other_file(tools.cwd / ".yarnrc", "words", _read_npmrc),
        read_other_file(tools.cwd / ".yarnrc.yml", "yaml", _read_yarn),
    ]
    variable = tools.environ.get("YARN_NPM_REGISTRY_SERVER", "")
    files.append(_read_yarn({"npmRegistryServer": variable}))
    if program := tools.find("yarn"):
        files.append(_ask_yarn(program, tools))
    return join_found(files)


def _ask_yarn(program: str, tools: Tools) -> Found:
    """Return the default registry; outside the project, whose settings can name a program to run."""
    problem = "yarn named no registry"
    for key in ("registry", "npmRegistryServer"):  # classic, and current
        try:
            answer = tools.ask([program, "config", "get", key], extra=_NO_INSTALL).strip()
        except NoAnswer as error:
            problem = str(error)
            continue
        if "://" in answer:
            return Found((Index("npm", answer.splitlines()[-1]),))
    return Found(notes=(f"yarn was not asked for its registry: {problem}",), failed=True)


def _read_yarn(values: Mapping[str, Any]) -> Found:
    scopes = values.get("npmScopes")
    tables = [values, *cast("dict[str, Any]", scopes).values()] if isinstance(scopes, dict) else [values]
    urls = [cast("Any", one).get("npmRegistryServer") for one in tables if isinstance(one, Mapping)]
    return Found(tuple(Index("npm", url) for url in urls if isinstance(url, str) and "://" in url))
