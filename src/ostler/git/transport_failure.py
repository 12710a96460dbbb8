"""What a remote's refusal means: one sentence, and the way out."""

from __future__ import annotations

import os
import re

from msgspec import Struct

from ostler.errors import Code, GitError
from ostler.git.remote import without_login


class _Refusal(Struct, frozen=True):
    says: str
    sentence: str  # {remote} and {line} are filled in
    hint: str


_KEPT = "the branch is kept here; try again later"
_REFUSALS = (
    _Refusal(
        r"authentication failed|could not read (username|password)|permission denied|access denied"
        r"|host key verification failed|permission to .* denied|returned error: 40[13]|not authorized",
        "{remote} did not accept your login: {line}",
        "log in so that this asks nothing: git ls-remote {remote}",
    ),
    _Refusal(
        r"repository .*not found|does not appear to be a git repository|returned error: 404"
        r"|not a git repository",
        "{remote} has no such repository, or hides it from you: {line}",
        "git remote -v shows its address",
    ),
    _Refusal(
        r"could not resolve|unable to access|connection (refused|timed out|reset|closed)|unreachable"
        r"|early eof|hung up|rpc failed|unexpected disconnect|no route to host|operation too slow",
        "{remote} could not be reached: {line}",
        _KEPT,
    ),
    _Refusal(
        r"transport '.*' not allowed",
        "{remote} has an address of a kind that Ostler does not use: {line}",
        "use https, ssh, git or a path",
    ),
    _Refusal(r"no space left|disk quota", "a disk is full, here or at {remote}: {line}", "make room"),
)


def explain_remote(remote: str, stderr: bytes) -> GitError:
    """The error for a fetch, a push or a look that a remote did not answer as it should."""
    text = without_login(os.fsdecode(stderr))
    line = telling_line(text)
    for refusal in _REFUSALS:
        if re.search(refusal.says, text, re.IGNORECASE):
            words = {"remote": remote, "line": line}
            return GitError(
                Code.PUBLISH_FAILED, refusal.sentence.format(**words), refusal.hint.format(**words)
            )
    return GitError(Code.PUBLISH_FAILED, f"{remote} refused: {line or 'it said nothing'}", _KEPT)


def telling_line(text: str) -> str:
    """The line that says most: the remote's own error, else git's, else the first."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line.removeprefix("remote:").strip() for line in lines if line.startswith("remote:")]
    errors = [line for line in told if re.match(r"(error|fatal)\b", line, re.IGNORECASE)]
    marked = [line for line in lines if line.startswith(("fatal:", "error:"))]
    first = next((line for line in (*errors, *told, *marked, *lines) if line), "")
    return re.sub(r"^(error|fatal):\s*", "", first, flags=re.IGNORECASE)
