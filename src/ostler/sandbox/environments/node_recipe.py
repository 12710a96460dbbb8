"""The recipe of node_modules: what package-lock.json names."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from ostler.sandbox.checkout import Checkout
from ostler.sandbox.environments.interpreter import describe_program, find_program
from ostler.sandbox.environments.recipe import NoEnvironment, Recipe
from ostler.sandbox.readable import has_file

NODE_MODULES = "node_modules"
_LOCKFILES = ("npm-shrinkwrap.json", "package-lock.json")
_MANIFEST = "package.json"
_SETTINGS = ".npmrc"
_COMMAND = "npm ci --no-audit --no-fund --no-update-notifier"
_ARCHIVE = "file:"


class _Package(msgspec.Struct, frozen=True):
    resolved: str | bool = ""


class _Lock(msgspec.Struct, frozen=True):
    packages: dict[str, _Package] = {}


def plan_node(checkout: Checkout, environ: Mapping[str, str], setup: str) -> Recipe:
    """Return the recipe for the lockfile of the commit; raises NoEnvironment if there is none."""
    directory = checkout.directory
    lockfile = next((name for name in _LOCKFILES if has_file(directory / name)), None)
    node, npm = find_program("node", environ), find_program("npm", environ)
    if lockfile is None or node is None or npm is None:
        missing = "package-lock.json" if lockfile is None else "node and npm"
        raise NoEnvironment(f"there is no {missing} to install node_modules with")
    files = {lockfile: (directory / lockfile).read_bytes()}
    files |= {_SETTINGS: (directory / _SETTINGS).read_bytes()} if has_file(directory / _SETTINGS) else {}
    for name in _list_local(files[lockfile], lockfile):
        path = Path(os.path.realpath(directory / name))
        if not path.is_relative_to(directory) or not has_file(path):
            raise NoEnvironment(f"{lockfile} names {name}, which is not in the project")
        files[name] = _strip_scripts(path) if path.name == _MANIFEST else path.read_bytes()
    facts = (*describe_program(node, environ), os.path.realpath(npm), setup)
    return Recipe("node", (lockfile,), files, _COMMAND, facts)


def _list_local(content: bytes, lockfile: str) -> list[str]:
    """Return the manifests and archives of the project that the lockfile names."""
    try:
        packages = msgspec.json.decode(content, type=_Lock).packages
    except msgspec.MsgspecError as error:
        raise NoEnvironment(f"{lockfile} cannot be read: {error}") from error
    if "" not in packages:
        raise NoEnvironment(f"{lockfile} has an old format; npm install upgrades it")
    local = [
        os.path.normpath(Path(name) / _MANIFEST) for name in packages if NODE_MODULES not in Path(name).parts
    ]
    resolved = [one.resolved for one in packages.values() if isinstance(one.resolved, str)]
    archives = [os.path.normpath(one.removeprefix(_ARCHIVE)) for one in resolved if one.startswith(_ARCHIVE)]
    return [*dict.fromkeys((*local, *archives))]


def _strip_scripts(path: Path) -> bytes:
    """Return a manifest without scripts: npm would run those of the project, whose files are missing."""
    try:
        content: dict[str, Any] = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise NoEnvironment(f"{path.name} cannot be read: {error}") from error
    content.pop("scripts", None)
    return msgspec.json.encode(content, order="sorted")
