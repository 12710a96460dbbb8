"""A turn as a lock of a session of PostgreSQL."""

from __future__ import annotations

import hashlib
import logging

import psycopg

from ostler.store.busy import StopRequest
from ostler.store.postgres.address import Address
from ostler.store.postgres.connection import Connection, NoAnswer, connect
from ostler.store.postgres.errors import connect_error

_LOCK_SECONDS = 1.0
# How the server lists the lock of one number: its upper and its lower half.
_IS_LOCKED = """
    SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
        AND classid = {} AND objid = {}
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))"""

_log = logging.getLogger(__name__)


class PostgresTurn:
    """A Turn that the server ends with the connection of its process.

    A process that is cut off has it for some seconds more, while another one may take it already.
    """

    def __init__(self, address: Address, name: str) -> None:
        self._address = address
        digest = hashlib.blake2b(f"ostler:{address.schema}:{name}".encode(), digest_size=8).digest()
        self._key = int.from_bytes(digest, "big") >> 1  # not negative
        self._held: Connection | None = None

    def take(self) -> bool:
        if self._held is not None:
            if self._is_alive(self._held):
                return True
            self.release()
        connection = self._connect()
        if self._ask(connection, f"SELECT pg_try_advisory_lock({self._key})"):
            self._held = connection
            return True
        connection.close()
        return False

    def is_taken(self) -> bool:
        if self._held is not None and self._is_alive(self._held):
            return True
        connection = self._connect()
        try:
            return self._ask(connection, _IS_LOCKED.format(*divmod(self._key, 1 << 32)))
        finally:
            connection.close()

    def release(self) -> None:
        if self._held is None:
            return
        try:
            # The server may notice a closed connection a moment later.
            self._held.run_script(f"SELECT pg_advisory_unlock({self._key})")
        except (psycopg.Error, NoAnswer) as error:
            _log.debug("the turn ends with its connection: %s", error)
        self._held.close()
        self._held = None

    def _connect(self) -> Connection:
        try:
            return connect(self._address, StopRequest(), _LOCK_SECONDS)
        except (psycopg.OperationalError, NoAnswer) as error:
            raise connect_error(self._address, error) from error

    def _ask(self, connection: Connection, sql: str) -> bool:
        try:
            return bool(connection.run_script(sql)[0][0][0])
        except (psycopg.Error, NoAnswer) as error:
            connection.close()
            raise connect_error(self._address, error) from error

    def _is_alive(self, connection: Connection) -> bool:
        try:
            connection.run_script("SELECT 1")
        except (psycopg.Error, NoAnswer):
            return False
        return True
