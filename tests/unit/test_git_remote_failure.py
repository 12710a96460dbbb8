"""The refusals of remotes and the resulting messages."""

from __future__ import annotations

import pytest

from ostler.errors import Code
from ostler.git.publish.transport import classify_remote_failure

LOGIN, GONE, FAR = (
    "did not accept your login",
    "does not exist or you cannot access it",
    "could not be reached",
)


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        (b"fatal: Authentication failed for 'https://example.org/a.git/'", LOGIN),
        (b"fatal: could not read Username for 'https://x': terminal prompts disabled", LOGIN),
        (b"git@example.org: Permission denied (publickey).\nfatal: Could not read from remote", LOGIN),
        (b"Host key verification failed.\nfatal: Could not read from remote repository.", LOGIN),
        (
            b"remote: Permission to a/b.git denied to una.\n"
            b"fatal: unable to access 'https://x/': The requested URL returned error: 403",
            LOGIN,
        ),
        (b"remote: Repository not found.\nfatal: repository 'https://x/' not found", GONE),
        (b"fatal: '/r.git' does not appear to be a git repository", GONE),
        (b"fatal: unable to access 'https://x/': Could not resolve host: x", FAR),
        (b"fatal: unable to access 'https://x/': Failed to connect to x port 443: Connection refused", FAR),
        (b"error: RPC failed; curl 92\nfatal: the remote end hung up unexpectedly", FAR),
        (b"fatal: unable to access 'https://x/': The requested URL returned error: 502", FAR),
        (b"fatal: transport 'ext' not allowed", "a URL of an unsupported kind"),
        (b"fatal: something new", "origin failed: something new"),
        (b"", "no output"),
    ],
)
def test_every_refusal_is_a_sentence_with_a_way_out(printed: bytes, expected: str):
    """PUBLISH_FAILED, one line, the name of the remote, and the next step."""
    error = classify_remote_failure("origin", printed)
    assert error.code is Code.PUBLISH_FAILED
    assert expected in error.message
    assert "origin" in error.message
    assert "\n" not in error.message
    assert error.hint


def test_no_login_is_repeated():
    """A token in the address is not in the sentence."""
    error = classify_remote_failure("origin", b"fatal: unable to access 'https://una:s3cret@x/': nothing")
    assert "s3cret" not in error.message
