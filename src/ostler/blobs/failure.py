"""What a failed request to a blob store means, in one sentence without secrets."""

from __future__ import annotations

import re

from ostler.errors import Code, OstlerError
from ostler.secrets.redact import redact_text
from ostler.text import find_innermost_reason, first_line, one_line

_CREDENTIALS = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to an account that may use it"
_UNREACHABLE = "check the connection, and [blobs] url and endpoint"
_REFUSED_BY_S3 = re.compile(r"<Code>(\w+)</Code>(?:<Message>([^<]*)</Message>)?")
_NO_ANSWER = re.compile(r"\b(kind: Timeout|TimedOut)\b")
_DENIED = frozenset(("PermissionDeniedError", "UnauthenticatedError"))
_LIKELY_LATER = frozenset(("InternalError", "ServiceUnavailable", "SlowDown", "RequestTimeout"))
_MISSING_BUCKET = "NoSuchBucket"


class BlobsUnavailable(OstlerError):
    """The blob store cannot be used; `is_outage`: the same request may succeed later, without a change."""

    def __init__(self, message: str, hint: str, *, is_outage: bool) -> None:
        super().__init__(Code.BLOBS_UNAVAILABLE, message, hint)
        self.is_outage = is_outage


def is_missing(error: Exception) -> bool:
    """Return whether only the blob does not exist; a bucket that does not exist is an error."""
    return isinstance(error, FileNotFoundError) and _MISSING_BUCKET not in str(error)


def explain(error: Exception, place: str) -> BlobsUnavailable:
    """Return the error of a request that failed; `place` is the URL of the blob store."""
    text = str(error)
    refused = _REFUSED_BY_S3.search(text)
    code = refused[1] if refused else ""
    if code == _MISSING_BUCKET:
        return _create(place, "has no such bucket", "create the bucket", is_outage=False)
    if type(error).__name__ in _DENIED or " 403 Forbidden" in text:
        reason = f"refused the request: {code or 'permission denied'}"
        hint = _CREDENTIALS if place.startswith("s3:") else "make the directory writable"
        return _create(place, reason, hint, is_outage=False)
    if refused:
        reason = f"returned {code}: {refused[2] or 'no reason given'}"
        return _create(place, reason, _UNREACHABLE, is_outage=code in _LIKELY_LATER)
    if _NO_ANSWER.search(text):
        return _create(place, "cannot be used: it does not answer", _UNREACHABLE, is_outage=True)
    line = first_line(text)
    reason = f"cannot be used: {find_innermost_reason(text) or line.partition(' - ')[2] or line}"
    return _create(place, reason, _UNREACHABLE, is_outage=True)


def _create(place: str, reason: str, hint: str, *, is_outage: bool) -> BlobsUnavailable:
    sentence = one_line(redact_text(f"the blob store {place} {reason}"))
    return BlobsUnavailable(sentence, hint, is_outage=is_outage)
