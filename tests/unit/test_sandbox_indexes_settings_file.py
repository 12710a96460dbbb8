"""Settings files of package tools, without secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.config.host import PROXY_PORT, parse_allowed_host
from ostler.sandbox.network.indexes.address import Address, hide_secrets, may_link, read_address
from ostler.sandbox.network.indexes.found import Found
from ostler.sandbox.network.indexes.settings_file import (
    Format,
    clean_settings,
    parse_settings,
    read_settings,
    write_settings,
)
from ostler.sandbox.network.indexes.user_file import read_user_file

SECRET = "Zq8vX2mKp4"
FILES: list[tuple[Format, str, str, tuple[str, ...]]] = [
    (
        "ini",
        "[global]\nindex-url = https://me:SECRET@index.example/simple\nproxy = http://proxy.example\n"
        "extra-index-url =\n    https://a.example/simple\n    https://SECRET@b.example/simple\n",
        "[global]\nindex-url = https://index.example/simple\n"
        "extra-index-url = \n\thttps://a.example/simple\n\thttps://b.example/simple\n\n",
        ("user and password in global.index-url", "user and password in global.extra-index-url"),
    ),
    (
        "pairs",
        "; comment\nregistry=https://npm.example/\n//npm.example/:_authToken=SECRET\n//npm.example/:_password=SECRET\n"
        "_auth = SECRET\nalways-auth=true\ncache=/var/cache/npm\nhttps-proxy=http://me:SECRET@proxy.example\n"
        "//npm.example/:username=me\nca[]=one\nca[]=two\n@corp:registry = https://corp.example/\n",
        "registry=https://npm.example/\nalways-auth=true\n//npm.example/:username=me\nca[]=one\nca[]=two\n"
        "@corp:registry=https://corp.example/\n",
        ("//npm.example/:_authToken", "//npm.example/:_password", "_auth"),
    ),
    (
        "words",
        'registry "https://npm.example"\n"//npm.example/:_authToken" SECRET\n',
        'registry "https://npm.example"\n',
        ("//npm.example/:_authToken",),
    ),
    (
        "toml",
        '[registries.corp]\nindex = "sparse+https://crates.example/index/"\ntoken = "SECRET"\n'
        '[[index]]\nurl = "https://me:SECRET@a.example/simple"\n[http]\nproxy = "p.example"\ntimeout = 3\n',
        '"registries" = {"corp" = {"index" = "sparse+https://crates.example/index/"}}\n'
        '"index" = [{"url" = "https://a.example/simple"}]\n"http" = {"timeout" = 3}\n',
        ("registries.corp.token", "user and password in index.url"),
    ),
    (
        "yaml",
        ":sources:\n- https://gems.example/\n:rubygems_api_key: SECRET\nnpmAuthToken: SECRET\n"
        "npmAuthIdent: SECRET\nnpmScopes:\n  corp:\n    npmRegistryServer: https://me:SECRET@corp.example\n"
        "channels: ['https://conda.example/t/ab-1234SECRET/main']\n",
        ':sources:\n- "https://gems.example/"\nnpmScopes:\n  corp:\n    npmRegistryServer: "https://corp.example"\n'
        'channels:\n- "https://conda.example/main"\n',
        (
            ":rubygems_api_key",
            "npmAuthToken",
            "npmAuthIdent",
            "user and password in npmScopes.corp.npmRegistryServer",
            "user and password in channels",
        ),
    ),
]


@pytest.mark.parametrize(("form", "text", "expected", "left"), FILES, ids=[one[0] for one in FILES])
def test_secrets_are_left_out(form: Format, text: str, expected: str, left: tuple[str, ...]) -> None:
    """Tokens, passwords, proxies and caches are left out, everything else is kept; the keys are named."""
    values = parse_settings(text.replace("SECRET", SECRET), form)
    assert SECRET in write_settings(values, form).decode()  # it is the cleaning that drops it
    cleaned, names = clean_settings(values)
    written = write_settings(cleaned, form).decode()
    assert written.rstrip() == expected.rstrip()
    assert names == left
    assert parse_settings(written, form) == cleaned


@pytest.mark.parametrize(
    "value",
    [
        "ghp_" + "a1B2c3D4" * 4 + "a1B2",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAx1\n-----END RSA PRIVATE KEY-----",
        "https://index.example/k3jh4k5jh34k5jh3k45jh/simple",
    ],
)
def test_secret_values_of_other_keys(value: str) -> None:
    """A value in the form of a secret is left out, whatever its key is."""
    assert clean_settings({"name": value, "other": "x"}) == ({"other": "x"}, ("name",))


@pytest.mark.parametrize("content", [b"\xff\xfe", b"[broken\n", b"= 1"])
def test_file_with_an_error_is_left_out(tmp_path: Path, content: bytes) -> None:
    """A file that is not understood is not copied."""
    path = tmp_path / "uv.toml"
    path.write_bytes(content)
    found = read_user_file(path, "toml", lambda values: Found())
    assert found.files == ()
    assert str(path) in found.notes[0]


def test_no_file(tmp_path: Path) -> None:
    """A file that does not exist is watched."""
    assert read_settings(tmp_path / "none", "toml") == {}
    assert read_user_file(tmp_path / "none", "toml", lambda values: Found()) == Found(
        watched=(tmp_path / "none",)
    )


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://index.example/simple", Address(host="index.example")),
        ("https://me:pw@index.example:8443/simple", Address(host="index.example:8443")),
        ("http://127.0.0.1:3141/root/pypi", Address(local_port=3141)),
        ("http://localhost/simple", Address(local_port=80)),
        ("https://[::1]/simple", Address(local_port=443)),
        ("http://[2620:fe::1]:80/", Address(host="[2620:fe::1]")),
        ("http://[2620:fe::1]:81/", Address(host="[2620:fe::1]:81")),
        ("https://Index.Example:443/", Address(host="index.example")),
        ("http://10.0.0.5/simple", Address(host="10.0.0.5")),
        ("http://0.0.0.0/", None),
        ("http://127.0.0.2:5432/", None),
        ("http://169.254.169.254/", None),
        (f"http://127.0.0.1:{PROXY_PORT}/", None),
        ("file:///opt/my%20index", Address(path=Path("/opt/my index"))),
        ("file:relative", None),
        ("ssh://git@index.example/x", None),
        ("https://[broken", None),
        ("https://index.example:99999/", None),
        ("https:///simple", None),
        ("https://${HOST}/simple", None),
        ("http://127.1:5432/", None),
        ("http://2130706433/", None),
        ("http://0x7f.0x1/", None),
        ("http://[::ffff:127.0.0.1]:5432/", None),
    ],
)
def test_addresses(url: str, expected: Address | None) -> None:
    """A URL leads to a host, a local port or a directory."""
    found = read_address(url)
    assert found == expected
    if found is not None and found.host:
        assert parse_allowed_host(found.host)  # the proxy accepts it


@pytest.mark.parametrize(
    ("index", "host", "expected"),
    [
        ("index.example", "files.example", True),
        ("index.example", "8.8.8.8", True),
        ("index.example", "10.0.0.7", False),
        ("index.example", "localhost", False),
        ("index.example", "::1", False),
        ("10.0.0.5", "10.0.0.7", True),
        ("10.0.0.5", "localhost", False),
        ("10.0.0.5", "169.254.169.254", False),
        ("localhost", "localhost", True),
    ],
)
def test_links(index: str, host: str, expected: bool) -> None:
    """A foreign index does not open this machine or its network."""
    assert may_link(index, host) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://me:p@ss@a.example/x https://b.example", "https://a.example/x https://b.example"),
        ("https://a.example/x?token=1#top", "https://a.example/x#top"),
        ("https://${USER}:${PASS}@a.example/", "https://a.example/"),
        ("me@a.example", "me@a.example"),
    ],
)
def test_urls_without_secrets(text: str, expected: str) -> None:
    """Users, passwords and queries of URLs are removed."""
    assert hide_secrets(text) == expected
