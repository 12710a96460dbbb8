"""The recipe of a Python environment: uv.lock, pylock.toml, poetry.lock or requirements files."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from ostler.sandbox.checkout import Checkout
from ostler.sandbox.environments.interpreter import describe_program, find_interpreter, find_program
from ostler.sandbox.environments.recipe import ENVIRONMENT, NoEnvironment, Recipe
from ostler.sandbox.environments.requirements import RequirementFiles
from ostler.sandbox.links.link import list_directory, read_small_file
from ostler.sandbox.readable import has_file

_PLACE = f"../{ENVIRONMENT}"
_MANIFEST = "pyproject.toml"
# Tables of pyproject.toml that change what is installed; a changed linter builds no new environment.
_TABLES = ("build-system", "project", "dependency-groups")
_TOOLS = ("uv", "poetry")
_LOCKFILES = "uv.lock, pylock.toml, poetry.lock or requirements*.txt"
_UV_OPTIONS = (
    "--frozen --no-install-project --no-install-workspace --all-extras --all-groups --compile-bytecode"
)
_PIP = "-m pip --disable-pip-version-check --no-input install"


def plan_python(checkout: Checkout, prefix: Path, environ: Mapping[str, str], setup: str) -> Recipe:
    """Return the recipe for the lockfile of the commit; raises NoEnvironment if there is none."""
    directory = checkout.directory
    interpreter = find_interpreter(prefix, environ)
    facts = (*describe_program(interpreter, environ), setup)
    quoted = shlex.quote(str(interpreter))
    uv, poetry = find_program("uv", environ), find_program("poetry", environ)
    if has_file(directory / "uv.lock") and uv is not None:
        # Hard links to the cache of uv would let a gate change it.
        variables = f"UV_PROJECT_ENVIRONMENT={_PLACE} UV_LINK_MODE=copy UV_PYTHON_DOWNLOADS=never"
        command = f"{variables} {shlex.quote(uv)} sync {_UV_OPTIONS} --python {quoted}"
        return _plan(directory, ("uv.lock",), command, facts)
    if has_file(directory / "pylock.toml"):
        return _plan(directory, ("pylock.toml",), _install_files(quoted, uv, ["pylock.toml"]), facts)
    if has_file(directory / "poetry.lock") and poetry is not None:
        activate = f'VIRTUAL_ENV="$PWD/{_PLACE}" PATH="$PWD/{_PLACE}/bin:$PATH"'
        install = f"{activate} {shlex.quote(poetry)} install --no-root --no-interaction --all-extras"
        return _plan(directory, ("poetry.lock",), f"{quoted} -m venv {_PLACE} && {install}", facts)
    return _plan_requirements(directory, quoted, facts)


def _plan_requirements(directory: Path, interpreter: str, facts: tuple[str, ...]) -> Recipe:
    names = [one.name for one in list_directory(directory) if _is_requirements(one.name) and one.is_file()]
    if not names:
        raise NoEnvironment(f"the commit has no lockfile that can be installed here ({_LOCKFILES})")
    found = RequirementFiles(directory)
    for name in names:
        found.add(name)
    return Recipe("python", tuple(names), found.files, _install_files(interpreter, None, names), facts)


def _is_requirements(name: str) -> bool:
    return name.startswith("requirements") and name.endswith(".txt")


def _install_files(interpreter: str, uv: str | None, names: list[str]) -> str:
    files = " ".join(f"-r {shlex.quote(name)}" for name in names)
    if uv is not None:
        install = f"UV_LINK_MODE=copy {shlex.quote(uv)} pip install --python {_PLACE} --compile-bytecode"
        return f"{interpreter} -m venv {_PLACE} && {install} {files}"
    return f"{interpreter} -m venv {_PLACE} && {_PLACE}/bin/python {_PIP} {files}"


def _plan(directory: Path, lockfiles: tuple[str, ...], command: str, facts: tuple[str, ...]) -> Recipe:
    names = [name for name in (*lockfiles, _MANIFEST) if has_file(directory / name)]
    files = {name: (directory / name).read_bytes() for name in names}
    relevant = {_MANIFEST: _read_relevant(directory)} if _MANIFEST in files else {}
    return Recipe("python", lockfiles, files, command, facts, relevant)


def _read_relevant(directory: Path) -> bytes:
    """Return the tables of pyproject.toml that change what is installed."""
    content = read_small_file(directory / _MANIFEST)
    try:
        tables = tomllib.loads(content.decode("utf-8", "replace"))
    except tomllib.TOMLDecodeError:
        return content
    tools = tables.get("tool", {})
    kept = {name: tables.get(name) for name in _TABLES} | {name: tools.get(name) for name in _TOOLS}
    return msgspec.json.encode(kept, enc_hook=str, order="deterministic")
