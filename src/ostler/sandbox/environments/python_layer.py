"""A private Python environment of one gate: the cached packages, and the checkout in place of the project.

It is a virtual environment of its own, so that `python -I` uses the checkout too, and a gate can install.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from ostler.sandbox.checkout import Checkout
from ostler.sandbox.environments.recipe import ENVIRONMENT, NoEnvironment
from ostler.sandbox.links.link import list_directory, read_small_file
from ostler.sandbox.links.python import (
    find_distributions,
    is_virtual,
    list_site_directories,
    read_project_name,
)
from ostler.sandbox.readable import has_file

_USES_SYSTEM = re.compile(rb"^include-system-site-packages\s*=\s*true", re.IGNORECASE | re.MULTILINE)
_LAYER = "environment"  # in the private directory of the checkout
_PATHS = "ostler-gate.pth"
_INTERPRETER = re.compile(r"python[\d.]*")
_SHEBANG = re.compile(rb"\A#!(?:[^\n]*python[^\n]*|/bin/sh\n'''exec' [^\n]*)\n")
_DATA = ("share", "etc", "include")
_LEFT_OUT = ("RECORD", "direct_url.json", "INSTALLER", "REQUESTED")
_MAX_SCRIPT_BYTES = 1 << 20
# Every environment has them or not, by the program that created it.
_INSTALLERS = frozenset({"pip", "setuptools", "wheel", "uv", "distribute", "pkg-resources", "pkg_resources"})


class PythonLayer(Struct, frozen=True):
    """The private environment of a gate."""

    path: Path
    cached: Path

    @property
    def programs(self) -> Path:
        return self.path / "bin"


def make_layer(checkout: Checkout, cached: Path, original: Path, roots: Iterable[Path]) -> PythonLayer:
    """Make the environment; raises NoEnvironment if it lacks packages that the original one has."""
    base, path = cached / ENVIRONMENT, checkout.private / _LAYER
    sites = list_site_directories(base)
    if not sites:
        raise NoEnvironment(f"{base} has no site-packages")
    _require_packages(base, sites, original, read_project_name(checkout.directory))
    shutil.rmtree(path, ignore_errors=True)
    site = path / sites[0].relative_to(Path(os.path.realpath(base)))
    site.mkdir(parents=True)
    (path / "bin").mkdir()
    shutil.copyfile(base / "pyvenv.cfg", path / "pyvenv.cfg")
    lines = [*map(str, roots), *(f"import site; site.addsitedir({str(one)!r})" for one in sites)]
    (site / _PATHS).write_text("".join(f"{line}\n" for line in lines))
    for name in _DATA:
        if (base / name).is_dir():
            (path / name).symlink_to(base / name)
    _add_programs(base / "bin", path / "bin")
    _add_project(original, path, site, read_project_name(checkout.directory))
    return PythonLayer(path, cached)


def _require_packages(base: Path, sites: list[Path], original: Path, project: str) -> None:
    """Raise NoEnvironment for packages that the lockfile does not name: tests could fail without them."""
    found = {name for site in sites for name in find_distributions(site)}
    used = [original]
    if not is_virtual(original) or _USES_SYSTEM.search(read_small_file(original / "pyvenv.cfg")):
        used.append(Path(os.path.realpath(base / "bin" / "python")).parent.parent)
    folders = [site for prefix in used for site in list_site_directories(prefix)]
    needed = {name for site in folders for name in find_distributions(site)}
    if missing := sorted(needed - found - _INSTALLERS - {project}):
        shown = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        raise NoEnvironment(f"the lockfile does not install {shown}, but {original} has it")


def _add_programs(source: Path, destination: Path) -> None:
    for entry in list_directory(source):
        place = destination / entry.name
        if _INTERPRETER.fullmatch(entry.name):
            place.symlink_to(os.path.realpath(entry.path))
        else:
            add_script(Path(entry.path), place)


def add_script(source: Path, place: Path) -> None:
    """Add a program; a Python script is copied, with the interpreter beside it."""
    content = source.read_bytes() if source.stat().st_size < _MAX_SCRIPT_BYTES else b""
    if _SHEBANG.match(content):
        place.write_bytes(
            _SHEBANG.sub(b"#!" + os.fsencode(place.parent / "python") + b"\n", content, count=1)
        )
        place.chmod(0o755)
    else:
        place.symlink_to(source)


def _add_project(original: Path, path: Path, site: Path, project: str) -> None:
    """Copy the metadata and the programs of the project: its modules are those of the checkout."""
    for folder in list_site_directories(original):
        info = find_distributions(folder).get(project) if project else None
        if info is None:
            continue
        shutil.copytree(
            info, site / info.name, ignore=lambda _, names: {*_LEFT_OUT} & {*names}, dirs_exist_ok=True
        )
        for name in _list_scripts(info / "entry_points.txt"):
            if has_file(original / "bin" / name) and not os.path.lexists(path / "bin" / name):
                add_script(original / "bin" / name, path / "bin" / name)


def _list_scripts(entry_points: Path) -> list[str]:
    """Return the names in [console_scripts]."""
    try:
        text = entry_points.read_text("utf-8", "replace")
    except OSError:
        return []
    section = re.search(r"^\[console_scripts\]\s*$(.*?)(?=^\[|\Z)", text, re.MULTILINE | re.DOTALL)
    return re.findall(r"^\s*([\w.-]+)\s*=", section[1], re.MULTILINE) if section else []
