"""Why the Temporal server cannot be used: one sentence, and the setting to correct.

The SDK reports a connection that fails as the debug text of its Rust client, without a code.
"""

from __future__ import annotations

import re

from msgspec import Struct
from temporalio.service import RPCError, RPCStatusCode

from ostler.config.cluster import EngineSettings
from ostler.errors import Code, OstlerError
from ostler.secrets.redact import redact_text
from ostler.text import find_innermost_reason, one_line

_START = "start it, or correct engine.address"
_ADDRESS = "correct engine.address"
_AUTHORITY = "set engine.tls_ca to the file with the certificate of its authority"
_CLIENT = "set engine.tls_cert and engine.tls_key to a certificate that it accepts, with its key"
_KEY = "set {variable} to a valid API key of the namespace"
_LATER = "try again, or read its log"


class _Cause(Struct, frozen=True):
    """What a part of the debug text means."""

    pattern: str
    reason: str
    hint: str
    is_outage: bool = False  # the same request may succeed later, without a change


_CAUSES = (
    _Cause(r"ConnectionRefused", "connection refused", _START, is_outage=True),
    _Cause(r"dns error", "its host name cannot be resolved", _ADDRESS, is_outage=True),
    _Cause(
        r"InvalidContentType|InvalidMessage",
        "it does not use TLS",
        "remove engine.tls, engine.tls_ca and the API key ({variable}), or correct engine.address",
    ),
    _Cause(
        r"UnknownIssuer|BadSignature|CaUsedAsEndEntity",
        "its certificate is from an unknown authority",
        _AUTHORITY,
    ),
    _Cause(
        r"NotValidForName", "its certificate is for another host name", f"{_ADDRESS} to a name that it has"
    ),
    _Cause(r"Certificate\((Expired|NotValidYet)", "its certificate is not valid at this time", "renew it"),
    _Cause(r"InvalidCertificate", "its certificate is not accepted", _AUTHORITY),
    _Cause(r"CertificateRequired", "it requires a client certificate", _CLIENT),
    _Cause(r"fatal alert", "it refuses the client certificate", _CLIENT),
    _Cause(r"CertificateParseError", "engine.tls_ca or engine.tls_cert is damaged", "replace the file"),
    _Cause(r"PrivateKeyParseError", "engine.tls_key is not a private key in PEM format", "correct it"),
    _Cause(r"KeyMismatch", "engine.tls_key is not the key of engine.tls_cert", "correct one of them"),
    _Cause(r"Unauthenticated", "it refuses the API key or the client certificate", _KEY),
    _Cause(r"PermissionDenied", "the API key may not use this namespace", _KEY),
    _Cause(r"Unimplemented", "it is not a Temporal server", _ADDRESS),
    _Cause(r"invalid target URL", "invalid address", "set engine.address to HOST:PORT"),
    _Cause(r"Unavailable|ResourceExhausted", "it cannot answer now", _LATER, is_outage=True),
    _Cause(r"DeadlineExceeded|[Tt]imed? ?out", "it does not answer", _START, is_outage=True),
)
_CLOSED = re.compile(r"transport error|operation was canceled|[Cc]onnection ?[Cc]losed")
_CLOSED_PLAIN = _Cause(
    "",
    "it closes the connection, as a server that requires TLS or another program does",
    "set engine.tls = true, or correct engine.address",
)
# A refused client certificate is reported after the handshake, which the end of the connection can overtake.
_CLOSED_TLS = _Cause(
    "", "it closes the connection", f"try again, or correct engine.address, or {_CLIENT}", is_outage=True
)
_BY_STATUS = {
    RPCStatusCode.UNAUTHENTICATED: "Unauthenticated",
    RPCStatusCode.PERMISSION_DENIED: "PermissionDenied",
    RPCStatusCode.UNIMPLEMENTED: "Unimplemented",
    RPCStatusCode.UNAVAILABLE: "Unavailable",
    RPCStatusCode.RESOURCE_EXHAUSTED: "ResourceExhausted",
    RPCStatusCode.DEADLINE_EXCEEDED: "DeadlineExceeded",
}


def explain_call(settings: EngineSettings, error: RPCError) -> OstlerError:
    """Return the error for a call that the server did not answer, or refused."""
    if error.status is RPCStatusCode.NOT_FOUND:
        return OstlerError(
            Code.CONFIG_INVALID,
            f'the Temporal server at {settings.address} has no namespace "{settings.namespace}"',
            "create it, or correct engine.namespace: "
            f"temporal operator namespace create -n {settings.namespace}",
        )
    return explain_text(settings, f"{_BY_STATUS.get(error.status, '')} {error.message}")


def explain_text(settings: EngineSettings, text: str, *, uses_tls: bool = True) -> OstlerError:
    """Return the error for a connection that could not be made, from the debug text of the SDK."""
    cause = next((one for one in _CAUSES if re.search(one.pattern, text)), None)
    if cause is None and _CLOSED.search(text):
        cause = _CLOSED_TLS if uses_tls else _CLOSED_PLAIN
    if cause is None:
        reason = one_line(redact_text(find_innermost_reason(text) or text))
        cause = _Cause("", reason, f"{_START}, or the other settings of [engine]", is_outage=True)
    return OstlerError(
        Code.ENGINE_UNAVAILABLE if cause.is_outage else Code.CONFIG_INVALID,
        f"cannot use the Temporal server at {settings.address}: {cause.reason}",
        cause.hint.format(variable=settings.api_key_variable),
    )


def no_answer(settings: EngineSettings, seconds: float) -> OstlerError:
    """Return the error for a server that accepts a connection and does not answer."""
    return OstlerError(
        Code.ENGINE_UNAVAILABLE,
        f"cannot use the Temporal server at {settings.address}: no answer within {seconds:g} s",
        _START,
    )
