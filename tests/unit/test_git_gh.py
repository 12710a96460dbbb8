"""The GitHub CLI is started outside every repository, and each of its errors becomes one sentence."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ostler.errors import Code
from ostler.git.publish import gh
from ostler.git.publish.gh import GhError, classify_gh_failure, run_gh


def install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, body: str) -> None:
    """Install a program named gh, alone on PATH with the system's programs."""
    folder = tmp_path / "bin"
    folder.mkdir(exist_ok=True)
    (folder / "gh").write_text(f"#!/bin/sh\n{body}\n")
    (folder / "gh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_no_gh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """PUBLISH_FAILED, with the address to install it from."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GhError, match="not installed") as caught:
        run_gh("pr", "list")
    assert caught.value.code is Code.PUBLISH_FAILED
    assert "https://cli.github.com" in caught.value.hint
    assert "gh auth login" in caught.value.hint


def test_only_stdout_is_the_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Mistake 20 of the seed: the stderr of gh is not part of an address."""
    install(monkeypatch, tmp_path, "echo 'Warning: 1 uncommitted change' >&2; echo https://x/pull/1")
    assert run_gh("pr", "create") == "https://x/pull/1\n"


def test_it_runs_in_an_empty_directory_with_the_users_login(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """gh runs outside the agent's tree, with GH_TOKEN and without the variables of an agent's program."""
    monkeypatch.setenv("GH_TOKEN", "s3cret")
    monkeypatch.setenv("OSTLER_TASK", "t")
    monkeypatch.chdir(tmp_path)
    install(monkeypatch, tmp_path, "pwd; ls -A; env")
    reported = run_gh("pr").splitlines()
    assert Path(reported[0]).name.startswith("ostler-gh-")
    assert not Path(reported[0]).exists()
    assert "GH_TOKEN=s3cret" in reported
    assert "GH_PROMPT_DISABLED=1" in reported
    assert reported[1].count("=") == 1
    assert not any(line.startswith("OSTLER_") for line in reported)


def test_the_token_is_in_no_agents_environment(monkeypatch: pytest.MonkeyPatch):
    """S9: the list of variables for agents has no variable of GitHub."""
    from ostler.process.environment import build_child_environment

    for name in ("GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN"):
        monkeypatch.setenv(name, "s3cret")
    assert "s3cret" not in build_child_environment(os.environ, (), {}).values()


def test_a_gh_that_hangs_is_stopped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """It is stopped after the timeout."""
    install(monkeypatch, tmp_path, "exec sleep 60")
    monkeypatch.setattr(gh, "TIMEOUT_SECONDS", 0.2)
    with pytest.raises(GhError, match="did not answer"):
        run_gh("pr")


@pytest.mark.parametrize(
    ("printed", "expected", "hint"),
    [
        (
            "To get started with GitHub CLI, please run:  gh auth login",
            "rejected your login",
            "gh auth login",
        ),
        (
            "HTTP 401: Bad credentials (https://api.github.com/graphql)",
            "rejected your login",
            "gh auth login",
        ),
        ("HTTP 403: API rate limit exceeded for user ID 1.", "rate limit is reached", "try again later"),
        (
            "GraphQL: was submitted too quickly, secondary rate limit",
            "rate limit is reached",
            "try again later",
        ),
        ("HTTP 403: Resource not accessible by personal access token", "has no permission", "gh auth status"),
        (
            "GraphQL: Could not resolve to a Repository with the name 'a/b'.",
            "cannot see it",
            "gh auth status",
        ),
        ("could not add label: 'automated' not found", "does not have the label", "gh label create"),
        ("HTTP 502: Server Error (https://api.github.com/graphql)", "not be reached", "try again later"),
        ('Post "https://api.github.com/graphql": dial tcp: no such host', "not be reached", "later"),
        ("GraphQL: Something else (createPullRequest)", "gh failed: GraphQL: Something else", "later"),
        ("", "no output", "later"),
    ],
)
def test_every_complaint_is_a_sentence_with_a_way_out(printed: str, expected: str, hint: str):
    """The message has the fact, GitHub's text where it helps, and one next step."""
    error = classify_gh_failure(printed)
    assert expected in error.message
    assert "\n" not in error.message
    assert hint in error.hint
