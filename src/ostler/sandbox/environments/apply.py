"""Uses environments in the checkout of a gate: variables and links of the checkout lead there."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from ostler.sandbox.checkout import Checkout
from ostler.sandbox.environments.cache import CachedEnvironment
from ostler.sandbox.environments.node_copy import copy_node_modules
from ostler.sandbox.environments.node_recipe import NODE_MODULES, plan_node
from ostler.sandbox.environments.python_layer import PythonLayer, make_layer
from ostler.sandbox.environments.python_recipe import plan_python
from ostler.sandbox.environments.recipe import NoEnvironment, Recipe
from ostler.sandbox.guard import install_guard
from ostler.sandbox.import_paths import extend_python_path, find_import_paths
from ostler.sandbox.links.find import find_links
from ostler.sandbox.links.link import Link, list_directory
from ostler.sandbox.links.python import is_virtual, list_prefixes, list_site_directories

PREFIX = "env:"  # of the name of this isolation
_PYTHON = ("python", "copy")
_KINDS = (*_PYTHON, "node")
_ASIDE = "node"  # in the private directory of the checkout


class AppliedEnvironment(Struct, frozen=True):
    """Variables of the command, and whether a Python program must have loaded the guard."""

    isolation: str
    env: dict[str, str]
    guarded: bool  # the guard is installed
    # An interpreter with links is still reachable: the guard must have been loaded.
    needs_guard: bool


def plan_recipes(
    checkout: Checkout, links: Iterable[Link], environ: Mapping[str, str], setup: str, command: str
) -> list[Recipe]:
    """Return what has to be built so that no link is left; raises NoEnvironment if that is impossible."""
    found = [one for one in links if one.kind not in _KINDS]
    if found:
        raise NoEnvironment(f"no environment removes {found[0].describe()}")
    kinds = {one.kind for one in links}
    recipes: list[Recipe] = []
    if kinds & set(_PYTHON):
        linked = _list_linked(checkout, links, environ)
        named = next((one for one in (*linked, checkout.user) if f"{one}/" in command), None)
        if named is not None:
            raise NoEnvironment(f"the command names a program in {named}")
        recipes.append(plan_python(checkout, linked[0], environ, setup))
    if "node" in kinds:
        recipes.append(plan_node(checkout, environ, setup))
    return recipes


def _list_linked(checkout: Checkout, links: Iterable[Link], environ: Mapping[str, str]) -> list[Path]:
    """Return the Python environments that have links, the one that a command uses first."""
    sources = [Path(os.path.realpath(one.source.parent)) for one in links if one.kind in _PYTHON]
    prefixes = list_prefixes(checkout, environ)
    found = [one for one in prefixes if _contains(one, sources)]
    if not found:
        raise NoEnvironment("the environment with the links was not found")
    return found


def _contains(prefix: Path, sources: Iterable[Path]) -> bool:
    sites = list_site_directories(prefix)
    return any(source.is_relative_to(site) for source in sources for site in sites)


def apply_environment(
    checkout: Checkout,
    links: tuple[Link, ...],
    environ: Mapping[str, str],
    parts: Sequence[tuple[Recipe, CachedEnvironment]],
    undo: contextlib.ExitStack,
) -> AppliedEnvironment:
    """Install the parts in the checkout; `undo` restores it. Raises NoEnvironment if a link is left."""
    env: dict[str, str] = {}
    linked: list[Path] = []
    for recipe, cached in parts:
        if recipe.kind == "python":
            linked = _list_linked(checkout, links, environ)
            roots = [checkout.tree / one for one in find_import_paths(checkout, links)]
            layer = make_layer(checkout, cached.path, linked[0], roots)
            _replace_links(checkout, linked, layer, undo)
            env |= _python_variables(layer, linked, environ) | _guard(checkout, layer, environ)
        else:
            copy_node_modules(cached.path, checkout.directory, checkout.private / _ASIDE, undo)
            env["PATH"] = _replace_node_programs(checkout, {**environ, **env})
    left = _find_left(checkout, {**environ, **env})
    # Not virtual: its directory has other programs too, so it stays on PATH after the new one.
    open_prefixes = [one for one in linked if not is_virtual(one)]
    for link in left:
        if link.kind not in _PYTHON or not _contains_link(open_prefixes, link):
            raise NoEnvironment(f"a link is left: {link.describe()}")
    isolation = PREFIX + "+".join(recipe.key for recipe, _ in parts)
    return AppliedEnvironment(isolation, env, bool(linked), bool(left))


def _find_left(checkout: Checkout, environ: Mapping[str, str]) -> list[Link]:
    """Return the links in spite of the environment; the metadata that it has of the project is a copy."""
    found = find_links(checkout, environ)
    return [one for one in found if not (one.kind == "copy" and one.source.is_relative_to(checkout.private))]


def _contains_link(prefixes: Iterable[Path], link: Link) -> bool:
    return any(_contains(one, [Path(os.path.realpath(link.source.parent))]) for one in prefixes)


def _python_variables(layer: PythonLayer, linked: list[Path], environ: Mapping[str, str]) -> dict[str, str]:
    """Return variables that lead to the layer where they lead to an environment with links."""
    found = {"PYTHONNOUSERSITE": "1"}
    folders = environ.get("PATH", "").split(os.pathsep)
    programs = {os.path.realpath(one / "bin"): is_virtual(one) for one in linked}
    # An interpreter on PATH uses packages of ~/.local too, and pyenv finds its versions by another directory.
    if not all(programs.values()) or any(os.path.realpath(folder) in programs for folder in folders):
        kept = [folder for folder in folders if not programs.get(os.path.realpath(folder), False)]
        found["PATH"] = os.pathsep.join((str(layer.programs), *kept))
    if environ.get("VIRTUAL_ENV"):
        found["VIRTUAL_ENV"] = str(layer.path)
    return found


def _guard(checkout: Checkout, layer: PythonLayer, environ: Mapping[str, str]) -> dict[str, str]:
    directory = install_guard(checkout, (layer.path, layer.cached))
    return extend_python_path((directory,), environ)


def _replace_links(
    checkout: Checkout, linked: list[Path], layer: PythonLayer, undo: contextlib.ExitStack
) -> None:
    """Let symbolic links of the checkout to an environment with links lead to the new one."""
    for entry in list_directory(checkout.directory):
        if entry.is_symlink() and Path(os.path.realpath(entry.path)) in linked:
            place = Path(entry.path)
            target = place.readlink()
            place.unlink()
            place.symlink_to(layer.path)
            undo.callback(_restore, place, target)


def _restore(place: Path, target: Path) -> None:
    place.unlink(missing_ok=True)
    place.symlink_to(target)


def _replace_node_programs(checkout: Checkout, environ: Mapping[str, str]) -> str:
    """Return PATH with the programs of the checkout's node_modules instead of the user's."""
    own = str(checkout.directory / NODE_MODULES / ".bin")
    folders = environ.get("PATH", "").split(os.pathsep)
    kept = [one for one in folders if Path(one).parts[-2:] != (NODE_MODULES, ".bin")]
    return os.pathsep.join((own, *kept) if len(kept) < len(folders) else folders)
