"""`ostler testing`: the fake model, GitHub and agents, started by command."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest

from ostler.testing.catalog import list_agent_faults, list_agents, list_github_faults, list_model_faults
from world import World

AFTER_DASHES = pytest.mark.one_machine(
    "only the command after -- has the variables of the fake server, and no worker"
)

COMMAND = [sys.executable, "-m", "ostler", "testing"]
BODY = b'{"model": "m", "messages": [{"role": "user", "content": "Hi"}]}'


@contextmanager
def started(world: World, *args: str) -> Generator[subprocess.Popen[str]]:
    """A server in its own process, which the test ends."""
    with subprocess.Popen(
        [*COMMAND, *args],
        cwd=world.root,
        env=world.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        try:
            yield child
        finally:
            child.kill()


def post(url: str) -> tuple[int, bytes]:
    connection = HTTPConnection(url.removeprefix("http://"), timeout=20)
    connection.request("POST", "/v1/messages", BODY)
    answer = connection.getresponse()
    return answer.status, answer.read()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_model_server_prints_its_variables_and_requests(world: World, number: int) -> None:
    """stdout has only lines for a shell, stderr one line per request; a signal ends it with 0."""
    (world.root / "turns.yaml").write_text("- Hello from a file\n")
    with started(world, "serve-model", "--script", "turns.yaml") as child:
        assert child.stdout and child.stderr
        first = child.stdout.readline().strip()
        url = first.removeprefix("export ANTHROPIC_BASE_URL=")
        assert url.startswith("http://127.0.0.1:")
        assert b"Hello from a file" in post(url)[1]
        child.send_signal(number)
        assert child.wait(20) == 0
        assert all(line.startswith("export ") for line in child.stdout.read().splitlines())
        log = child.stderr.read()
    assert f'POST /v1/messages m ({len(BODY)} bytes) -> "Hello from a file"' in log


def test_the_model_server_in_json(world: World) -> None:
    """The address first, then one document per request; a fault so many times, then answers."""
    with started(world, "serve-model", "--json", "--fault", "d3_529", "--times", "1") as child:
        assert child.stdout
        server = json.loads(child.stdout.readline())
        assert (server["schema"], server["kind"]) == ("ostler.test_server/1", "model")
        assert server["environment"]["OPENAI_BASE_URL"] == f"{server['url']}/v1"
        assert post(server["url"])[0] == 529
        status, answer = post(server["url"])
        assert status == 200 and b"<phase_complete>true</phase_complete>" in answer
        requests = [json.loads(child.stdout.readline()) for _ in range(2)]
    assert [one["answer"][:14] for one in requests] == ["529 Overloaded", '"Done. <phase_']
    assert {one["schema"] for one in requests} == {"ostler.test_request/1"}


@pytest.mark.full
@AFTER_DASHES
def test_a_task_runs_on_the_model_server(world: World) -> None:
    """With a command after --, it runs with the variables of the server, and its exit code is returned."""
    task = world.new("Write it", "--output", "outputs/it.md")
    run = (sys.executable, "-m", "ostler", "run", task)
    done = world.program("testing", "serve-model", "--", *run)
    assert "POST /v1/messages" in done.stderr
    assert world.show(task)["status"] == "completed"
    failed = world.program("testing", "serve-model", "--", "sh", "-c", "exit 7", code=7)
    assert failed.stdout == ""


@pytest.mark.full
@AFTER_DASHES
def test_pull_requests_on_the_github_server(world: World, tmp_path: Path) -> None:
    """The real gh uses it, and git pushes to the bare repository without a change of the user's settings."""
    bare = tmp_path / "remote.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(bare)], check=True)
    world.environ["PATH"] = f"{Path(sys.executable).parent}:{world.environ['PATH']}"
    world.git("remote", "add", "origin", "http://github.localhost/acme/app.git")
    world.git("push", "-q", str(bare), "main")
    world.git("fetch", "-q", str(bare), "main:refs/remotes/origin/main")
    task = world.new()
    run = (sys.executable, "-m", "ostler", "run", task)
    done = world.program(
        *("testing", "serve-github", "--remote", str(bare), "--", *run),
        OSTLER_GIT__ON_COMPLETE="pr",
        OSTLER_PULL_REQUEST__AUTO_MERGE="true",
    )
    assert "PullRequestCreate" in done.stderr and "note merged on GitHub" in done.stdout
    assert "[note]" in world.ostler("status").stdout
    assert world.show(task)["pr_url"] == "http://github.localhost/acme/app/pull/1"
    listed = world.program(
        *("testing", "serve-github", "--issue", "Fix the login", "--"),
        *("gh", "issue", "list", "-R", "github.localhost/acme/app"),
    )
    assert "Fix the login\tready" in listed.stdout


def test_a_fake_agent_runs_a_task(world: World) -> None:
    """The printed variable makes Ostler use it; a fault ends the task as the real one would."""
    written = world.json("testing", "fake-agent", "codex", "--directory", "fakes")
    environ = {**written["environment"], "OSTLER_RUN__EXECUTOR": "codex"}
    assert environ["OSTLER_CODEX_PATH"] == str(world.root / "fakes" / "codex")
    task = world.new()
    world.ostler("run", task, **environ)
    printed = world.ostler(
        *("testing", "fake-agent", "codex", "--fault", "blocked", "--directory", "fakes"),
        *("--set", "delay_seconds=0.1"),
    ).stdout
    assert printed == f"export OSTLER_CODEX_PATH={world.root}/fakes/codex\n"
    blocked = world.new("Do more")
    world.ostler("run", blocked, code=4, **environ)
    assert world.show(blocked)["code"] == "AGENT_BLOCKED"


def test_a_fake_agent_runs_where_it_cannot_write(world: World) -> None:
    """In a sandbox its own files are in the home directory, so that it works with the default settings."""
    written = world.json("testing", "fake-agent", "claude", "--directory", "fakes")
    Path(written["path"]).parent.chmod(0o555)
    home = world.root.parent / "home"
    home.mkdir()
    stopped = Path(f"{written['path']}.starts")
    stopped.mkdir(exist_ok=True)  # also root cannot open a directory for writing
    done = subprocess.run(
        [written["path"], "-p"],
        cwd=world.root,
        env={"HOME": str(home)},
        input="Go",
        capture_output=True,
        text=True,
        check=True,
    )
    assert "phase_complete" in done.stdout
    assert (home / ".fake-agent" / "claude.starts").read_bytes() == b"."


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["serve-model", "--fault", "d1_secnds"], "did you mean d1_seconds?"),
        (["serve-model", "--fault", ""], "unknown fault"),
        (["serve-model", "--times", "2"], "--times needs --fault"),
        (["serve-model", "--fault", "d3_500", "--script", "x"], "not both"),
        (["serve-model", "--script", "nosuch.yaml"], "cannot read nosuch.yaml: no such file"),
        (["serve-model", "--script", "README.md"], "README.md: expected a list of turns"),
        (
            ["serve-model", "--script", "bad.yaml"],
            "bad.yaml: turn 2: unknown fault d3_50: did you mean d3_50",
        ),
        (["serve-model", "--port", "70000"], "70000 is not in the range"),
        (["serve-model", "--", "no-such-program"], "no program no-such-program"),
        (["serve-github", "--fault", "Create=rate_limite"], "did you mean rate_limited?"),
        (["serve-github", "--repository", "app"], "expected OWNER/NAME"),
        (["serve-github", "--remote", "."], "is not a bare repository"),
        (["fake-agent"], "no agent is named"),
        (["fake-agent", "claud"], "did you mean claude?"),
        (["fake-agent", "../claude"], "unknown agent: ../claude"),
        (["fake-agent", "claude", "--fault", "a1_hang"], "did you mean a1_hangs?"),
        (["fake-agent", "claude", "--set", "delay_second=1"], "did you mean delay_seconds?"),
        (["fake-agent", "claude", "--set", "count=many"], "expected a number"),
        (["fake-agent", "claude", "--set", "text"], "expected KEY=VALUE"),
        (["fake-agent", "claude", "--set", 'plan=["ok", "crsh"]'], "did you mean crash?"),
        (["fake-agent", "claude", "--set", 'plan=[{"fault": "crsh"}]'], "did you mean crash?"),
        (["fake-agent", "claude", "--set", "plan=[1]"], "invalid step of the plan: 1"),
        (["fake-agent", "claude", "--directory", "README.md"], "cannot write to"),
    ],
)
def test_bad_requests_are_one_sentence(world: World, args: list[str], expected: str) -> None:
    """Exit 2, the mistake and the nearest name."""
    (world.root / "README.md").write_text("title: x\n")
    (world.root / "bad.yaml").write_text("- fine\n- {fault: d3_50}\n")
    assert expected in world.ostler("testing", *args, code=2).stderr


def test_a_port_in_use_is_one_sentence(world: World) -> None:
    """The second server does not start."""
    with started(world, "serve-model", "--json") as child:
        assert child.stdout
        port = json.loads(child.stdout.readline())["url"].rpartition(":")[2]
        refused = world.ostler("testing", "serve-model", "--port", port, code=2)
        assert f"cannot listen on port {port}" in refused.stderr


def test_every_name_is_listed_with_one_line(world: World) -> None:
    """--list has each wire format, fault and key; none is empty."""
    agents = world.json("testing", "fake-agent", "--list")
    assert agents["agents"] == list_agents() and agents["faults"] == list_agent_faults()
    assert world.json("testing", "serve-model", "--list")["faults"] == list_model_faults()
    assert world.json("testing", "serve-github", "--list")["faults"] == list_github_faults()
    for names in (list_agents(), list_agent_faults(), list_model_faults(), list_github_faults()):
        assert [name for name, text in names.items() if not text or "\n" in text] == []
    assert "a1_hangs" in world.ostler("testing", "fake-agent", "--list").stdout


def test_the_kit_is_refused_inside_a_task(world: World) -> None:
    """An agent cannot replace its own model."""
    world.behave(script=f"{sys.executable} -m ostler testing fake-agent claude > said 2>&1 || true")
    task = world.new()
    world.ostler("run", task)
    assert "only a person can use ostler testing" in world.git("show", f"ostler/{task}:said")


def test_an_agent_that_waits_works_afterwards(world: World) -> None:
    """It starts once, with one session, and completes its phase."""
    world.behave(fault="waits", seconds=0.1, error_message="Retrying in 1 s")
    task = world.new()
    world.ostler("run", task)
    assert {one["status"] for one in world.json("show", task)["attempts"]} == {"succeeded"}
    assert "session_replaced" not in [one["type"] for one in world.events(task)]


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        ("5", "turn 1: expected a text or a mapping, got 5"),
        ("{fault: [1]}", "turn 1: unknown fault [1]"),
        ("{say: 3}", "turn 1: say: Expected str, got int"),
    ],
)
def test_a_wrong_turn_of_a_script(world: World, turn: str, expected: str) -> None:
    """One sentence with the number of the turn, also for values of another type."""
    (world.root / "bad.yaml").write_text(f"- {turn}\n")
    assert expected in world.ostler("testing", "serve-model", "--script", "bad.yaml", code=2).stderr


@pytest.mark.full
@AFTER_DASHES
def test_without_a_script_a_review_approves(world: World) -> None:
    """A pipeline with an AI review completes, as every other task does."""
    skill = world.root / ".agents" / "skills" / "copy"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: copy\ndescription: writes\n---\nWrite.\n")
    (world.root / "p.yaml").write_text("steps:\n  - {skill: copy, review: ai}\n")
    world.ostler("testing", "serve-model", "--", sys.executable, "-m", "ostler", "pipeline", "run", "p.yaml")
    assert [one["status"] for one in world.json("status")["tasks"]] == ["completed"]
