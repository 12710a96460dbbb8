"""The read-only part of a sandbox: the system, the interpreter of Ostler, and the user's toolchains."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from ostler.sandbox.readable import has_directory, has_file, has_path

_ROOT_DIRECTORIES = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SYSTEM = ("/usr", "/opt", "/nix/store", "/gnu/store", "/sys/devices/system/cpu")
# Named entries of /etc: the rest has passwords, host keys and configuration of services.
_ETC = (
    "alternatives", "ca-certificates", "ca-certificates.conf", "claude-code", "crypto-policies",
    "debian_version", "default/locale", "fonts", "gai.conf", "gitconfig", "group", "host.conf", "hostname",
    "hosts", "inputrc", "java-17-openjdk", "java-21-openjdk", "ld.so.cache", "ld.so.conf", "ld.so.conf.d",
    "locale.alias", "localtime", "login.defs", "magic", "mime.types", "networks", "nsswitch.conf", "npmrc",
    "os-release", "passwd", "pip.conf", "pki/tls/certs", "pki/ca-trust", "protocols", "profile", "python3",
    "python3.11", "python3.12", "resolv.conf", "services", "shells", "ssl/certs", "ssl/cert.pem",
    "ssl/openssl.cnf", "terminfo", "timezone", "uv", "xml",
)  # fmt: skip
# Files of /etc that can name a server with its password; then they are left out.
_WITH_SERVERS = ("/etc/gitconfig", "/etc/npmrc", "/etc/pip.conf", "/etc/uv")
_PASSWORD = re.compile(rb"(?i)://[^/\s@]*@|(?:auth|token|password|extraheader)\w*\"?\s*=")
# Programs below the home directory that people install for themselves, without their credentials.
_TOOLCHAINS = (
    ".pyenv", ".cargo/bin", ".rustup", ".nvm", ".local/bin", ".local/lib", ".local/share/uv",
    ".local/share/pipx", ".local/pipx", ".local/share/claude", ".local/share/mise", ".local/share/pnpm",
    ".claude/local", ".bun/bin", ".deno/bin", ".volta", ".asdf", ".sdkman", ".rbenv", ".npm-global",
    ".npm-packages", ".yarn/bin", ".dotnet", ".opencode/bin", ".juliaup", "go/bin", "bin",
)  # fmt: skip
# Variables that name toolchains elsewhere.
_ROOTS = ("PYENV_ROOT", "NVM_DIR", "RUSTUP_HOME", "GOROOT", "JAVA_HOME", "VOLTA_HOME")
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "PIP_CERT")
_MODULES = "node_modules"


@cache
def list_system_paths() -> tuple[tuple[Path, ...], tuple[tuple[str, str], ...]]:
    """Return the system's directories, and its symbolic links with their targets."""
    links = tuple((os.readlink(one), one) for one in _ROOT_DIRECTORIES if os.path.islink(one))  # noqa: PTH114, PTH115
    real = [one for one in _ROOT_DIRECTORIES if not os.path.islink(one)]  # noqa: PTH114
    names = [*_SYSTEM, *real, *(f"/etc/{one}" for one in _ETC)]
    found = (Path(one) for one in names if has_path(Path(one)))
    return tuple(one for one in found if str(one) not in _WITH_SERVERS or not has_password(one)), links


def has_password(path: Path) -> bool:
    """Return whether a settings file, or one in this directory, has a password, or is not readable."""
    try:
        files = [one for one in path.rglob("*") if one.is_file()] if path.is_dir() else [path]
        return any(_PASSWORD.search(one.read_bytes()) for one in files)
    except OSError:
        return True


def list_toolchains(home: Path) -> tuple[Path, ...]:
    """Return the directories with programs below the user's home directory."""
    return tuple(home / name for name in _TOOLCHAINS if has_directory(home / name))


def list_own_paths() -> tuple[Path, ...]:
    """Return the interpreter and the packages of Ostler, for `ostler report` and the entry program."""
    package = Path(__file__).resolve().parents[2]
    return (Path(sys.base_prefix), Path(sys.prefix), package)


def list_named_paths(environ: Mapping[str, str], programs: Iterable[str] = ()) -> tuple[Path, ...]:
    """Return what the variables name: the directories of PATH, certificates, and these programs."""
    folders = [*environ.get("PATH", "").split(os.pathsep), f"{environ.get('VIRTUAL_ENV', '')}/bin"]
    found = [path for one in folders if one.startswith("/") for path in _find_environment(Path(one))]
    named = (*_ROOTS, *_CERTIFICATES)
    found += [Path(environ[name]) for name in named if environ.get(name, "").startswith("/")]
    for program in programs:
        if program.startswith("/"):  # others are in the directories of PATH
            found += _find_installation(program)
    return tuple(one for one in found if has_path(one))


def _find_environment(folder: Path) -> list[Path]:
    """Return a directory of programs, or the Python environment around it with its interpreter."""
    if not has_file(folder.parent / "pyvenv.cfg"):
        return [folder, *_find_toolchain(folder)]
    interpreter = Path(os.path.realpath(folder / "python"))
    return [folder.parent, interpreter.parent.parent]


def _find_toolchain(folder: Path) -> list[Path]:
    """Return the toolchain that a directory of programs belongs to, also in another home directory."""
    text = f"{folder}/"
    # The home directory can be the root: /bin, or /go/bin in a container, stay absolute.
    return [Path(f"{text[: text.index(f'/{one}/')]}/{one}") for one in _TOOLCHAINS if f"/{one}/" in text]


def _find_installation(program: str) -> list[Path]:
    """Return the program, the file that it leads to, and the package or environment around that."""
    real = Path(os.path.realpath(program))
    packages = [one for one in reversed(real.parents) if one.name == _MODULES]
    environments = [one for one in real.parents if has_file(one / "pyvenv.cfg")]
    return [
        Path(program),
        *(packages or environments)[:1],
        real.parent if real.parent.name != "bin" else real,
    ]


def select_outer(paths: Iterable[Path], forbidden: Iterable[Path]) -> list[Path]:
    """Return the paths without those inside another one; a path around a forbidden one is left out."""
    kept: list[Path] = []
    starts: tuple[str, ...] = ()
    secret = tuple(forbidden)
    for path in sorted(dict.fromkeys(paths), key=lambda one: len(one.parts)):
        own = start_of_paths((path,))
        if not is_below(path, starts) and not any(is_below(one, own) for one in secret):
            kept.append(path)
            starts += own
    return kept


def start_of_paths(places: Iterable[Path]) -> tuple[str, ...]:
    """Return how the paths of these places and of all below them start, with a slash at their end."""
    return tuple(f"{text}/" if text != "/" else text for text in map(str, places))


def is_below(path: Path, starts: tuple[str, ...]) -> bool:
    """Return whether a path starts in one of these ways; Path.is_relative_to takes 20 times as long."""
    return f"{path}/".startswith(starts)
