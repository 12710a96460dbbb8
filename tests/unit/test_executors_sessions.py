"""The session of an agent is saved without secrets, and found by the agent in another directory."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import msgspec
import pytest

from ostler.executors.sessions import SESSION_PLACES, SavedSession, read_session, write_session
from ostler.secrets.rules import RULES
from secret_samples import make_sample

ID = "5e4f997b-2036-49f6-a5dd-5b1d678cd8c0"
OLD, NEW = Path("/srv/a.b/work_tree"), Path("/home/una/other")
LINE = b'{"cwd":"/srv/a.b/work_tree","text":"in /srv/a.b/work_tree"}\n'
CLAUDE = ".claude/projects"
FILES = {
    "claude": (
        {
            f"{CLAUDE}/-srv-a-b-work-tree/{ID}.jsonl",
            f"{CLAUDE}/-srv-a-b-work-tree/{ID}/sub/1",
        },
        {f"{CLAUDE}/-home-una-other/{ID}.jsonl", f"{CLAUDE}/-home-una-other/{ID}/sub/1"},
    ),
    "codex": ({f".codex/sessions/2026/11/19/rollout-2026-11-19T06-14-05-{ID}.jsonl"}, None),
    "copilot": ({f".copilot/session-state/{ID}/events.jsonl"}, None),
    "gemini": ({f".gemini/tmp/work_tree/chats/session-2026-11-19T06-14-{ID[:8]}.jsonl"}, None),
    "qwen": (
        {f".qwen/projects/-srv-a-b-work-tree/chats/{ID}.jsonl"},
        {f".qwen/projects/-home-una-other/chats/{ID}.jsonl"},
    ),
}


def put(home: Path, name: str, content: bytes = LINE) -> None:
    (home / name).parent.mkdir(parents=True, exist_ok=True)
    (home / name).write_bytes(content)


def listed(home: Path) -> set[str]:
    return {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()}


@pytest.mark.parametrize("kind", SESSION_PLACES)
def test_the_files_of_each_agent(kind: str, tmp_path: Path) -> None:
    """Those of the session only, with the name and the working directory of the new place."""
    before, after = FILES[kind]
    a, b = tmp_path / "a", tmp_path / "b"
    for name in before:
        put(a, name)
        put(a, name.replace(ID, ID.replace("5", "6")).replace(ID[:8], "other-id"))
    saved = read_session(kind, ID, a, {}, OLD)
    assert saved
    write_session(kind, saved, b, {}, NEW)
    assert listed(b) == (after or before)
    text = next(b / name for name in listed(b)).read_bytes()
    assert text == b'{"cwd":"/home/una/other","text":"in /srv/a.b/work_tree"}\n'


@pytest.mark.parametrize("kind", ["claude", "codex", "copilot"])
def test_the_variable_of_an_agent_names_its_folder(kind: str, tmp_path: Path) -> None:
    """On both machines."""
    place, (before, after) = SESSION_PLACES[kind], FILES[kind]
    for name in before:
        put(tmp_path / "a", name.removeprefix(f"{place.folder}/"))
    env = {place.variable: str(tmp_path / "a")}
    saved = read_session(kind, ID, tmp_path / "nowhere", env, OLD)
    assert saved
    write_session(kind, saved, tmp_path / "nowhere", {place.variable: str(tmp_path / "b")}, NEW)
    assert listed(tmp_path / "b") == {name.removeprefix(f"{place.folder}/") for name in after or before}


@pytest.mark.parametrize("kind", ["opencode", "cursor", "mock"])
def test_an_agent_that_cannot_continue_elsewhere(kind: str, tmp_path: Path) -> None:
    """Nothing is saved: it gets a new session with a summary."""
    assert read_session(kind, ID, tmp_path, {}, OLD) is None


def test_a_session_that_is_not_there(tmp_path: Path) -> None:
    """Nothing is saved."""
    assert read_session("claude", ID, tmp_path, {}, OLD) is None


@pytest.mark.parametrize("session", ["", "*", "../../etc", "a" * 200, "x/y-0123456789"])
def test_an_id_is_no_pattern(session: str, tmp_path: Path) -> None:
    """An agent chooses the id that it reports."""
    put(tmp_path, f"{CLAUDE}/p/{ID}.jsonl")
    assert read_session("claude", session, tmp_path, {}, OLD) is None


@pytest.mark.parametrize("link", [".claude", CLAUDE, f"{CLAUDE}/p", f"{CLAUDE}/p/{ID}.jsonl"])
def test_a_link_out_of_the_home_directory_is_not_followed(link: str, tmp_path: Path) -> None:
    """An agent in a sandbox can replace its files by links; what they lead to is not saved."""
    outside, home = tmp_path / "outside", tmp_path / "home"
    name = f"{CLAUDE}/p/{ID}.jsonl"
    put(outside, name, b"private")
    (home / link).parent.mkdir(parents=True)
    (home / link).symlink_to(outside / link)
    assert (home / name).read_bytes() == b"private"
    assert read_session("claude", ID, home, {}, OLD) is None


@pytest.mark.parametrize("link", [".claude", CLAUDE, f"{CLAUDE}/-home-una-other"])
def test_nothing_is_written_through_a_link(link: str, tmp_path: Path) -> None:
    """An earlier agent of the task may have left it."""
    put(tmp_path / "a", f"{CLAUDE}/p/{ID}.jsonl")
    saved = read_session("claude", ID, tmp_path / "a", {}, OLD)
    assert saved
    outside, home = tmp_path / "outside", tmp_path / "home"
    (home / link).parent.mkdir(parents=True)
    (outside / link).mkdir(parents=True)
    (home / link).symlink_to(outside / link)
    write_session("claude", saved, home, {}, NEW)
    assert listed(outside) == set()
    assert listed(home) == {f"{CLAUDE}/-home-una-other/{ID}.jsonl"}


def test_secrets_are_not_saved(tmp_path: Path) -> None:
    """A token in the text of the session is replaced, and the line stays JSON."""
    secret = make_sample(next(rule for rule in RULES if rule.kind == "github-token"), "ghp_")
    put(tmp_path, f"{CLAUDE}/p/{ID}.jsonl", f'{{"text":"{secret}"}}\n'.encode())
    saved = read_session("claude", ID, tmp_path, {}, OLD)
    assert saved
    write_session("claude", saved, tmp_path / "b", {}, OLD)
    (name,) = listed(tmp_path / "b")
    assert (tmp_path / "b" / name).read_bytes() == b'{"text":"[redacted:github-token]"}\n'


@pytest.mark.parametrize("kind", SESSION_PLACES)
def test_a_blob_with_other_files_writes_none_of_them(kind: str, tmp_path: Path) -> None:
    """Settings can name programs: neither a new file is written, nor one that is there removed."""
    folder, before = SESSION_PLACES[kind].folder, FILES[kind][0]
    names = (
        "settings.json",
        "config.toml",
        "plugins/x/hooks.json",
        f"{ID}.jsonl",
        "../.bashrc",
        "/etc/passwd",
    )
    good = next(iter(before)).removeprefix(f"{folder}/")
    put(tmp_path, f"{folder}/settings.json", b"mine")
    files = dict.fromkeys((*names, good), LINE)
    saved = zlib.compress(msgspec.msgpack.encode(SavedSession(str(OLD), files)))
    write_session(kind, saved, tmp_path, {}, OLD)
    assert listed(tmp_path) == {f"{folder}/settings.json", f"{folder}/{good}"}
    assert (tmp_path / folder / "settings.json").read_bytes() == b"mine"


def test_a_session_of_another_version_is_not_written(tmp_path: Path) -> None:
    """Unknown bytes are the same as no session."""
    write_session("claude", b"unknown", tmp_path, {}, NEW)
    assert os.listdir(tmp_path) == []


def test_a_large_session_is_redacted_line_by_line(tmp_path: Path) -> None:
    """No line is lost or cut, and the heartbeats of the worker go on."""
    secret = make_sample(next(rule for rule in RULES if rule.kind == "github-token"), "ghp_")
    lines = [f'{{"n":{number},"text":"{"x" * 5000} {secret}"}}' for number in range(400)]
    put(tmp_path, f"{CLAUDE}/p/{ID}.jsonl", "\n".join(lines).encode())
    saved = read_session("claude", ID, tmp_path, {}, OLD)
    assert saved
    write_session("claude", saved, tmp_path / "b", {}, OLD)
    (name,) = listed(tmp_path / "b")
    text = (tmp_path / "b" / name).read_text()
    assert text == "\n".join(lines).replace(secret, "[redacted:github-token]")
