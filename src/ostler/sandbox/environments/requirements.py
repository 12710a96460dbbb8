"""Requirements files without the project itself: its line is replaced by its dependencies."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from ostler.sandbox.environments.recipe import NoEnvironment
from ostler.sandbox.links.link import read_small_file
from ostler.sandbox.links.python import normalize_name
from ostler.sandbox.readable import has_directory, has_file

_CONTINUED = re.compile(r"\\\r?\n")
_COMMENT = re.compile(r"(^|\s)#.*$")
_OPTION = re.compile(
    r"(?P<name>-[rcef]|--requirement|--constraint|--editable|--find-links)(?:\s+|=|\b)\s*(?P<value>.*)"
)
_INCLUDES = ("-r", "--requirement", "-c", "--constraint")
_EDITABLE = ("-e", "--editable")
_FIND_LINKS = ("-f", "--find-links")
_LOCAL = re.compile(
    r"(?:[\w.-]+(?:\[(?P<named>[^\]]*)\])?\s*@\s*)?(?:file:(?://)?)?(?P<path>[^\[;#\s]*)(?:\[(?P<extras>[^\]]*)\])?"
)
_NAMED = re.compile(r"(?P<name>[A-Za-z0-9][\w.-]*)\s*(?:\[(?P<extras>[^\]]*)\])?")
_ARCHIVES = (".whl", ".zip", ".tar.gz", ".tgz", ".tar.bz2")


class _Project(msgspec.Struct, frozen=True, rename="kebab"):
    name: str = ""
    dependencies: tuple[str, ...] = ()
    optional_dependencies: dict[str, tuple[str, ...]] = {}
    dynamic: tuple[str, ...] = ()


class _Manifest(msgspec.Struct, frozen=True):
    project: _Project | None = None


class RequirementFiles:
    """The files that pip reads, by their path relative to the directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.files: dict[str, bytes] = {}

    def add(self, name: str) -> None:
        """Add a file and those that it includes; raises NoEnvironment if it installs other directories."""
        if name in self.files:
            return
        path = self._locate(name, name)
        text = read_small_file(path).decode("utf-8", "replace")
        self.files[name] = b""  # files can include each other
        lines = [line for one in _split_lines(text) for line in self._convert(one, name)]
        self.files[name] = "".join(f"{line}\n" for line in lines).encode()

    def _convert(self, line: str, file: str) -> Iterator[str]:
        option = _OPTION.match(line)
        if option is None:
            yield from self._convert_local(line, line, file) if _is_local(line) else (line,)
        elif option["name"] in _INCLUDES:
            if "://" not in option["value"]:
                self.add(os.path.normpath(Path(file).parent / option["value"]))
            yield line
        elif option["name"] in _EDITABLE:
            yield from self._convert_local(option["value"], line, file)
        elif option["name"] in _FIND_LINKS:
            self._add_directory(option["value"], file)
            yield line

    def _convert_local(self, target: str, line: str, file: str) -> Iterator[str]:
        """Replace the project by its dependencies; keep an archive of the commit."""
        if "://" in target and not re.search(r"(^|@\s*)file:", target):
            yield line
            return
        match = _LOCAL.match(target)
        assert match is not None
        # Paths of requirements are relative to the directory in which pip runs.
        path = self._locate(match["path"] or ".", file)
        if path == self._directory:
            extras = [
                one.strip() for one in (match["extras"] or match["named"] or "").split(",") if one.strip()
            ]
            yield from read_dependencies(self._directory, extras)
        elif has_file(path) and path.name.endswith(_ARCHIVES):
            self.files[str(path.relative_to(self._directory))] = path.read_bytes()
            yield line
        else:
            raise NoEnvironment(f"{file} installs the directory {target}")

    def _add_directory(self, name: str, file: str) -> None:
        if "://" in name or name.startswith("/"):
            return
        folder = self._locate(name, file)
        for path in sorted(folder.iterdir()) if has_directory(folder) else ():
            if path.name.endswith(_ARCHIVES) and has_file(path):
                self.files[str(path.relative_to(self._directory))] = path.read_bytes()

    def _locate(self, name: str, file: str) -> Path:
        path = Path(os.path.realpath(self._directory / name))
        if not path.is_relative_to(self._directory):
            raise NoEnvironment(f"{file} names {name}, which is outside the project")
        return path


def _split_lines(text: str) -> list[str]:
    lines = (_COMMENT.sub("", line).strip() for line in _CONTINUED.sub(" ", text).splitlines())
    return [line for line in lines if line]


def _is_local(line: str) -> bool:
    """Return whether the line names a path rather than a package."""
    target = line.split(";", maxsplit=1)[0].strip()
    return (
        target.startswith((".", "/", "file:"))
        or bool(re.search(r"@\s*file:", target))
        or ("/" in target.split("[")[0] and "://" not in target and "@" not in target)
    )


def read_dependencies(directory: Path, extras: list[str]) -> Iterator[str]:
    """Return the dependencies in pyproject.toml; raises NoEnvironment if they are computed by a build."""
    project = _read_project(directory)
    if project is None or {"dependencies", "optional-dependencies"} & set(project.dynamic):
        raise NoEnvironment("pyproject.toml does not list the dependencies of the project")
    yield from project.dependencies
    yield from _expand(project, extras, set())


def _expand(project: _Project, extras: list[str], seen: set[str]) -> Iterator[str]:
    known = {normalize_name(name): lines for name, lines in project.optional_dependencies.items()}
    for extra in (normalize_name(one) for one in extras):
        if extra in seen:
            continue
        seen.add(extra)
        for line in known.get(extra, ()):
            named = _NAMED.match(line)
            if named is not None and normalize_name(named["name"]) == normalize_name(project.name):
                # An extra of the project that consists of other extras.
                own = [one.strip() for one in (named["extras"] or "").split(",") if one.strip()]
                yield from _expand(project, own, seen)
            else:
                yield line


def _read_project(directory: Path) -> _Project | None:
    try:
        content = tomllib.loads(read_small_file(directory / "pyproject.toml").decode("utf-8", "replace"))
        return msgspec.convert(content, _Manifest).project
    except (tomllib.TOMLDecodeError, msgspec.ValidationError):
        return None
