"""Where the tables of a project are: a PostgreSQL server, a database and a schema."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import psycopg
from msgspec import Struct
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from ostler.errors import UsageError

CONNECT_SECONDS = 5
# A peer that disappears without closing the connection is noticed within half a minute.
_DEFAULTS: dict[str, str | int] = {
    "application_name": "ostler",
    "connect_timeout": CONNECT_SECONDS,
    "keepalives_idle": 5,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 25_000,
    "target_session_attrs": "read-write",
}
_FIXED = {"client_encoding": "UTF8"}  # whatever PGCLIENTENCODING is


class Address(Struct, frozen=True):
    """The parameters of a connection; its text has no password."""

    conninfo: str
    name: str  # HOST:PORT/DATABASE, for people
    schema: str

    def __str__(self) -> str:
        return f"the database {self.name}"

    @property
    def lock_key(self) -> int:
        """The advisory lock of the project's transactions; all versions of Ostler use the same number."""
        digest = hashlib.blake2b(f"ostler:{self.schema}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big", signed=True)

    @property
    def quoted_schema(self) -> str:
        return f'"{self.schema}"'  # its pattern allows no quotes


def parse_address(url: str, schema: str) -> Address:
    """Return the address of a `postgresql://` URL; raises UsageError if it is not one."""
    try:
        given: dict[str, Any] = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        # The reason of libpq can quote a part of the password.
        raise _invalid_error() from None
    # libpq takes a part of a password with an @ or a slash for the host, the port or the database.
    user, at, _ = url.partition("://")[2].partition("?")[0].rpartition("@")
    if at and ("@" in user or "/" in user):
        raise _invalid_error()
    if not all(map(_is_port, _ports(given))):
        raise _invalid_error()
    if not _is_number(given.get("connect_timeout", 0)):
        raise UsageError("connect_timeout in store.url is not a number", "write seconds: ?connect_timeout=10")
    conninfo = make_conninfo("", **{**_DEFAULTS, **given, **_FIXED})
    return Address(conninfo, _describe(given), schema)


def _invalid_error() -> UsageError:
    hint = "write it as postgresql://USER@HOST:PORT/NAME, special characters of a password as %XX"
    return UsageError("store.url is not a valid PostgreSQL URL", hint)


def _ports(given: dict[str, Any]) -> list[str]:
    return [port or "5432" for port in str(given.get("port") or "").split(",")]


def _is_port(text: str) -> bool:
    return _is_number(text) and 0 < int(text) < 1 << 16


def _is_number(text: object) -> bool:
    return re.fullmatch(r"[0-9]{1,9}", str(text)) is not None


def _describe(given: dict[str, Any]) -> str:
    hosts = str(given.get("host") or "localhost").split(",")
    ports = _ports(given)
    ports += ports[-1:] * (len(hosts) - len(ports))
    servers = ",".join(f"{host}:{port}" for host, port in zip(hosts, ports, strict=False))
    return f"{servers}/{given.get('dbname') or given.get('user') or ''}"
