"""The values of the files of secrets.files."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.config.secrets.registered_secrets import list_ordinary_values, list_registered_secrets
from ostler.config.secrets.secret_values import read_values
from ostler.config.settings import SecretsSettings, Settings
from ostler.secrets.variables import is_ordinary

SECRET = "canary-plain-7f3a91c2d4"
FORMS = {
    "JSON": '{\n  "user": "ada",\n  "token": "%s"\n}\n',
    "nested JSON": '{"a": {"b": ["%s"]}}',
    "JSON with comments": '{\n  // the key\n  "token": "%s",\n}\n',
    "YAML": "user: ada\ntoken: %s\n",
    "YAML with quotes": "a:\n  - token: '%s'  # the key\n",
    "YAML list": "tokens:\n  - %s\n",
    "YAML block": "token: |\n  %s\n",
    "npmrc": "//registry.acme.io/:_authToken=%s\n",
    "netrc": "machine api.acme.io login ada password %s\n",
    "netrc in lines": "machine api.acme.io\n  login ada\n  password %s\n",
    "properties": "spring.datasource.password=%s\n",
    "comment": "ACME=%s # production key\n",
    "plain": "ACME=%s\n",
    "spaces": 'ACME = "%s"\n',
    "export": "export ACME='%s'\n",
    "TOML": '[section]\ntoken = "%s"\n',
    "CRLF": "A=1\r\nACME=%s\r\n",
    "a line": "%s\n",
    "pgpass": "db.acme.io:5432:app:ada:%s\n",
    "XML": "<settings>\n  <password>%s</password>\n</settings>\n",
    "address": "DATABASE_URL=postgres://ada:%s@db.acme.io/app\n",
    "git credentials": "https://ada:%s@github.com\n",
}


@pytest.mark.parametrize("name", FORMS)
def test_the_value_is_registered(tmp_path: Path, name: str) -> None:
    """Not only the line that it is in."""
    (tmp_path / "secrets").write_text(FORMS[name] % SECRET, newline="")
    settings = Settings(secrets=SecretsSettings(files=("secrets",)))
    assert ("secrets", SECRET) in list(list_registered_secrets(settings, {}, tmp_path))


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ('A="with # inside" # after', "with # inside"),
        ("A='it''s one'", "it's one"),
        ('A="a\\"b\\\\c"', 'a"b\\c'),
        ("A=c2VjcmV0Zm9vYmFy==", "c2VjcmV0Zm9vYmFy=="),
        ("c2VjcmV0Zm9vYmFy==", "c2VjcmV0Zm9vYmFy=="),
        ("- phrase of five plain words", "phrase of five plain words"),
        ("#starts-with-a-hash", "#starts-with-a-hash"),
        ('A="no end', '"no end'),
    ],
)
def test_quotation_marks_and_comments_are_no_part_of_it(line: str, value: str) -> None:
    """A secret may contain what separates it elsewhere."""
    assert value in [one.value for one in read_values(line)]


def test_ordinary_values_are_not_registered_but_named(tmp_path: Path) -> None:
    """A task about production on localhost must stay readable; passwords of words are secrets."""
    text = (
        "# ----------------\n# Database settings\nNODE_ENV=production\nDB_HOST=localhost:5432\n"
        "export APP_NAME=greeting-service\nTITLE=The great service\nAPI=api.acme.io\n"
        "DB_PASSWORD=s3cr3t-Pa55w0rd\nADMIN_PASSWORD=correct-horse-battery\nPIN_PASSWORD=1234\nUSER=ada\n"
    )
    (tmp_path / "team.env").write_text(text)
    settings = Settings(secrets=SecretsSettings(files=("team.env",)))
    registered = [value for _, value in list_registered_secrets(settings, {}, tmp_path) if len(value) > 7]
    assert registered == ["s3cr3t-Pa55w0rd", "correct-horse-battery"]
    assert list_ordinary_values(settings, {}, tmp_path) == [
        f"team.env {name}" for name in ("NODE_ENV", "DB_HOST", "APP_NAME", "TITLE", "API", "PIN_PASSWORD")
    ]


def test_the_first_line_of_a_private_key_is_no_secret() -> None:
    """Its other lines are; the whole text is, too."""
    lines = ["-----BEGIN " + "PRIVATE KEY-----", "MIIEpAIBAAKCAQEA1c7k", "-----END " + "PRIVATE KEY-----"]
    assert [one.value for one in read_values("\n".join(lines) + "\n")] == [lines[1], "\n".join(lines)]


@pytest.mark.parametrize("value", ["localhost:5432", "db.internal:5432", "api.acme.io", "a simple sentence"])
def test_hosts_and_sentences_are_ordinary(value: str) -> None:
    """Except as a password."""
    assert is_ordinary("DB_HOST", value) and not is_ordinary("DB_PASSWORD", value)


@pytest.mark.parametrize("value", ["a1b2c3d4e5f6", "a1.B2c3D4e5F6", "x9z1:a8f3kd92", "ab-cd3:x1234567"])
def test_tokens_are_not_hosts(value: str) -> None:
    assert not is_ordinary("DB_HOST", value)
