"""Opens the blob store of [blobs]; obstore is imported here and nowhere else."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from ostler.blobs.blobs import Blobs
from ostler.config.checks.cluster_rules import explain_invalid_endpoint
from ostler.config.cluster import BlobsSettings
from ostler.errors import UsageError
from ostler.files.atomic import make_private_dir
from ostler.model.policy.packages import PackageMissing

if TYPE_CHECKING:
    from obstore.store import ClientConfig, ObjectStore, RetryConfig

_SHOW = "ostler config show   names the file"
_CREDENTIALS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
_CONNECT_SECONDS, _REQUEST_SECONDS, _RETRY_SECONDS = 5, 30, 10
_PROBE_SECONDS = 5  # of a request that only finds out whether the store can be used
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_REGION = re.compile(r"[A-Za-z0-9-]*")


def open_blobs(settings: BlobsSettings, environ: Mapping[str, str]) -> Blobs | None:
    """Return the blob store; None if [blobs] names none. Makes no request. Raises UsageError."""
    if not settings.url:
        return None
    return open_url(settings, environ)


def open_url(settings: BlobsSettings, environ: Mapping[str, str], *, is_probe: bool = False) -> Blobs:
    """Return the blob store of blobs.url, which is not empty; a probe does not wait for a slow server."""
    scheme, host, path, *rest = urlsplit(settings.url)
    if any(rest) or "@" in host:
        raise _refuse("no user, password, query or fragment; credentials are read from AWS_* variables")
    if scheme == "file":
        return Blobs(_open_directory(host, unquote(path)), settings.url)
    endpoint = _find_endpoint(settings, environ)
    place = f"{settings.url} ({endpoint})" if endpoint else settings.url
    client_options, retry_config = _client(endpoint, is_probe), _retry(is_probe)
    given = _list_options(endpoint, settings, environ)
    return Blobs(_open_s3(host, unquote(path).strip("/"), given, client_options, retry_config), place)


def _find_endpoint(settings: BlobsSettings, environ: Mapping[str, str]) -> str:
    """Return the URL of the server; empty: Amazon's."""
    found = settings.endpoint or environ.get("AWS_ENDPOINT_URL_S3") or environ.get("AWS_ENDPOINT_URL") or ""
    if found and (reason := explain_invalid_endpoint(found)):
        name = "blobs.endpoint" if found == settings.endpoint else "AWS_ENDPOINT_URL"
        raise UsageError(f"invalid {name}: {reason}", _SHOW)
    return found


def _open_directory(host: str, path: str) -> ObjectStore:
    if host not in ("", "localhost") or not path.startswith("/"):
        raise _refuse("file:///DIRECTORY with an absolute path")
    _require_package()
    from obstore.store import LocalStore  # noqa: PLC0415  (needed with a blob store only)

    folder = Path(os.path.normpath(path))
    if not folder.is_dir():
        make_private_dir(folder)
    return LocalStore(folder, automatic_cleanup=True)


def _list_options(
    endpoint: str, settings: BlobsSettings, environ: Mapping[str, str]
) -> Mapping[str, str | None]:
    region = settings.region or environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or "us-east-1"
    if not _REGION.fullmatch(region):
        raise UsageError("invalid blobs.region, or AWS_REGION: expected a name such as eu-central-1", _SHOW)
    key, secret, token = (environ.get(name) or None for name in _CREDENTIALS)
    if bool(key) != bool(secret):
        missing = _CREDENTIALS[1] if key else _CREDENTIALS[0]
        raise UsageError(f"[blobs] url needs {missing}, as the other one is set", f"export {missing}=...")
    return {
        "endpoint": endpoint,
        "region": region,
        "access_key_id": key,
        "secret_access_key": secret,
        "session_token": token,
    }


def _open_s3(
    bucket: str,
    prefix: str,
    given: Mapping[str, str | None],
    client_options: ClientConfig,
    retry_config: RetryConfig,
) -> ObjectStore:
    _require_package()
    from obstore.exceptions import BaseError  # noqa: PLC0415
    from obstore.store import S3Store  # noqa: PLC0415

    expected = "s3://BUCKET/PREFIX, and the endpoint a URL"
    if not _BUCKET.fullmatch(bucket):
        raise _refuse(expected)
    try:
        return S3Store(
            bucket,
            prefix=prefix or None,
            client_options=client_options,
            retry_config=retry_config,
            **{name: value for name, value in given.items() if value},  # pyright: ignore[reportArgumentType]
        )
    except (BaseError, ValueError, TypeError):
        raise _refuse(expected) from None


def _client(endpoint: str, is_probe: bool) -> ClientConfig:
    return {
        "allow_http": endpoint.startswith("http://"),
        "connect_timeout": timedelta(seconds=_CONNECT_SECONDS),
        "timeout": timedelta(seconds=_PROBE_SECONDS if is_probe else _REQUEST_SECONDS),
    }


def _retry(is_probe: bool) -> RetryConfig:
    seconds = _PROBE_SECONDS if is_probe else _RETRY_SECONDS
    return {"max_retries": 0 if is_probe else 2, "retry_timeout": timedelta(seconds=seconds)}


def _require_package() -> None:
    try:
        import obstore  # noqa: F401, PLC0415  # pyright: ignore[reportUnusedImport]
    except ImportError as error:
        raise PackageMissing("blobs.url", "obstore", error) from None


def _refuse(expected: str) -> UsageError:
    # Without the URL: it may contain a password.
    return UsageError(f"invalid blobs.url: expected {expected}", _SHOW)
