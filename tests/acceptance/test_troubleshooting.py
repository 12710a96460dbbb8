"""The outputs in docs/troubleshooting.md are real: each of its sections is reproduced."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable

import pytest

from journal_file import journal_path
from reader import text_of
from world import World

PAGE = "docs/troubleshooting.md"
SECTION = re.compile(r"^## (?P<title>[^\n]+)\n\n```text\n(?P<printed>.*?)^```$", re.MULTILINE | re.DOTALL)
QUOTED = {match["title"]: match["printed"] for match in SECTION.finditer(text_of(PAGE))}
ELIDED = re.compile(r"\.\.\.|/home/ada/\w+|add-a-greeting-\w{4}|\d\d:\d\d|[0-9a-f]{10}|pytest -q|4747")
RUN = ("run", "-p", "Add a greeting")


def agent(**behaviour: object) -> Callable[[World], tuple[str, ...]]:
    """Run an agent with this behaviour."""

    def prepare(world: World) -> tuple[str, ...]:
        world.behave(**behaviour)
        return RUN

    return prepare


def settings(text: str, *command: str, **behaviour: object) -> Callable[[World], tuple[str, ...]]:
    """The same, with these settings."""

    def prepare(world: World) -> tuple[str, ...]:
        (world.root / "ostler.toml").write_text(text)
        world.behave(**behaviour)
        return command or RUN

    return prepare


def without_agent(world: World) -> tuple[str, ...]:
    del world.environ["OSTLER_CLAUDE_PATH"]
    world.environ["PATH"] = "/usr/bin:/bin"
    return RUN


def without_commit(world: World) -> tuple[str, ...]:
    world.git("update-ref", "-d", "HEAD")
    return RUN


def with_limit(world: World) -> tuple[str, ...]:
    world.behave(fault="api_error", error=429, error_message="try again")
    world.environ["OSTLER_RETRY__MAX_RETRIES"] = "0"
    return RUN


def with_budget(world: World) -> tuple[str, ...]:
    world.behave(cost_usd=2.0)
    world.environ["OSTLER_BUDGET__TASK_USD"] = "1"
    world.environ["OSTLER_PHASES__PLANS__TRIVIAL"] = '["implement", "test"]'
    return RUN


def broken_config(world: World) -> tuple[str, ...]:
    world.behave(script=f"echo '[broken' >> {world.root}/.git/config")
    return RUN


def without_journal(world: World) -> tuple[str, ...]:
    world.new()
    journal_path(world.root).unlink()
    return ("status",)


def without_space(world: World) -> tuple[str, ...]:
    world.new()
    world.environ["OSTLER_FAILPOINT"] = "journal.append:enospc:1"
    return ("run", "--all")


REFUSED = {"fault": "api_error", "error": 401}
CASES: dict[str, tuple[Callable[[World], tuple[str, ...]], int]] = {
    "No agent": (without_agent, 2),
    "Not logged in": (agent(**REFUSED), 4),
    "The provider does not answer": (agent(fault="api_error", error=529), 5),
    "No commit": (without_commit, 2),
    "No key": (settings("", "run", "-p", "Explain", "--executor", "model_api"), 2),
    "A limit": (with_limit, 5),
    "A gate waits": (settings('[gates]\ndefault = "human"\n'), 4),
    "A gate failed": (
        settings('[gates.commands]\nimplement = "exit 1"\n[phases]\nmax_phase_retries = 0\n'),
        4,
    ),
    "The agent did nothing": (agent(fault="no_mark", edits={}), 5),
    "A permission was denied": (agent(fault="denied"), 4),
    "The budget": (with_budget, 5),
    "A run waits or ends early": (broken_config, 1),
    "Invalid settings": (
        settings('[run]\njobs = 0\nexecuter = "claude"\n', "config", "validate"),
        2,
    ),
    "The journal is lost": (without_journal, 3),
    "The disk is full": (without_space, 1),
}

# Each is found before the run starts, or is about the file of the journal.
OF_ONE_MACHINE = ("No agent", "No commit", "No key", "A run waits or ends early", "The journal is lost")
ONE_MACHINE = pytest.mark.one_machine(
    "in a cluster the worker finds it and the task fails, or the journal is on a server"
)


def expected(title: str) -> re.Pattern[str]:
    """A pattern of the section's lines, in order; names, times and the reader's own command may differ."""
    parts = [".+?".join(map(re.escape, ELIDED.split(line))) for line in QUOTED[title].splitlines() if line]
    return re.compile("(?s:.*)".join(parts))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "title",
    [pytest.param(title, marks=[ONE_MACHINE] if title in OF_ONE_MACHINE else []) for title in CASES],
)
def test_it_is_printed_as_the_page_shows(title: str, world: World) -> None:
    """With its exit code."""
    prepare, code = CASES[title]
    done = world.ostler(*prepare(world), code=code)
    printed = done.stdout + done.stderr
    assert expected(title).search(printed), f"{QUOTED[title]}\n---\n{printed}"


def test_a_port_that_is_taken(world: World) -> None:
    """By any program; the number is the requested one."""
    world.ostler("init")
    with socket.create_server(("127.0.0.1", 0)) as other:
        done = world.ostler("serve", "--port", str(other.getsockname()[1]), code=2)
    assert expected("The port is in use").search(done.stderr), done.stderr


@pytest.mark.full
def test_an_agent_that_changed_nothing_and_reports_completion(world: World) -> None:
    """A person decides; the diff has this text."""
    world.behave(edits={})
    task = world.new()
    world.ostler("run", task, code=4)
    assert f"{task} has no changes" in world.ostler("diff", task).stderr
    assert "has no changes" in text_of(PAGE)
    world.ostler("rewind", task, "--to", "implement", "-m", "Do it")


def test_every_section_is_brought_about() -> None:
    """The table at the top links to each."""
    assert set(QUOTED) == {*CASES, "The port is in use"}
    listed = re.findall(r"^\| .* \| \[(.+)\]\(#", text_of(PAGE), re.MULTILINE)
    assert listed == list(QUOTED)
