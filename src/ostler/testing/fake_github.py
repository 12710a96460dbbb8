"""A fake GitHub on 127.0.0.1, so that the real `gh` creates and merges pull requests offline:

    with FakeGitHub("acme/app", bare=remote) as github:
        ...  # start gh with github.environment(folder) and -R github.localhost/acme/app
    assert [pull.head for pull in github.pulls] == ["ostler/fix-login-ab12"]

It answers the GraphQL of `gh pr list`, `create`, `view` and `merge`, and of `gh issue list`, `view` and
`comment`, for one repository; `github.hub.report` opens an issue. `github.fail` sets
one of FAULTS for an operation; `github.hub.checks = WAITING` makes merges wait for checks.
"""

from __future__ import annotations

from ostler.testing.github.faults import FAULTS, Fault
from ostler.testing.github.hub import READY, WAITING, Hub, Issue, Pull
from ostler.testing.github.server import HOST, FakeGitHub, ReceivedRequest

__all__ = [
    "FAULTS",
    "HOST",
    "READY",
    "WAITING",
    "FakeGitHub",
    "Fault",
    "Hub",
    "Issue",
    "Pull",
    "ReceivedRequest",
]
