from __future__ import annotations

from pathlib import Path

import pytest

from git_world import git
from ostler.git.identity import OSTLER
from ostler.git.private.alternates import list_object_directories
from ostler.git.private.config import build_config
from ostler.git.private.ref_names import (
    drop_conflicting,
    is_ref_name,
    parse_packed_refs,
    parse_ref,
    resolve_ref,
)
from ostler.git.private.remotes import find_host, guard_address

COMMIT = "a" * 40


@pytest.mark.parametrize(
    ("name", "valid"),
    [
        ("refs/heads/main", True),
        ("refs/heads/feature/x-1", True),
        ("refs/heads/../../config", False),
        ("refs/heads/x.lock", False),
        ("refs/heads/.x", False),
        ("refs/heads/a b", False),
        ("HEAD", False),
        ("/etc/passwd", False),
        ("refs/heads/" + "x/" * 600 + "y", False),
    ],
)
def test_names_that_git_would_refuse_are_left_out(name: str, valid: bool):
    """The same rule for loose and packed refs of an agent."""
    assert is_ref_name(name) is valid
    assert parse_packed_refs(f"# pack-refs\n{COMMIT} {name}\n^{COMMIT}\n".encode()) == (
        {name: COMMIT} if valid else {}
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (f"{COMMIT}\n", COMMIT),
        (f"{'b' * 64}\n", "b" * 64),
        ("ref: refs/heads/x\n", "ref: refs/heads/x"),
        ("ref: ../../etc/passwd\n", ""),
        ("root:x:0:0\n", ""),
        ("", ""),
    ],
)
def test_the_value_of_a_ref(text: str, value: str):
    """An object name or a symbolic ref below refs/, nothing else."""
    assert parse_ref(text.encode()) == value


def test_symbolic_refs_are_resolved_without_an_endless_loop():
    """A circle has no value."""
    refs = {"refs/heads/a": "ref: refs/heads/b", "refs/heads/b": "ref: refs/heads/a", "refs/heads/c": COMMIT}
    assert resolve_ref(refs, "ref: refs/heads/a") == ""
    assert resolve_ref(refs, "ref: refs/heads/c") == COMMIT


def test_names_of_the_user_have_precedence():
    """A ref cannot be a directory of another one."""
    own = dict.fromkeys(("refs/heads/a", "refs/heads/b/c", "refs/heads/d"), COMMIT)
    user = dict.fromkeys(("refs/heads/a/x", "refs/heads/b"), COMMIT)
    assert drop_conflicting(own, user) == {"refs/heads/d": COMMIT}


def test_alternates_are_resolved_recursively(tmp_path: Path):
    """Relative, absolute, quoted, missing and circular entries."""
    for name in ("one", "two", 'th"ree', "four"):
        (tmp_path / name / "objects" / "info").mkdir(parents=True)
    texts = {
        "one": "# a comment\n../../two/objects\n/nonexistent/objects\n",
        "two": f'"{tmp_path}/th\\"ree/objects"\n',
        'th"ree': f"{tmp_path}/four/objects\n{tmp_path}/one/objects\n",
    }
    for name, text in texts.items():
        (tmp_path / name / "objects" / "info" / "alternates").write_text(text)
    found = [path.parent.name for path in list_object_directories(tmp_path / "one")]
    assert found == ["one", "two", 'th"ree', "four"]


@pytest.mark.parametrize(
    ("address", "guarded"),
    [
        ("https://u:p@example.org/x.git", "https://example.org/x.git"),
        ("http://example.org/x.git", "http://example.org/x.git"),
        ("git@example.org:x.git", "ostler-refused::example.org"),
        ("ssh://git@example.org:22/x.git", "ostler-refused::example.org"),
        ("ext::sh -c x", "ostler-refused::ext"),
        ("/srv/x.git", "ostler-refused::/srv/x.git"),
    ],
)
def test_addresses_of_remotes(address: str, guarded: str):
    """Only http can be fetched, without a login."""
    assert guard_address(address) == guarded
    assert find_host("https://u:p@example.org:8443/x") == "example.org"


def test_only_settings_that_run_nothing_are_copied(tmp_path: Path):
    """Programs, logins and paths of the user's configuration are left out; git reads the rest."""
    entries = (
        ("core.filemode", "true"),
        ("core.sparsecheckout", ""),
        ("core.fsmonitor", "/bin/x"),
        ("core.hookspath", "/x"),
        ("core.sshcommand", "ssh -i key"),
        ("core.worktree", "/x"),
        ("credential.helper", "store"),
        ("http.https://example.org.extraheader", "AUTHORIZATION: secret"),
        ("filter.x.clean", "/bin/x"),
        ("diff.x.command", "/bin/x"),
        ("merge.x.driver", "/bin/x"),
        ("alias.x", "!x"),
        ("include.path", "/x"),
        ("url.https://u:secret@example.org/.insteadof", "gh:"),
        ("remote.a.b.url", "https://u:secret@example.org/x"),
        ("remote.a.b.fetch", "+refs/heads/*:refs/remotes/a.b/*"),
        ("remote.a.b.uploadpack", "/bin/x"),
        ("remote.pushdefault", "x"),
        ('branch.odd"name\\.merge', "refs/heads/x"),
    )
    file = tmp_path / "config"
    file.write_bytes(build_config(entries, OSTLER, "/run/ssh"))
    text = git(tmp_path, "config", "--file", str(file), "--list")
    lines = dict(line.split("=", 1) for line in text.splitlines())
    assert "secret" not in text
    assert "/bin/x" not in text
    assert "core.worktree" not in lines
    assert "core.hookspath" not in lines
    assert "include.path" not in lines
    assert lines["core.sparsecheckout"] == "true"
    assert lines["core.sshcommand"] == "/run/ssh"
    assert lines["core.fsmonitor"] == "false"
    assert lines["remote.a.b.url"] == "https://example.org/x"
    assert lines["remote.a.b.pushurl"] == "ostler-refused::a.b"
    assert lines['branch.odd"name\\.merge'] == "refs/heads/x"
