"""Canary secrets in the environment, the settings and every place where an agent can write."""

from __future__ import annotations

import base64
import json
import os
import re
import stat
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from engine_choice import ENGINE
from ostler.files.layout import Layout
from ostler.secrets.find import find_secrets
from ostler.secrets.registry import SECRETS
from ostler.testing.fake_agent import fake_agent
from web_world import serve
from world import World

# Assembled, so that no scanner finds a secret in this file.
API_KEY = "sk-" + "ant-api03-" + "Zq8-" * 10
IN_SETTINGS = "canary-in-settings-" + "7f3a91c2d4"
IN_FILE = "canary in a file " + "Xw55/91+b"
DECLARED = "canary+declared/" + "b81d0e99="
UNKNOWN = "ghp_" + "Q7w9" * 9
CANARIES = (API_KEY, IN_SETTINGS, IN_FILE, DECLARED, UNKNOWN)
SETTINGS = f"""
[executors.claude.env]
ACME_TOKEN = "{IN_SETTINGS}"
[secrets]
env = ["WEATHER_*"]
files = ["~/acme.env"]
"""


def spell(secret: str) -> list[str]:
    """Return the secret in the encodings that hide it from an exact comparison."""
    if secret == UNKNOWN:  # by its form; encodings are those of registered secrets
        return [secret]
    data = secret.encode()
    shifted = [base64.b64encode(b"x" * offset + data + b"yyy").decode() for offset in range(3)]
    halves = f"{secret[:7]}\n{secret[7:]}"
    return [secret, secret[::-1], data.hex(), data.hex().upper(), quote(secret, safe=""), halves, *shifted]


def leaks(data: bytes) -> list[str]:
    """Return what of the canaries is in the data; the neighbours of a shifted base64 text do not matter."""
    found: list[str] = []
    for canary in CANARIES:
        spelled = [text[4:-6] if index > 5 else text for index, text in enumerate(spell(canary))]
        found += [text for text in spelled if text.encode() in data]
        found += [text for text in spelled if json.dumps(text)[1:-1].encode() in data]
    return found


@pytest.fixture
def world(tmp_path: Path) -> World:
    said = "\n".join(text for canary in CANARIES for text in spell(canary))
    world = World(
        tmp_path,
        text=f"I found these:\n{said}\n<phase_complete>true</phase_complete>",
        script="env; for f in /proc/[0-9]*/environ; do tr '\\0' '\\n' <$f; done 2>/dev/null\n"
        f"echo '{API_KEY}' >&2; exit 0",
    )
    home = tmp_path / "home"
    home.mkdir()
    (home / "acme.env").write_text(f"# of the team\nexport ACME='{IN_FILE}'\n")
    (world.root / "ostler.toml").write_text(SETTINGS)
    world.environ |= {"HOME": str(home), "ANTHROPIC_API_KEY": API_KEY, "WEATHER_LOGIN": DECLARED}
    return world


def list_state(world: World) -> list[Path]:
    """The state in the git directory and the readable view, with all that they contain."""
    layout = Layout(world.root)
    return [path for top in (layout.state, layout.view) for path in (top, *top.rglob("*"))]


def read_tables(world: World) -> bytes:
    """All rows of the project's tables in PostgreSQL."""
    schema = world.environ["OSTLER_STORE__SCHEMA"]
    with psycopg.connect(world.environ["OSTLER_STORE__URL"]) as connection:
        named = "SELECT table_name FROM information_schema.tables WHERE table_schema = %s"
        tables = [name for (name,) in connection.execute(named, [schema]).fetchall()]
        rows = [connection.execute(f"SELECT * FROM {schema}.{name}".encode()).fetchall() for name in tables]
    values = (value for table in rows for row in table for value in row)
    return b"\n".join(value if isinstance(value, bytes) else str(value).encode() for value in values)


def test_no_canary_reaches_a_record(world: World, tmp_path: Path) -> None:
    """Transcript, journal, log, prompt, answer, export, screens and dashboard contain only marks."""
    added = world.ostler("new", f"Use {UNKNOWN}")
    task = added.stdout.strip()
    assert "contains a secret" in added.stderr
    world.program("run", task)
    export = world.program("export", task, "-o", str(tmp_path / "export.ndjson"))
    shown = (("show", task), ("log", task), ("log", task, "--full"), ("show", task, "--json"))
    screens = [world.program(*args) for args in shown]
    world.program("events", task, "--json")
    files = [path for path in list_state(world) if path.is_file()]
    names = {path.suffix for path in files}
    assert {".jsonl", ".ndjson", ".md"} <= names
    journal = read_tables(world) if ENGINE == "temporal" else b""
    assert task.encode() in journal or ".db" in names
    assert leaks(journal) == []
    for path in (*files, tmp_path / "export.ndjson"):
        assert leaks(path.read_bytes()) == [], path
    for done in (export, *screens):
        assert leaks(f"{done.stdout}{done.stderr}".encode()) == []
    (transcript,) = [path for path in files if path.suffix == ".jsonl"]
    marks = set(re.findall(rb"\[redacted:([^]]+)\]", transcript.read_bytes()))
    assert marks >= {b"ANTHROPIC_API_KEY", b"ACME_TOKEN", b"WEATHER_LOGIN", b"acme.env", b"github-token"}
    for line in transcript.read_bytes().splitlines():
        if line.startswith(b'{"'):
            json.loads(line)
    assert world.show(task)["status"] == "completed"
    assert "use-redacted" in task and leaks(world.git("log", "--all", "-p").encode()) == []
    dashboard = serve(world)
    for path in (
        "",
        "/request",
        "/timeline",
        "/attempts/1/log",
        "/attempts/1/prompt",
        "/attempts/1/raw",
        "/diff",
    ):
        answer = dashboard.ask("GET", f"/api/v1/tasks/{task}{path}")
        assert answer.status == 200 and leaks(answer.body) == [], path
    for path in ("/tasks", "/events", "/session", "/machine", "/models"):
        assert leaks(dashboard.ask("GET", f"/api/v1{path}").body) == [], path
    dashboard.stop()
    world.close()


def test_the_canaries_would_be_found(world: World) -> None:
    """The control: the raw text contains each canary in each encoding, and the search finds all of them."""
    raw = "\n".join(text for canary in CANARIES for text in spell(canary)).encode()
    assert len(set(leaks(raw))) == sum(len(set(spell(canary))) for canary in CANARIES)
    SECRETS.register((f"C{number}", canary) for number, canary in enumerate(CANARIES[:-1]))
    for canary in CANARIES[:-1]:
        for text in spell(canary):
            assert find_secrets(text.encode()), text
    assert find_secrets(UNKNOWN.encode())


@pytest.mark.parametrize("umask", [0o000, pytest.param(0o022, marks=pytest.mark.full)])
def test_everything_is_private(world: World, umask: int, tmp_path: Path) -> None:
    """Directories of the state are 0700 and files 0600, whatever the umask; worktrees are the agent's."""
    before = os.umask(umask)
    try:
        task = world.program("new", "Add another").stdout.strip()
        world.program("run", "--all", "--json")
        world.program("export", task, "-o", str(tmp_path / "out.ndjson"))
        world.program("run", "--detach", task, code=None)
        serve(world).stop()
    finally:
        os.umask(before)
    wrong = [
        f"{oct(stat.S_IMODE(path.lstat().st_mode))} {path.relative_to(tmp_path)}"
        for path in (*list_state(world), tmp_path / "out.ndjson")
        if not path.is_symlink() and "worktrees" not in path.relative_to(tmp_path).parts
        if stat.S_IMODE(path.lstat().st_mode) != (0o700 if path.is_dir() else 0o600)
    ]
    assert wrong == []
    world.close()


def test_no_prompt_and_no_secret_is_an_argument(world: World, tmp_path: Path) -> None:
    """Other users can read the arguments of every process."""
    seen = tmp_path / "seen"
    script = f"for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$f; echo; done >{seen} 2>/dev/null; exit 0"
    world.behave(script=script)
    task = world.new("Add", "-d", "the-text-of-the-task-is-private")
    world.program("run", task)
    arguments = seen.read_bytes()
    assert b"claude" in arguments and b"ostler" in arguments
    assert leaks(arguments.replace(script.encode(), b"")) == []
    assert b"the-text-of-the-task-is-private" not in arguments
    world.close()


def test_helpers_have_no_secret_in_their_environment(world: World, tmp_path: Path) -> None:
    """The agent sees the variables that it may have; its keeper and forker have fewer, not more."""
    seen = tmp_path / "seen"
    world.behave(
        script='pid=$PPID; while [ "$pid" -gt 1 ]; do tr "\\0" " " </proc/$pid/cmdline; echo; '
        'tr "\\0" "\\n" </proc/$pid/environ; echo ---; pid=$(cut -d" " -f4 /proc/$pid/stat); '
        f"done >{seen} 2>&1; exit 0"
    )
    world.program("run", world.new(), WEATHER_LOGIN=DECLARED, GH_TOKEN=UNKNOWN)
    helpers = [part for part in seen.read_bytes().split(b"---\n") if b" -I -S -c " in part]
    assert helpers and all(b"PATH=" in part for part in helpers)
    assert [part for part in helpers if leaks(part)] == []
    agent = seen.read_bytes().split(b"---\n")[0]
    assert API_KEY.encode() in agent and UNKNOWN.encode() not in agent and DECLARED.encode() not in agent
    world.close()


def test_a_secret_in_two_parts_of_a_streamed_text_is_redacted(world: World) -> None:
    """Gemini sends a text in lines of JSON; the raw transcript contains no half of the secret."""
    mark = "<phase_complete>true</phase_complete>"
    text = f"{'.' * len(mark)} {UNKNOWN} {mark}"  # the fake agent sends two halves of the same length
    program = fake_agent(world.agents, "gemini", edits={"a.txt": "a"}, text=text)
    (world.root / "ostler.toml").write_text(SETTINGS + '[[models]]\nname = "g"\nexecutor = "gemini"\n')
    task = world.new()
    world.program("run", task, OSTLER_GEMINI_PATH=str(program))
    (transcript,) = [path for path in list_state(world) if path.suffix == ".jsonl"]
    lines = [json.loads(line) for line in transcript.read_bytes().splitlines()]
    parts = [line["content"] for line in lines if line.get("delta")]
    assert len(parts) > 1 and "[redacted:github-token]" in "".join(parts)
    assert UNKNOWN[:12] not in "".join(parts) and UNKNOWN[-12:] not in "".join(parts)
    world.close()


def test_a_merge_refuses_a_commit_with_a_secret(world: World) -> None:
    """The message names the file and the line, never the secret; the target does not move."""
    world.behave(files={"config.py": f"x = 1\nTOKEN = '{UNKNOWN}'\n"})
    (world.root / "ostler.toml").write_text(SETTINGS + '[git]\non_complete = "merge"\n')
    world.git("add", "-A")
    world.git("commit", "-qm", "settings")
    before, task = world.git("rev-parse", "main"), world.new()
    done = world.ostler("run", task, code=None)
    shown = world.ostler("show", task).stdout
    assert world.git("rev-parse", "main") == before
    assert "config.py:2 (github-token" in shown and "nothing was merged" in shown
    assert leaks(f"{done.stdout}{done.stderr}{shown}".encode()) == []
    world.close()


@pytest.mark.one_machine("in a cluster the worker reads the file, and ends")
def test_a_registered_file_that_is_missing_stops_the_run(world: World) -> None:
    """What cannot be read cannot be redacted."""
    Path(world.environ["HOME"], "acme.env").unlink()
    done = world.ostler("run", world.new(), code=None)
    assert (
        done.returncode != 0 and "ostler.toml:6: secrets.files[0]: ~/acme.env cannot be read" in done.stderr
    )
    doctor = world.ostler("doctor", code=None).stdout
    assert "acme.env cannot be read" in doctor


def test_doctor_lists_the_names(world: World) -> None:
    """A person sees what is redacted, without the values."""
    done = world.ostler("doctor", code=None)
    line = next(line for line in done.stdout.splitlines() if line.split()[1:2] == ["secrets"])
    assert "WEATHER_LOGIN" in line and "ACME_TOKEN" in line and leaks(done.stdout.encode()) == []
