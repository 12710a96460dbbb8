"""The registries of npm, pnpm and Yarn."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import msgspec

from ostler.sandbox.network.indexes.found import Found, Index, join_found
from ostler.sandbox.network.indexes.tools import NoAnswer, Tools
from ostler.sandbox.network.indexes.user_file import read_other_file, read_user_file

_PREFIX = "npm_config_"
# Corepack would install a tool in order to answer.
_NO_INSTALL = {
    "COREPACK_ENABLE_NETWORK": "0",
    "COREPACK_ENABLE_DOWNLOAD_PROMPT": "0",
    "COREPACK_ENABLE_PROJECT_SPEC": "0",
}


def find_npm(tools: Tools) -> Found:
    """Return the registries of npm and pnpm: the default and those of scopes."""
    answers = {name: _ask(name, program, tools) for name in ("npm", "pnpm") if (program := tools.find(name))}
    values = [one for one in answers.values() if isinstance(one, dict)]
    known = frozenset(key for one in values for key, value in one.items() if value)

    def read(found: Mapping[str, Any]) -> Found:
        # A tool that answered has the right precedence; it does not print a value with a password.
        return _read_npmrc({key: value for key, value in found.items() if key not in known})

    files = [
        read_user_file(_user_file(tools), "pairs", read),
        read_other_file(tools.cwd / ".npmrc", "pairs", read),
        read_other_file(tools.cwd / "pnpm-workspace.yaml", "yaml", _read_workspace),
        read(
            {name[len(_PREFIX) :].lower(): value for name, value in tools.environ.items() if _sets_npm(name)}
        ),
    ]
    failed = [one for one in answers.values() if isinstance(one, Found)]
    return join_found([*files, *failed, *(_read_answer(one) for one in values)])


def _sets_npm(name: str) -> bool:
    return name.lower().startswith(_PREFIX)


def _read_workspace(values: Mapping[str, Any]) -> Found:
    """Return the registries in the settings of pnpm."""
    named = values.get("registries")
    pairs = cast("dict[str, Any]", named).items() if isinstance(named, dict) else ()
    scopes = {f"{name}:registry": url for name, url in pairs}
    return _read_npmrc({**values, **scopes, "@default:registry": scopes.get("default:registry")})


def _user_file(tools: Tools) -> Path:
    named = tools.environ.get("npm_config_userconfig") or tools.environ.get("NPM_CONFIG_USERCONFIG")
    return tools.locate(named) if named else tools.home / ".npmrc"


def _ask(name: str, program: str, tools: Tools) -> dict[str, Any] | Found:
    """Return the values of a tool, or that it did not answer."""
    try:
        # npm finds the .npmrc of a workspace above the project; pnpm would install the version of a project.
        cwd = tools.cwd if name == "npm" else Path("/")
        answer = tools.ask([program, "config", "list", "--json"], cwd=cwd, extra=_NO_INSTALL)
        return msgspec.json.decode(answer[max(0, answer.find("{")) :], type=dict[str, Any])
    except (NoAnswer, msgspec.MsgspecError) as error:
        return Found(notes=(f"{name} was not asked for its registries: {error}",), failed=True)


def _read_answer(values: Mapping[str, Any]) -> Found:
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
