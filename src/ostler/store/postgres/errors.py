"""Translates errors of PostgreSQL into errors with a code and a hint; they contain no password."""

from __future__ import annotations

import re

import psycopg
from psycopg import errors as e

from ostler.errors import Code, OstlerError, StateError, UsageError
from ostler.store.postgres.address import Address
from ostler.store.postgres.connection import STATEMENT_SECONDS, NoAnswer

RECOVER = "restore a backup of the database with pg_restore; no agent is started before"

# What waiting does not change, in the words of the server: libpq gives no code for a refused connection.
_REFUSALS = re.compile(
    r"authentication failed|no pg_hba\.conf entry|does not exist|not permitted to log in|permission denied"
    r"|certificate|SSL (was|is) |server does not support SSL|no password supplied|root\.crt"
    r"|invalid \S+ value|definition of service|could not match|must be"
)
_PREFIX = re.compile(
    r"^(connection (failed|is bad): )?(connection to server (at|on) .*? failed: )?(FATAL:\s*|fe_sendauth: )?"
)
_ERRNO = re.compile(r"\[Errno -?\d+\] ")
_PASSWORD = re.compile(r"authentication failed|no password supplied")
_NO_DATABASE = re.compile(r'^database "(.*)" does not exist')
_MISSING = (e.UndefinedTable, e.InvalidSchemaName)
_LOST = (
    e.AdminShutdown,
    e.CrashShutdown,
    e.CannotConnectNow,
    e.IdleInTransactionSessionTimeout,
    e.IdleSessionTimeout,
    e.ReadOnlySqlTransaction,
    e.TooManyConnections,
    e.SerializationFailure,
    e.DeadlockDetected,
    e.OutOfMemory,
)


class Unavailable(StateError):
    """The database cannot be used now; waiting may help."""

    def __init__(self, address: Address, reason: str, hint: str = "") -> None:
        self.reason = reason
        hint = hint or "check the server and store.url, then try again; nothing was changed"
        super().__init__(Code.STORE_UNAVAILABLE, f"{address} cannot be used: {reason}", hint)


class Busy(StateError):
    """Another process holds the lock of the project."""

    reason = "another process has locked the project"

    def __init__(self, address: Address) -> None:
        message = f"another process has locked the project in {address}"
        super().__init__(Code.STATE_BUSY, message, "try again; nothing was changed")


class ProjectMissing(UsageError):
    """The schema has no tables of Ostler."""

    def __init__(self, address: Address) -> None:
        super().__init__(
            f"no Ostler project in the schema {address.schema} of {address}",
            "ostler init   creates it; ostler store copy   brings the tasks of a file; or correct [store]",
        )


def translate(address: Address, error: psycopg.Error | NoAnswer) -> OstlerError | None:
    """Return the error to raise instead; None for an error that only a bug can cause."""
    match error:
        case NoAnswer():
            translated = Unavailable(address, "it does not answer")
        case e.LockNotAvailable():
            translated = Busy(address)
        case e.QueryCanceled():
            translated = Unavailable(address, f"a statement took longer than {STATEMENT_SECONDS} s")
        case e.DiskFull():
            translated = StateError(Code.DISK_FULL, f"the disk of {address} is full", "free space there")
        case e.IoError() | e.UndefinedFile():
            translated = StateError(
                Code.STORAGE_ERROR, f"{address} reports an error of its disk", "check its log"
            )
        case e.DataCorrupted() | e.IndexCorrupted():
            translated = StateError(Code.STATE_CORRUPT, f"{address} reports that it is damaged", RECOVER)
        case e.InsufficientPrivilege():
            translated = privilege_error(address, first_line(error))
        case e.DuplicateTable() | e.DuplicateObject() | e.ReservedName():
            translated = UsageError(
                f"the tables cannot be created in {address}, schema {address.schema}: {first_line(error)}",
                "name another schema: ostler config set store.schema NAME",
            )
        case e.UndefinedColumn():
            message = f"the tables in {address} are not those of Ostler: {first_line(error)}"
            translated = StateError(Code.STATE_CORRUPT, message, RECOVER)
        case _ if isinstance(error, _MISSING):
            translated = lost_error(address, "the tables of the project are gone")
        case _ if is_lost(error):
            translated = Unavailable(address, first_line(error))
        case _:
            translated = None
    return translated


def is_lost(error: psycopg.Error | NoAnswer) -> bool:
    """Return whether the connection is gone, or of no use any more."""
    if isinstance(error, (NoAnswer, *_LOST)):
        return True
    # An error that the server reported has a code; without one the connection broke.
    connection_class = error.sqlstate is None or error.sqlstate.startswith("08")
    return isinstance(error, (e.OperationalError, e.InterfaceError)) and connection_class


def connect_error(address: Address, error: psycopg.Error | NoAnswer) -> OstlerError:
    """Return the error for a connection that could not be made."""
    reason = first_line(error) if isinstance(error, psycopg.Error) else "it does not answer"
    if _REFUSALS.search(reason):
        return UsageError(f"{address} refused the connection: {reason}", _find_fix(reason))
    return Unavailable(address, reason)


def _find_fix(reason: str) -> str:
    """Return what to do about a connection that waiting does not help."""
    if _PASSWORD.search(reason):
        return (
            "set the password in ~/.pgpass, PGPASSWORD or OSTLER_STORE__URL, or correct the user in store.url"
        )
    if found := _NO_DATABASE.search(reason):
        return (
            f"create it: CREATE DATABASE {found[1]} ENCODING 'UTF8' TEMPLATE template0; or correct store.url"
        )
    return "correct store.url, or the server"


def lost_error(address: Address, reason: str) -> StateError:
    """Return the error for a store that was deleted or replaced while it was open."""
    return StateError(Code.JOURNAL_LOST, f"the journal in {address} is lost: {reason}", RECOVER)


def privilege_error(address: Address, reason: str) -> UsageError:
    return UsageError(
        f"the user of store.url lacks a privilege in {address}: {reason}",
        f"let the user own the schema {address.schema}, or CREATE on the database",
    )


def encoding_error(address: Address, encoding: str) -> UsageError:
    return UsageError(
        f"{address} has the encoding {encoding}, which cannot contain all texts",
        "create a database with it: CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0",
    )


def version_error(address: Address, works_with: int, newest: int) -> StateError:
    message = f"the journal in {address} needs version {works_with}; this Ostler supports up to {newest}"
    return StateError(Code.STATE_VERSION, message, "upgrade Ostler")


def first_line(error: psycopg.Error) -> str:
    """Return what the server or libpq reported, without its prefix."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    found = next((line for line in lines if "FATAL:" in line), lines[0] if lines else "")
    reason = _ERRNO.sub("", _PREFIX.sub("", found))
    if reason.startswith("received invalid response to SSL negotiation"):
        return "the program that answers there is not PostgreSQL"
    return reason or "the connection broke"
