"""The values that settings and the environment name as secrets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from ostler.config.secrets.hidden import list_passwords
from ostler.config.secrets.secret_values import FileValue, read_values
from ostler.config.settings import Settings
from ostler.secrets.registry import MIN_LENGTH
from ostler.secrets.variables import is_ordinary, is_path, is_secret_name, list_secret_variables
from ostler.text import describe_os_error

_LARGEST_BYTES = 1024 * 1024
_NAMED_LIKE = "password"  # its value may be a number, but no ordinary word
_HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"


def list_registered_secrets(
    settings: Settings, environ: Mapping[str, str], root: Path
) -> Iterator[tuple[str, str]]:
    """Yield the name and the value of each secret that Ostler itself holds or that a person registered."""
    yield from list_secret_variables(environ)
    tables = [
        *(entry.env for entry in settings.executors.values()),
        *(entry.env for entry in settings.models),
    ]
    for table in tables:
        yield from list_secret_variables(table)
    for key, password in _list_address_passwords(settings):
        if not is_ordinary(_NAMED_LIKE, password):
            yield key, password
    for pattern in _list_patterns(settings):
        yield from ((name, environ[name]) for name in environ if fnmatchcase(name, pattern))
    for header in environ.get(_HEADERS, "").split(","):
        yield _HEADERS, header.partition("=")[2]
    for name in settings.secrets.files:
        path = _locate(name, root, environ)
        yield from ((path.name, one.value) for one in _read_file(path) if not one.is_ordinary)


def find_unusable_secrets(
    settings: Settings, environ: Mapping[str, str], root: Path
) -> Iterator[tuple[str, str]]:
    """Yield the setting and the reason for each registered secret that cannot be redacted."""
    for index, pattern in enumerate(settings.secrets.env):
        short = [name for name in environ if fnmatchcase(name, pattern) and _is_short(environ[name])]
        for name in short:
            yield (
                f"secrets.env[{index}]",
                f"{name} has fewer than {MIN_LENGTH} characters and is not redacted",
            )
    for key, password in _list_address_passwords(settings):
        if _is_short(password) or is_ordinary(_NAMED_LIKE, password):
            yield key, "its password is short or an ordinary word, and is not redacted"
    for index, name in enumerate(settings.secrets.files):
        path = _locate(name, root, environ)
        try:
            if path.stat().st_size > _LARGEST_BYTES:
                yield f"secrets.files[{index}]", f"{name} is larger than 1 MB"
            path.open("rb").close()
        except OSError as error:
            yield f"secrets.files[{index}]", f"{name} cannot be read: {describe_os_error(error)}"


def list_ordinary_values(settings: Settings, environ: Mapping[str, str], root: Path) -> list[str]:
    """Return file and name of each value of secrets.files that is not redacted: ordinary text contains it."""
    values = [
        (name, one) for name in settings.secrets.files for one in _read_file(_locate(name, root, environ))
    ]
    return [
        f"{Path(name).name} {one.name or 'a line'}"
        for name, one in values
        if (one.is_ordinary and not _is_short(one.value))
        or (_is_short(one.value) and is_secret_name(one.name))
    ]


def find_unredacted_variables(settings: Settings, environ: Mapping[str, str], root: Path) -> list[str]:
    """Return the variables of sandbox.env_allow with the name of a secret whose value is not redacted."""
    redacted = {value.strip() for _, value in list_registered_secrets(settings, environ, root)}
    return [
        name
        for name, value in environ.items()
        if is_secret_name(name)
        and any(fnmatchcase(name, pattern) for pattern in settings.sandbox.env_allow)
        and value.strip()
        and not is_path(value)
        and (value.strip() not in redacted or _is_short(value))
    ]


def _list_address_passwords(settings: Settings) -> list[tuple[str, str]]:
    blobs = settings.blobs
    addresses = {"store.url": settings.store.url, "blobs.url": blobs.url, "blobs.endpoint": blobs.endpoint}
    return [(key, password) for key, address in addresses.items() for password in list_passwords(address)]


def _list_patterns(settings: Settings) -> list[str]:
    named = (settings.engine.api_key_variable, *(entry.secret_env for entry in settings.notify))
    return [*settings.secrets.env, *filter(None, named)]


def _is_short(value: str) -> bool:
    return len(value.strip().encode("utf-8", "surrogateescape")) < MIN_LENGTH


def _locate(name: str, root: Path, environ: Mapping[str, str]) -> Path:
    home = environ.get("HOME", "")
    return root / (f"{home}{name[1:]}" if name.startswith("~/") and home else name)


def _read_file(path: Path) -> list[FileValue]:
    try:
        with path.open("rb") as file:
            return read_values(file.read(_LARGEST_BYTES).decode("utf-8", "surrogateescape"))
    except OSError:
        return []  # a run is refused: see find_unusable_secrets
