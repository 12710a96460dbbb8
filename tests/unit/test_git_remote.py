"""The selected remote, and that a login in its address is never shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from git_world import git, make_world
from ostler.git.publish.remote import Remote, find_remote, strip_login


@pytest.mark.parametrize(
    ("remotes", "own", "expected"),
    [
        ([], "", None),
        (["origin"], "", "origin"),
        (["upstream"], "", "upstream"),
        (["upstream", "origin"], "", "origin"),
        (["upstream", "origin"], "upstream", "upstream"),
        (["origin"], "gone", "origin"),
        (["one", "two"], "", None),
    ],
)
def test_the_remote_that_is_meant(tmp_path: Path, remotes: list[str], own: str, expected: str | None):
    """The target's remote, else origin, else the only one; two are never guessed between."""
    world = make_world(tmp_path)
    for name in remotes:
        git(world.project, "remote", "add", name, f"https://example.org/{name}.git")
    if own:
        git(world.project, "config", "branch.main.remote", own)
    found = find_remote(world.repository, "main")
    assert (found and found.name) == expected


def test_a_push_address_of_its_own(tmp_path: Path):
    """Both addresses are read."""
    world = make_world(tmp_path)
    git(world.project, "remote", "add", "origin", "https://example.org/a.git")
    git(world.project, "remote", "set-url", "--push", "origin", "ssh://git@example.org/a.git")
    assert find_remote(world.repository) == Remote(
        "origin", "https://example.org/a.git", "ssh://git@example.org/a.git"
    )


def test_a_remote_with_the_name_of_an_option_is_none(tmp_path: Path):
    """An agent can write any name into the configuration."""
    world = make_world(tmp_path)
    git(world.project, "config", "remote.--upload-pack=x.url", "https://example.org/a.git")
    assert find_remote(world.repository) is None


def test_an_address_loses_its_login():
    """A message contains neither the user name nor the token."""
    printed = "fatal: unable to access 'https://una:s3cret@example.org/a.git/': 403"
    assert strip_login(printed) == "fatal: unable to access 'https://example.org/a.git/': 403"
