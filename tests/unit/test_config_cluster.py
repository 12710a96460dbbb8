"""The settings of a cluster: refused combinations, and passwords that no screen shows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from ostler.config.load import gather, load_settings
from ostler.config.secrets.hidden import hide_passwords, list_passwords
from ostler.config.secrets.registered_secrets import find_unusable_secrets, list_registered_secrets
from ostler.config.settings import BlobsSettings, Settings, StoreSettings
from ostler.config.show import as_json, rows
from ostler.errors import SettingsInvalid
from ostler.project.inspection.inspect_project import inspect_settings
from ostler.project.settings_files.change import find_place, set_setting

PASSWORD = "canary-7f3a91c2d4"
ADDRESS = f"postgresql://ada:{PASSWORD}@db.acme.io/ostler"


def mistakes(root: Path, text: str, environ: Mapping[str, str] = {}) -> list[str]:
    (root / "ostler.toml").write_text(text)
    try:
        load_settings(root, environ)
    except SettingsInvalid as error:
        return error.mistakes
    return []


INCOMPLETE = {
    "[engine]\nkind = 'temporal'\nshared_root = true": (
        '2: engine.kind: "temporal" needs store.url = "postgresql://HOST/NAME"'
    ),
    "[engine]\nkind = 'temporal'\n[store]\nurl = 'postgresql://db/o'": (
        '2: engine.kind: "temporal" needs blobs.url, or engine.shared_root = true'
    ),
    "[engine]\ntls_cert = 'a.pem'": "2: engine.tls_cert: it needs engine.tls_key",
    "[engine]\ntls_key = 'a.pem'": "2: engine.tls_key: it needs engine.tls_cert",
    "[blobs]\nregion = 'eu-1'": '2: blobs.region: it needs blobs.url = "s3://BUCKET"',
    "[blobs]\nendpoint = 'http://s3'": '2: blobs.endpoint: it needs blobs.url = "s3://BUCKET"',
}


ADDRESS_EXPECTED = 'expected HOST:PORT without a scheme, such as "temporal.example.com:7233"'
ENDPOINT_EXPECTED = "expected a URL without user and password, such as http://HOST:PORT or https://HOST"


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "http://127.0.0.1:7233", "db:0", "db:70000", "a b:1", "ada:geheim77@db:1", "::1"]
)
def test_an_address_has_a_host_and_a_port(tmp_path: Path, address: str) -> None:
    """The client of Temporal would take port 80, or print a warning of its own."""
    found = mistakes(tmp_path, f"[engine]\naddress = '{address}'\n")
    assert found == [f"ostler.toml:2: engine.address: {ADDRESS_EXPECTED}"]


@pytest.mark.parametrize("address", ["db:7233", "[::1]:7233", "a-b.example.com:1"])
def test_valid_addresses(tmp_path: Path, address: str) -> None:
    """A name, an IPv4 and an IPv6 address."""
    assert mistakes(tmp_path, f"[engine]\naddress = '{address}'\n") == []


@pytest.mark.parametrize(
    "endpoint",
    ["127.0.0.1:9000", "s3", "http://", "ftp://s3", "http://a b", "http://u:geheim77@s3", "http://s3:x"],
)
def test_an_endpoint_is_a_url(tmp_path: Path, endpoint: str) -> None:
    """The client of S3 would end the process; a password in it is not printed."""
    found = mistakes(tmp_path, f"[blobs]\nurl = 's3://b'\nendpoint = '{endpoint}'\n")
    assert found == [f"ostler.toml:3: blobs.endpoint: {ENDPOINT_EXPECTED}"]


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:9000", "https://s3.example.com", "http://[::1]:9/x"])
def test_valid_endpoints(tmp_path: Path, endpoint: str) -> None:
    """A name, an address and a path."""
    assert mistakes(tmp_path, f"[blobs]\nurl = 's3://b'\nendpoint = '{endpoint}'\n") == []


@pytest.mark.parametrize("text", INCOMPLETE)
def test_settings_that_need_each_other(tmp_path: Path, text: str) -> None:
    """A setting that lacks another one is refused by its name."""
    assert mistakes(tmp_path, text) == [f"ostler.toml:{INCOMPLETE[text]}"]


def test_valid_settings_of_a_cluster_have_no_mistake(tmp_path: Path) -> None:
    """Settings that are complete, or refused for their type alone, give no second message."""
    assert mistakes(tmp_path, "[engine]\ntls_cert = 'a'\ntls_key = 'b'\nqueue = 'gpu'\n") == []
    assert len(mistakes(tmp_path, "[engine]\nkind = 3\n")) == 1
    assert len(mistakes(tmp_path, "engine = 3\n[store]\nurl = 7\n")) == 2


def test_settings_that_are_not_used_are_reported(tmp_path: Path) -> None:
    """config validate warns of settings of [engine] that a local engine does not use."""
    (tmp_path / "ostler.toml").write_text("[engine]\nkind = 'local'\nnamespace = 'team'\n")
    (found,) = inspect_settings(tmp_path, {})
    assert found.text == 'ostler.toml:3: engine.namespace: it has no effect while engine.kind is "local"'
    assert found.severity == "warning"


ADDRESSES = {
    ADDRESS: [PASSWORD],
    "postgresql://ada:p%40ss@db/x": ["p%40ss", "p@ss"],
    "postgresql://ada:a@b:c/d@db/x": ["a@b:c/d"],
    "postgresql://:alone@db/x": ["alone"],
    "postgresql://db/x?user=ada&password=hunter2&sslmode=require": ["hunter2"],
    "postgresql://db/x?sslpassword=hunter2": ["hunter2"],
    "host=db password=hunter2 user=ada": ["hunter2"],
    "host=db password = 'two words' user=ada": ["'two words'"],
    "postgresql://db:5432/x": [],
    "postgresql://ada@db/x": [],
    "sqlite": [],
}


@pytest.mark.parametrize("address", ADDRESSES)
def test_passwords_in_addresses(address: str) -> None:
    """A password is found in each notation, and nothing else of the address is hidden."""
    passwords = ADDRESSES[address]
    assert list_passwords(address) == passwords
    expected = address.replace(passwords[0], "(hidden)") if passwords else address
    assert hide_passwords(address) == expected


def test_the_password_of_the_store_is_redacted() -> None:
    """It is registered as a secret, except for one that would be found in ordinary text."""
    settings = Settings(
        store=StoreSettings(url="postgresql://ada:p%40ss-7f3a91c2@db/x"),
        blobs=BlobsSettings(url="s3://bucket", endpoint=f"https://ada:{PASSWORD}@s3.acme.io"),
    )
    found = [value for _, value in list_registered_secrets(settings, {"TEMPORAL_API_KEY": "k"}, Path())]
    assert found.count("p@ss-7f3a91c2") == found.count("p%40ss-7f3a91c2") == found.count(PASSWORD) == 1
    assert "k" in found
    assert list(find_unusable_secrets(settings, {}, Path())) == []
    weak = Settings(store=StoreSettings(url="postgresql://postgres:postgres@db/x"))
    assert ("store.url", "postgres") not in list_registered_secrets(weak, {}, Path())
    assert [key for key, _ in find_unusable_secrets(weak, {}, Path())] == ["store.url"]


def test_no_screen_shows_the_password(tmp_path: Path) -> None:
    """The lists of settings, messages on mistakes and the result of config set are without it."""
    (tmp_path / "ostler.toml").write_text(f'[store]\nurl = "{ADDRESS}"\n')
    text = "\n".join(mistakes(tmp_path, f'[store]\nurl = "my{ADDRESS}"\n[blobs]\nurl = ["{ADDRESS}"]\n'))
    assert text.count("ada:(hidden)@") == 2
    text += "\n".join(mistakes(tmp_path, "", {"OSTLER_STORE__URL": f"x{ADDRESS}"}))
    assert 'OSTLER_STORE__URL: store.url: expected "sqlite" or "postgresql://HOST/NAME", got' in text
    place = find_place(tmp_path, {}, user=False)
    (tmp_path / "ostler.toml").write_text(f'[store]\nurl = "{ADDRESS}"\n[run]\njobs = 0\n')
    change = set_setting(place, "store.url", "sqlite")
    assert change.old == '"postgresql://ada:(hidden)@db.acme.io/ostler"'
    assert PASSWORD not in text


def test_the_list_of_settings_hides_only_the_password(tmp_path: Path) -> None:
    """config show has the rest of the address, as text and as JSON."""
    from msgspec import convert

    from ostler.config.load import Loaded
    from ostler.config.source import format_key, list_values

    reading = gather(Settings, tmp_path, {"OSTLER_STORE__URL": ADDRESS}, {})
    settings = convert(reading.values, Settings)
    sources = {format_key(path): reading.sources[""] for path, _ in list_values(settings)}
    loaded = Loaded(settings, sources)
    found = {row.key: row.value for row in rows(loaded)}
    assert found["store.url"] == '"postgresql://ada:(hidden)@db.acme.io/ostler"'
    assert PASSWORD not in json.dumps(as_json(loaded))


def test_a_password_in_the_project_file_is_reported(tmp_path: Path) -> None:
    """ostler.toml is usually committed: the warning names the two places for a password."""
    (tmp_path / "ostler.toml").write_text(f'[store]\nurl = "{ADDRESS}"\n')
    texts = [one.text for one in inspect_settings(tmp_path, {}) if one.severity == "warning"]
    assert texts == [
        "ostler.toml:2: store.url: it contains a password; set OSTLER_STORE__URL, or use ~/.pgpass"
    ]
