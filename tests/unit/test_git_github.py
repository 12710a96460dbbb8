"""The repository that gh uses for an address."""

from __future__ import annotations

import pytest

from ostler.git.publish.gh import GhError
from ostler.git.publish.github import parse_repository_name, require_known_host


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://github.com/acme/app.git", "github.com/acme/app"),
        ("https://github.com/acme/app", "github.com/acme/app"),
        ("https://github.com/acme/app/", "github.com/acme/app"),
        ("https://una:tok@github.com/acme/app.git", "github.com/acme/app"),
        ("https://git.example.org:8443/acme/my.app.git", "git.example.org/acme/my.app"),
        ("git@github.com:acme/app.git", "github.com/acme/app"),
        ("github.com:acme/app", "github.com/acme/app"),
        ("ssh://git@github.com/acme/app.git", "github.com/acme/app"),
        ("ssh://git@ssh.github.com:443/acme/app.git", "github.com/acme/app"),
        ("git://github.com/acme/app.git", "github.com/acme/app"),
        ("git@work:acme/app.git", "acme/app"),
        ("/srv/git/app.git", None),
        ("../app.git", None),
        ("srv/app.git", None),
        ("file:///srv/git/app.git", None),
        ("https://github.com/app", None),
        ("https://gitlab.example.org/group/sub/app.git", None),
        ("git@github.com:-R/--repo", None),
        ("", None),
    ],
)
def test_an_address_and_its_repository(address: str, expected: str | None):
    """Every usual spelling; a host without a dot is an alias, for which gh's default host is used."""
    assert parse_repository_name(address) == expected


@pytest.mark.parametrize("host", ["evil.example", "git.corp.example.evil.example"])
def test_an_enterprise_token_goes_only_where_it_belongs(monkeypatch: pytest.MonkeyPatch, host: str):
    """S9: if an agent changes the remote's address, the token is not sent there."""
    require_known_host(f"{host}/acme/app")
    monkeypatch.setenv("GH_ENTERPRISE_TOKEN", "s3cret")
    with pytest.raises(GhError, match="enterprise token"):
        require_known_host(f"{host}/acme/app")
    monkeypatch.setenv("GH_HOST", "git.corp.example")
    with pytest.raises(GhError, match="enterprise token"):
        require_known_host(f"{host}/acme/app")
    for name in ("git.corp.example/acme/app", "github.com/acme/app", "acme/app"):
        require_known_host(name)
