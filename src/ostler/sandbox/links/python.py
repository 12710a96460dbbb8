"""Editable installs and other links of Python environments."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

import msgspec

from ostler.sandbox.checkout import Checkout
from ostler.sandbox.links.link import Link, find_named_paths, list_directory, read_small_file
from ostler.sandbox.readable import has_directory, has_file, has_path

_IMPORT = re.compile(rb"^import[ \t]+([\w.]+)", re.MULTILINE)
_DIST_INFO = re.compile(r"(?P<name>[^-]+)-.*\.dist-info")
_DIRECT_URL = "direct_url.json"
_ENVIRONMENT = "pyvenv.cfg"  # in the root of every virtual environment
ENVIRONMENT_PARTS = (_ENVIRONMENT, "bin", "lib", "lib64", "include", "share")
_SITE = (("lib", "site-packages"), ("lib64", "site-packages"), ("lib", "dist-packages"))


class _Directory(msgspec.Struct, frozen=True):
    editable: bool = False


class _DirectUrl(msgspec.Struct, frozen=True):
    """direct_url.json of an installed package (PEP 610)."""

    url: str = ""
    dir_info: _Directory | None = None


class _Named(msgspec.Struct, frozen=True):
    name: str = ""


class _Tools(msgspec.Struct, frozen=True):
    poetry: _Named = _Named()


class _Manifest(msgspec.Struct, frozen=True):
    """The name of the project in pyproject.toml."""

    project: _Named = _Named()
    tool: _Tools = _Tools()


def find_python_links(checkout: Checkout, environ: Mapping[str, str]) -> Iterator[Link]:
    """Return links in every Python environment that a command can reach by PATH or in the checkout."""
    name = read_project_name(checkout.directory)
    for prefix in list_prefixes(checkout, environ):
        for site in list_site_directories(prefix):
            for link in _find_in_site(site, checkout, name):
                # An environment may be inside the user's checkout; its own files are no links.
                if not is_in_environment(link.target, prefix):
                    yield link


def list_prefixes(checkout: Checkout, environ: Mapping[str, str]) -> list[Path]:
    """Return the roots of the Python environments: active, on PATH, in the checkout, of the user."""
    found = [Path(environ["VIRTUAL_ENV"])] if environ.get("VIRTUAL_ENV") else []
    folders = [Path(one) for one in environ.get("PATH", "").split(os.pathsep) if one.startswith("/")]
    found += [folder.parent for folder in folders if has_path(folder / "python3")]
    if environ.get("PYENV_ROOT") or any(folder.name == "shims" for folder in folders):
        found += [one for folder in folders if folder.name == "shims" for one in _list_versions(folder)]
    if environ.get("HOME"):
        found.append(Path(environ["HOME"]) / ".local")
    found += [
        Path(one.path)
        for one in list_directory(checkout.directory)
        if has_file(Path(one.path) / _ENVIRONMENT)
    ]
    return [*dict.fromkeys(Path(os.path.realpath(one)) for one in found)]


def _list_versions(shims: Path) -> list[Path]:
    return [Path(one.path) for one in list_directory(shims.parent / "versions")]


def list_site_directories(prefix: Path) -> list[Path]:
    """Return the directories of an environment that packages are installed in."""
    if not has_directory(prefix):
        return []
    shared = [prefix / "lib/python3/dist-packages", prefix / "local/lib/python3/dist-packages"]
    own = [
        Path(entry.path, packages)
        for folder, packages in _SITE
        for entry in list_directory(prefix / folder)
        if entry.name.startswith("python3")
    ]
    return [*dict.fromkeys(Path(os.path.realpath(site)) for site in (*own, *shared) if has_directory(site))]


def is_virtual(prefix: Path) -> bool:
    """Return whether the environment is virtual: its directory of programs has nothing else."""
    return has_file(prefix / _ENVIRONMENT)


def is_in_environment(target: Path, prefix: Path) -> bool:
    """Return whether the path is a file of the environment itself."""
    # The root of an environment can be the root of the project.
    if not is_virtual(prefix) or not target.is_relative_to(prefix):
        return False
    return target.relative_to(prefix).parts[:1] in [(part,) for part in ENVIRONMENT_PARTS]


def _find_in_site(site: Path, checkout: Checkout, project: str) -> Iterator[Link]:
    for entry in list_directory(site):
        if entry.is_symlink():
            path = Path(entry.path)
            yield from _make_links(path, [Path(os.path.realpath(path))], checkout)
        elif entry.name.endswith((".pth", ".egg-link")):
            path = Path(entry.path)
            yield from _make_links(path, _read_path_file(path, checkout), checkout)
        elif entry.name.endswith(".dist-info"):
            yield from _find_in_metadata(entry, checkout, project)


def _make_links(source: Path, targets: list[Path], checkout: Checkout) -> Iterator[Link]:
    for target in dict.fromkeys(targets):
        if checkout.find_root(target) is not None and not checkout.is_own(target):
            yield Link("python", source, target)


def _read_path_file(path: Path, checkout: Checkout) -> list[Path]:
    """Return the directories of a .pth or .egg-link file, and those in modules that it imports."""
    content = read_small_file(path)
    lines = [os.fsdecode(line.strip()) for line in content.splitlines() if line.strip()]
    named = [
        Path(os.path.realpath(path.parent / line))
        for line in lines
        if not line.startswith(("#", "import ", "import\t")) and "\0" not in line
    ]
    return [*named, *find_named_paths(content, checkout), *_read_imported(path.parent, content, checkout)]


def _read_imported(site: Path, content: bytes, checkout: Checkout) -> Iterator[Path]:
    """Return paths in the modules, and in the data beside them, that a .pth file imports."""
    for match in _IMPORT.finditer(content):
        name = match[1].decode("ascii", "replace").replace(".", "/")
        for module in (site / f"{name}.py", site / name / "__init__.py"):
            yield from find_named_paths(read_small_file(module), checkout)


def _find_in_metadata(entry: os.DirEntry[str], checkout: Checkout, project: str) -> Iterator[Link]:
    target = _read_direct_url(f"{entry.path}/{_DIRECT_URL}")
    is_named = _is_named(entry.name, project)
    if target is not None and target.editable is not None:
        source = Path(entry.path, _DIRECT_URL)
        yield from _make_links(source, [target.editable], checkout)
        is_elsewhere = checkout.find_root(target.editable) is None
        # An environment in the checkout can be that of an agent, and name any directory.
        if is_elsewhere and is_named and not checkout.is_own(source):
            # Another clone of this project supplies its modules.
            yield Link("python", source, target.editable)
    elif is_named:
        yield Link("copy", Path(entry.path), checkout.user / checkout.prefix)


class _Target(msgspec.Struct, frozen=True):
    editable: Path | None = None  # None: installed from a path or URL, as a copy


def _read_direct_url(path: str) -> _Target | None:
    content = read_small_file(path)
    if not content:
        return None
    try:
        found = msgspec.json.decode(content, type=_DirectUrl)
    except msgspec.MsgspecError:
        return None
    if found.dir_info is None or not found.dir_info.editable:
        return _Target()
    return _Target(Path(os.path.realpath(unquote(urlsplit(found.url).path))))


def _is_named(metadata: str, project: str) -> bool:
    """Return whether a directory of metadata is that of the project; empty: there is no project."""
    match = _DIST_INFO.fullmatch(metadata) if project else None
    return match is not None and normalize_name(match["name"]) == project


def find_distributions(site: Path) -> dict[str, Path]:
    """Return the metadata of the installed packages by their normalized names."""
    matches = [(_DIST_INFO.fullmatch(one.name), one.path) for one in list_directory(site)]
    return {normalize_name(match["name"]): Path(path) for match, path in matches if match is not None}


def normalize_name(name: str) -> str:
    """Return the name of a package as it is compared (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_project_name(directory: Path) -> str:
    """Return the normalized name of the Python project; empty if pyproject.toml names none."""
    try:
        content = tomllib.loads(read_small_file(directory / "pyproject.toml").decode("utf-8", "replace"))
    except tomllib.TOMLDecodeError:
        return ""
    try:
        found = msgspec.convert(content, _Manifest)
    except msgspec.ValidationError:
        return ""
    return normalize_name(found.project.name or found.tool.poetry.name)
