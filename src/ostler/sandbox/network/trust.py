"""The certificates that connections to the model's API are checked with."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from functools import lru_cache


def make_tls_context(environ: Mapping[str, str]) -> ssl.SSLContext:
    """Return the context; SSL_CERT_FILE, SSL_CERT_DIR and NODE_EXTRA_CA_CERTS are used as agents use them."""
    names = ("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS")
    return _make(*(environ.get(name, "") for name in names))


@lru_cache(maxsize=4)
def _make(file: str, directory: str, extra: str) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=file or None, capath=directory or None)
    paths = ssl.get_default_verify_paths()
    if not (file or directory or paths.cafile or paths.capath):
        # Some builds of Python have no certificates of the system.
        import certifi  # noqa: PLC0415

        context.load_verify_locations(certifi.where())
    if extra:
        context.load_verify_locations(extra)
    return context
