"""The connection to the Temporal server, from the settings of [engine]."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from threading import Event

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.runtime import Runtime, TelemetryConfig
from temporalio.service import RPCError, TLSConfig

from ostler.config.cluster import EngineSettings
from ostler.engine.temporal.refusals import explain_call, explain_text, no_answer
from ostler.errors import Code, OstlerError
from ostler.text import describe_os_error

CONNECTED = Event()
"""Set in a process that has used the client, which has to end with os._exit."""

_CONNECT_SECONDS = 10.0
_CERTIFICATE, _KEY = b"-----BEGIN CERTIFICATE-----", b"PRIVATE KEY-----"  # of a PEM file


async def connect(settings: EngineSettings, environ: Mapping[str, str], identity: str) -> Client:
    """Connect and check the namespace; raise an error that names the setting to correct."""
    tls = read_tls(settings)
    api_key = read_api_key(settings, environ)
    CONNECTED.set()
    try:
        client = await asyncio.wait_for(
            Client.connect(
                settings.address,
                namespace=settings.namespace,
                identity=identity,
                api_key=api_key,
                tls=tls,
                # Its log would be on the terminal; what matters is reported by the caller.
                runtime=Runtime(telemetry=TelemetryConfig(logging=None)),
                connect_timeout=timedelta(seconds=_CONNECT_SECONDS),
            ),
            _CONNECT_SECONDS,
        )
        await client.workflow_service.describe_namespace(
            DescribeNamespaceRequest(namespace=settings.namespace),
            timeout=timedelta(seconds=_CONNECT_SECONDS),
        )
    except RPCError as error:
        raise explain_call(settings, error) from None
    except (RuntimeError, ValueError) as error:
        # What the SDK raises for an address that cannot be reached, and for an invalid one.
        raise explain_text(settings, str(error), uses_tls=bool(tls or api_key)) from None
    except TimeoutError:
        raise no_answer(settings, _CONNECT_SECONDS) from None
    return client


def read_api_key(settings: EngineSettings, environ: Mapping[str, str]) -> str | None:
    """Return the API key, None without one; a variable that the settings name must be set."""
    key = environ.get(settings.api_key_variable, "").strip()
    if settings.api_key_env and not key:
        raise OstlerError(
            Code.CONFIG_INVALID,
            f"the variable {settings.api_key_env}, which engine.api_key_env names, is not set",
            f"export {settings.api_key_env}=...   or remove engine.api_key_env",
        )
    return key or None


def read_tls(settings: EngineSettings) -> TLSConfig | bool | None:
    """Return the TLS settings; None leaves it to the SDK, which uses TLS with an API key."""
    if not (settings.tls_ca or settings.tls_cert or settings.tls_key):
        return True if settings.tls else None
    return TLSConfig(
        server_root_ca_cert=_read_file("engine.tls_ca", settings.tls_ca, _CERTIFICATE),
        client_cert=_read_file("engine.tls_cert", settings.tls_cert, _CERTIFICATE),
        client_private_key=_read_file("engine.tls_key", settings.tls_key, _KEY),
    )


def _read_file(key: str, path: str, mark: bytes) -> bytes | None:
    if not path:
        return None
    try:
        found = Path(path).expanduser().read_bytes()
    except OSError as error:
        raise OstlerError(
            Code.CONFIG_INVALID, f"{key}: cannot read {path}: {describe_os_error(error)}", f"correct {key}"
        ) from None
    if mark not in found:
        raise OstlerError(
            Code.CONFIG_INVALID,
            f"{key}: {path} is not a {'private key' if mark is _KEY else 'certificate'} in PEM format",
            f"correct {key}",
        )
    return found
