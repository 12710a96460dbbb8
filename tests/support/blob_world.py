"""Blob stores for tests: a directory, the memory, and a real S3 server under make test-full."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from obstore.store import MemoryStore
from servers.s3 import S3Server

from ostler.blobs.blobs import Blobs
from ostler.blobs.failure import BlobsUnavailable
from ostler.blobs.opening import open_url
from ostler.config.cluster import BlobsSettings

KINDS_ON_DISK = ("directory", pytest.param("s3", marks=pytest.mark.full))
KINDS = (*KINDS_ON_DISK, "memory")


def make_blobs(kind: str, request: pytest.FixtureRequest | None, tmp_path: Path) -> Blobs:
    """Return an empty store."""
    if kind == "memory":
        return Blobs(MemoryStore(), "memory")
    return open_url(*read_settings(kind, request, tmp_path))


def read_settings(
    kind: str, request: pytest.FixtureRequest | None, tmp_path: Path
) -> tuple[BlobsSettings, dict[str, str]]:
    """Return the settings of an empty store, and its account; on the server each call gets a prefix."""
    if kind == "directory":
        return BlobsSettings(f"file://{tmp_path}/blobs"), {}
    assert request is not None
    server: S3Server = request.getfixturevalue("s3_server")
    return BlobsSettings(
        f"s3://ostler-tests/{os.urandom(4).hex()}/prefix", server.endpoint
    ), server.environment


class SwitchedBlobs(Blobs):
    """Blobs in memory that can be switched off."""

    def __init__(self) -> None:
        super().__init__(MemoryStore(), "memory")
        self.is_down = False
        self.fail_next = 0  # requests that fail

    @contextmanager
    def _explained(self) -> Generator[None]:
        self.fail_next -= 1
        if self.is_down or self.fail_next >= 0:
            raise BlobsUnavailable(f"the blob store {self.place} cannot be used", "check it", is_outage=True)
        with super()._explained():
            yield
