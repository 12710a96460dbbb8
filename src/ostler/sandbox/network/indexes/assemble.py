"""Turns what the tools name into what a sandbox allows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from pathlib import Path

from ostler.sandbox.network.indexes.address import has_secret, hide_secrets, read_address
from ostler.sandbox.network.indexes.found import Found, Index, Indexes
from ostler.sandbox.network.indexes.learn import Learned, learn_all
from ostler.sandbox.network.indexes.local_index import learn_local
from ostler.sandbox.network.indexes.tools import Tools
from ostler.sandbox.readable import has_path
from ostler.secrets.find import find_secrets
from ostler.secrets.redact import redact_text

_VARIABLES = (
    "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX", "PIP_TRUSTED_HOST",
    "PIP_CERT", "PIP_PRE", "PIP_PREFER_BINARY", "PIP_DEFAULT_TIMEOUT", "PIP_DISABLE_PIP_VERSION_CHECK",
    "UV_INDEX", "UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "UV_NO_INDEX",
    "UV_INDEX_STRATEGY", "UV_NATIVE_TLS", "UV_SYSTEM_CERTS", "npm_config_registry", "NPM_CONFIG_REGISTRY",
    "npm_config_cafile", "NPM_CONFIG_CAFILE", "npm_config_@*", "YARN_REGISTRY", "YARN_NPM_REGISTRY_SERVER",
    "CARGO_REGISTRIES_*_INDEX", "CARGO_SOURCE_*_REGISTRY", "CARGO_SOURCE_*_REPLACE_WITH",
    "CARGO_HTTP_CAINFO", "GOPROXY", "GOSUMDB", "GONOSUMDB", "GONOPROXY", "GOPRIVATE", "GOINSECURE",
    "GOFLAGS", "BUNDLE_MIRROR__*", "CONDA_CHANNELS", "CONDA_CHANNEL_ALIAS", "CONDA_SSL_VERIFY",
)  # fmt: skip
_SYSTEM = (Path("/usr"), Path("/etc"))  # certificates there are in the sandbox anyway
_DEFAULT_CONFIG = Path(".config")
_MAX_CERTIFICATES = 4 * 1024 * 1024


def is_index_variable(name: str) -> bool:
    """Return whether a variable names package indexes."""
    return any(fnmatchcase(name, pattern) for pattern in _VARIABLES)


def assemble(
    found: Found,
    tools: Tools,
    seconds: float,
    monotonic: Callable[[], float],
    *,
    ask_again: bool = False,
) -> Indexes:
    """Return hosts, directories, files and variables for a sandbox; asks the indexes for hosts of files."""
    notes = list(found.notes)
    local, remote = _split(found.indexes, notes)
    trusted = _list_certificates(found, tools)
    learned = learn_all(remote, tools.environ, trusted, seconds, monotonic, ask_again=ask_again)
    near = [learn_local(path, tools.home) for path in dict.fromkeys((*local, *found.paths))]
    every = [*(_learn_own(index) for index in remote), *learned.values(), *near]
    notes += [one.note for one in every if one.note]
    outside: list[Path] = []
    files = _place_files(found, tools, outside, notes)
    directories = [*local, *found.paths, *(path for one in near for path in one.directories)]
    return Indexes(
        hosts=tuple(dict.fromkeys(host for one in every for host in one.hosts)),
        directories=(*_choose_directories(directories, tools, notes), *dict.fromkeys(outside)),
        files=files,
        environment=_read_environment(tools, notes),
        notes=tuple(dict.fromkeys(redact_text(hide_secrets(note)) for note in notes)),
        local_ports=tuple(dict.fromkeys(port for one in every for port in one.local_ports)),
        urls=tuple(dict.fromkeys((index.kind, hide_secrets(index.url)) for index in found.indexes)),
    )


def _split(indexes: Iterable[Index], notes: list[str]) -> tuple[list[Path], list[Index]]:
    """Return the directories of local indexes, and the others."""
    local: list[Path] = []
    remote: list[Index] = []
    for index in indexes:
        address = read_address(index.url)
        if address is None:
            notes.append(
                f"{hide_secrets(index.url)} is neither HTTP nor a local directory, and is not allowed"
            )
        elif address.path is not None:
            local.append(address.path)
        else:
            remote.append(index)
    return local, remote


def _learn_own(index: Index) -> Learned:
    """Return the host of the index itself."""
    address = read_address(index.url)
    if address is None or address.path is not None:
        return Learned()
    return Learned((address.host,)) if address.host else Learned(local_ports=(address.local_port,))


def _choose_directories(paths: Iterable[Path], tools: Tools, notes: list[str]) -> list[Path]:
    """Return the directories to mount: those that exist, without the HOME and the project as a whole."""
    chosen: list[Path] = []
    for path in sorted(dict.fromkeys(paths), key=lambda one: len(one.parts)):
        if _contains(path, tools.home):
            notes.append(f"{path} is not mounted as a package index: the HOME is in it")
        elif _contains(path, tools.cwd) or any(path.is_relative_to(one) for one in chosen):
            continue
        elif not has_path(path):
            notes.append(f"{path} is named as a package index and does not exist")
        else:
            chosen.append(path)
    return chosen


def _contains(path: Path, inner: Path) -> bool:
    """Return whether a directory is, or leads by a symbolic link, above or to another one."""
    return inner.is_relative_to(path) or Path(os.path.realpath(inner)).is_relative_to(os.path.realpath(path))


def _place_files(found: Found, tools: Tools, outside: list[Path], notes: list[str]) -> dict[str, bytes]:
    """Return the files for the private HOME; certificates elsewhere are added to `outside`."""
    placed: dict[str, bytes] = {}
    for path, content in found.files:
        name = _name_in_home(path, tools)
        if name is None:
            notes.append(f"{path} is not in HOME and is left out of the sandbox")
        else:
            placed[name] = content
    for path in map(tools.locate, found.certificates):
        if path.is_relative_to(tools.home):
            content = _read_certificate(path, notes)
            placed |= {str(path.relative_to(tools.home)): content} if content else {}
        elif has_path(path) and not any(path.is_relative_to(one) for one in _SYSTEM):
            outside.append(path)
    return placed


def _name_in_home(path: Path, tools: Tools) -> str | None:
    if path.is_relative_to(tools.home):
        return str(path.relative_to(tools.home))
    if path.is_relative_to(tools.config_home):
        return str(_DEFAULT_CONFIG / path.relative_to(tools.config_home))
    return None


def _read_certificate(path: Path, notes: list[str]) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_CERTIFICATES)
    except OSError as error:
        notes.append(f"{path} is not readable: {error}")
        return b""
    if find_secrets(content):
        notes.append(f"{path}: left out of the sandbox, because it holds a secret")
        return b""
    return content


def _list_certificates(found: Found, tools: Tools) -> tuple[str, ...]:
    return tuple(str(tools.locate(one)) for one in found.certificates)


def _read_environment(tools: Tools, notes: list[str]) -> dict[str, str]:
    """Return the variables that name indexes; one that would hold a secret is left out."""
    passed: dict[str, str] = {}
    for name, value in tools.environ.items():
        if not is_index_variable(name):
            continue
        cleaned = hide_secrets(value)
        if has_secret(cleaned):
            notes.append(f"{name}: left out of the sandbox, because it holds a secret")
            continue
        if cleaned != value:
            notes.append(f"{name}: left out of the sandbox, because they are secrets: user and password")
        passed[name] = cleaned
    return passed
