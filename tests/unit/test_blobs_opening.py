"""The blob store of [blobs]: what is accepted, and one sentence for what is not."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest
from servers.s3 import S3Server

from ostler.blobs.failure import BlobsUnavailable, explain
from ostler.blobs.opening import open_url
from ostler.config.cluster import BlobsSettings
from ostler.errors import Code, UsageError

ACCOUNT = {
    "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLE",
}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (BlobsSettings("s3://user:geheim77@bucket/x"), "invalid blobs.url: expected no user"),
        (BlobsSettings("s3://bucket/x?key=geheim77"), "invalid blobs.url: expected no user"),
        (BlobsSettings("s3://bucket", "http://u:geheim77@host"), "invalid blobs.endpoint: expected a URL"),
        (BlobsSettings("s3://bucket", "geheim77:9000"), "invalid blobs.endpoint: expected a URL"),
        (BlobsSettings("s3://geheim77 bucket"), "invalid blobs.url: expected s3://BUCKET"),
        (BlobsSettings("s3://bucket", "", "geheim77 1"), "invalid blobs.region"),
        (BlobsSettings("file://host/x"), "invalid blobs.url: expected file:///DIRECTORY"),
    ],
)
def test_an_invalid_url_is_refused_without_its_text(settings: BlobsSettings, expected: str) -> None:
    """A password in it is not printed."""
    with pytest.raises(UsageError) as caught:
        open_url(settings, ACCOUNT)
    assert caught.value.message.startswith(expected) and "geheim" not in caught.value.message


def test_half_of_the_credentials_is_refused() -> None:
    """The message names the variable that is missing."""
    with pytest.raises(UsageError, match="AWS_SECRET_ACCESS_KEY"):
        open_url(BlobsSettings("s3://bucket"), {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE"})


def test_a_directory_is_created_private(tmp_path: Path) -> None:
    """Its blobs are files that only the user can read, as those of the tasks are."""
    blobs = open_url(BlobsSettings(f"file://{tmp_path}/new%20dir/blobs"), {})
    blobs.put("a/b", b"x")
    assert (tmp_path / "new dir/blobs/a/b").read_bytes() == b"x"
    assert (tmp_path / "new dir/blobs").stat().st_mode & 0o777 == 0o700


def test_a_server_that_is_not_there_is_an_outage() -> None:
    """One sentence with the place and the reason, and no secret."""
    blobs = open_url(BlobsSettings("s3://bucket/x", "http://127.0.0.1:1"), ACCOUNT)
    with pytest.raises(BlobsUnavailable) as caught:
        blobs.put("a", b"x")
    error = caught.value
    assert error.code is Code.BLOBS_UNAVAILABLE and error.is_outage
    assert (
        error.message
        == "the blob store s3://bucket/x (http://127.0.0.1:1) cannot be used: Connection refused"
    )


def test_a_variable_with_an_endpoint_is_named() -> None:
    """It has the form of a URL, as the setting has."""
    with pytest.raises(UsageError, match="invalid AWS_ENDPOINT_URL: expected a URL"):
        open_url(BlobsSettings("s3://bucket"), {**ACCOUNT, "AWS_ENDPOINT_URL": "127.0.0.1:9000"})


def test_a_probe_does_not_wait_for_a_server_without_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """It makes one request; a worker and the checks of a cluster begin with one."""
    monkeypatch.setattr("ostler.blobs.opening._PROBE_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings = BlobsSettings("s3://bucket/x", f"http://127.0.0.1:{silent.getsockname()[1]}")
        began = time.monotonic()
        with pytest.raises(BlobsUnavailable) as caught:
            open_url(settings, ACCOUNT, is_probe=True).check()
    assert caught.value.is_outage and time.monotonic() - began < 5
    assert caught.value.message.endswith("cannot be used: it does not answer")


def test_a_directory_that_refuses_is_not_an_outage() -> None:
    """Waiting does not help against missing permissions."""
    error = explain(type("PermissionDeniedError", (Exception,), {})("x"), "file:///blobs")
    assert not error.is_outage
    assert error.message == "the blob store file:///blobs refused the request: permission denied"


@pytest.mark.full
def test_a_server_names_what_it_refuses(s3_server: S3Server) -> None:
    """Wrong credentials and a missing bucket are told apart, and are no outages."""
    account = s3_server.environment
    settings = BlobsSettings("s3://no-such-bucket/x", s3_server.endpoint)
    place = f"the blob store {settings.url} ({s3_server.endpoint})"
    for environ, reason in (
        (account, f"{place} has no such bucket"),
        (
            account | {"AWS_SECRET_ACCESS_KEY": "wrong-secret"},
            f"{place} refused the request: SignatureDoesNotMatch",
        ),
        (account | {"AWS_ACCESS_KEY_ID": "nobody"}, f"{place} refused the request: InvalidAccessKeyId"),
    ):
        for request in (
            lambda blobs: blobs.read("a"),
            lambda blobs: blobs.check(),
            lambda blobs: blobs.list(),
        ):
            with pytest.raises(BlobsUnavailable) as caught:
                request(open_url(settings, environ))
            assert (caught.value.message, caught.value.is_outage) == (reason, False)


@pytest.mark.full
def test_a_frozen_server_is_an_outage(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request ends within its time, and the same blobs can be used afterwards."""
    monkeypatch.setattr("ostler.blobs.opening._REQUEST_SECONDS", 1)
    monkeypatch.setattr("ostler.blobs.opening._RETRY_SECONDS", 1)
    blobs = open_url(BlobsSettings("s3://frozen/x", s3_server.endpoint), s3_server.environment)
    blobs.put("a", b"x")
    s3_server.program.freeze()
    try:
        with pytest.raises(BlobsUnavailable) as caught:
            blobs.put("a", b"y")
    finally:
        s3_server.program.thaw()
    assert caught.value.is_outage
    blobs.put("a", b"z")
    assert blobs.read("a") == b"z"
