"""The entries of sandbox.allow_hosts: one that is no host is a mistake, not a host that is never reached."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ostler.config.host import HostInvalid, parse_allowed_host
from ostler.config.layer import ConfigError, LayerValues
from ostler.config.source import DEFAULT

_KEY = "sandbox.allow_hosts"


def find_invalid_hosts(reading: LayerValues, entries: Iterable[object]) -> Iterator[ConfigError]:
    """Yield an error for each entry that is not HOST, HOST:PORT or *.DOMAIN."""
    for entry in entries:
        try:
            parse_allowed_host(str(entry))
        except HostInvalid as error:
            yield ConfigError(reading.sources.get(_KEY, DEFAULT), _KEY, str(error))
