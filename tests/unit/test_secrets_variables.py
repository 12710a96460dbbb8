"""The variables of an environment that hold a secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.config.secrets.registered_secrets import find_unredacted_variables
from ostler.config.settings import SandboxSettings, SecretsSettings, Settings
from ostler.secrets.variables import list_secret_variables

SECRETS = {
    "DB_PASSWORD": "correct-horse-battery-staple",
    "PIN_PASSWORD": "8675309867",
    "PGPASSWORD": "Xy7Kfoo9barBaz42",
    "MYSQL_PWD": "Xy7Kfoo9barBaz42",
    "API_TOKEN": "QmZtKxWvPrLsNdHb",
    "LONG_TOKEN": "qmztkxwvprlsndhb",
    "NPM_TOKEN": ".a1B2c3D4e5F6",
    "GITHUBTOKEN2": "~a1B2c3D4e5F6",
    "SLACK_HOOK_SECRET": "https://hooks.example.com/T0/B0/XyZ123abc",
    "AWS_SECRET_ACCESS_KEY": "/bPxRfiCYzzQmZtKxWvPrLs/NdHb",
    "SHORT_PATH_SECRET": "/QmZtKxWvPrLsNdHb",
    "QUERY_TOKEN": "https://example.org/hook?key=a1B2c3D4",
}
ORDINARY = {
    "TOKENIZERS_PARALLELISM": "false",
    "MAX_TOKENS": "1000000000",
    "TOKEN_TYPE": "client-credentials",
    "AUTH_METHOD": "Required",
    "PGPASSWORD": "postgres",
    "TOKEN_URL": "https://login.example.org/oauth2/v2.0/token",
    "SSH_KEY": "/home/ada/.ssh/id",
    "CREDENTIALS": "~/.config/app/credentials.json",
    "PWD": "/Work/a1B2c3D4e5F6",
    "OLDPWD": "/Work/a1B2c3D4e5F6",
    "EDITOR": "a1B2c3D4e5F6",
    "KEYBOARD": "a1B2c3D4e5F6",
}


@pytest.mark.parametrize("name", SECRETS)
def test_secrets_of_every_form_are_found(name: str) -> None:
    """Passwords of words, of letters only, and those that begin like a path or an address."""
    assert list_secret_variables({name: SECRETS[name]}) == [(name, SECRETS[name])]


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_values_are_none(name: str) -> None:
    """They would be replaced in every text."""
    assert list_secret_variables({name: ORDINARY[name]}) == []


def test_a_path_that_exists_is_none(tmp_path: Path) -> None:
    """Whatever its name is."""
    path = tmp_path / "Key7a1B2c3D4"
    assert list_secret_variables({"SSH_KEY": str(path)}) != []
    path.touch()
    assert list_secret_variables({"SSH_KEY": str(path)}) == []


def test_passed_secrets_that_are_not_redacted_are_named(tmp_path: Path) -> None:
    """Until they are registered; a short value cannot be."""
    environ = {"PGPASSWORD": "postgres", "MY_TOKEN": "abc", "API_KEY": "a1B2c3D4e5F6", "X_TOKEN": "waterfall"}
    allowed = SandboxSettings(env_allow=("PG*", "MY_TOKEN", "API_KEY"))
    assert find_unredacted_variables(Settings(sandbox=allowed), environ, tmp_path) == [
        "PGPASSWORD",
        "MY_TOKEN",
    ]
    settings = Settings(sandbox=allowed, secrets=SecretsSettings(env=("PGPASSWORD", "MY_TOKEN")))
    assert find_unredacted_variables(settings, environ, tmp_path) == ["MY_TOKEN"]
