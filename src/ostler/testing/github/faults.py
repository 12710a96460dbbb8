"""Faults of GitHub; each applies to the next request of an operation."""

from __future__ import annotations

from msgspec import Struct


class Fault(Struct, frozen=True):
    """One faulty answer; with `after` the request takes effect and only the answer is lost."""

    status: int = 200
    message: str = ""
    kind: str = ""  # of a GraphQL error, which comes with status 200
    headers: dict[str, str] = {}
    delay_seconds: float = 0.0
    after: bool = False
    hang_up: bool = False

    def describe(self) -> str:
        """Return one line."""
        if self.hang_up:
            return "the connection is closed without an answer"
        slow = f"the answer takes {self.delay_seconds:g} s" if self.delay_seconds else ""
        error = f"{self.status} {self.message}".rstrip(".") if self.message else ""
        applied = "the request takes effect, but the answer is lost" if self.after and error else ""
        return ", ".join(filter(None, (error, slow, applied)))


FAULTS = {
    "bad_token": Fault(401, "Bad credentials"),
    "rate_limited": Fault(
        403,
        "API rate limit exceeded for user ID 1.",
        headers={"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "4102444800"},
    ),
    "secondary_limit": Fault(403, "You have exceeded a secondary rate limit.", headers={"Retry-After": "60"}),
    "forbidden": Fault(403, "Resource not accessible by personal access token"),
    "already_exists": Fault(
        200, "A pull request already exists for acme:ostler/fix-login-ab12.", kind="UNPROCESSABLE"
    ),
    "base_modified": Fault(
        200, "Base branch was modified. Review and try the merge again.", kind="UNPROCESSABLE"
    ),
    "auto_merge_off": Fault(200, "Auto merge is not allowed for this repository", kind="UNPROCESSABLE"),
    "server_error": Fault(502, "Server Error"),
    "lost_answer": Fault(502, "Server Error", after=True),
    "hang_up": Fault(hang_up=True),
    "slow": Fault(delay_seconds=1.0, after=True),
}
