"""P18: what people wait for: the next call after an approval, a line of an agent in the browser, Ctrl-C.

The run is another process in each case, as it is for people. The figure is the median: the best of several
waits would hide that most of them are long.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from statistics import median

import p12_feed
from measure import MILLISECONDS, SECONDS, Result, scratch, show, single
from ostler.model.status import TaskStatus
from ostler.model.task import Task
from ostler.project.project import Project
from p8_stop import MARK, marked
from sample import Sample

ROUNDS, AGENTS, GRACE_SECONDS, PATIENCE_SECONDS = 5, 8, 1.0, 60.0
SETTINGS = """
[run]
executor = "mine"
grace_seconds = {grace}

[executors.mine]
type = "claude"
command = "{agent}"
env = {{ {mark_name} = "{mark}" }}

[phases.plans]
medium = ["implement", "test"]

[gates.phases]
implement = "human"

[pools.medium]
size = {agents}

[sandbox]
tier = "supervised"  # P15 measures the sandbox

[host]
start_stagger_seconds = 0
"""
ANSWERS = """#!/bin/sh
date +%s.%N >> {started}
echo hello >> hello.txt
echo '{{"type":"system","subtype":"init","session_id":"bench","model":"none"}}'
text='<phase_complete>true</phase_complete>'
echo '{{"type":"result","subtype":"success","is_error":false,"session_id":"bench","result":"'"$text"'"}}'
"""
STAYS = """#!/bin/sh
(setsid sh -c "trap '' TERM; exec sleep 600" >/dev/null 2>&1 &)
exec sleep 600
"""


def measure() -> list[Result]:
    with scratch() as place:
        started = approve_often(place / "approve")
        stopped = [stop(place / f"stop-{number}") for number in range(ROUNDS)]
        shown = show_lines(place)
    line = "a line of one of 8 agents to the live feed: p99"
    past = "Ctrl-C to the end of the run and of all processes, 8 agents with daemons, past the grace"
    return [
        single("P18", "approve to the start of the next call", started, "<= 150", MILLISECONDS, median),
        single("P18", line, shown, "<= 100", MILLISECONDS, median),
        single("P18", past, stopped, "<= 0.3", SECONDS, median),
    ]


def approve_often(place: Path) -> list[float]:
    """Seconds from each approval to the start of the next call, under one worker."""
    log = place / "started"
    with (
        open_sample(place, ANSWERS.format(started=log)) as (sample, project),
        run(sample, "worker") as worker,
    ):
        found = [approve(project, log) for _ in range(ROUNDS)]
        worker.send_signal(signal.SIGINT)
        worker.wait(PATIENCE_SECONDS)
    return found


def approve(project: Project, log: Path) -> float:
    task = project.add(Task("Say hello")).id
    wait_until(lambda: project.state(task).status is TaskStatus.NEEDS_REVIEW)
    calls = len(log.read_text().split())
    began = time.time()
    project.act(task, "approve")
    wait_until(lambda: len(log.read_text().split()) > calls)
    wait_until(lambda: project.state(task).status is TaskStatus.COMPLETED)
    return float(log.read_text().split()[calls]) - began


def stop(place: Path) -> float:
    """Seconds from Ctrl-C until the run has ended and nothing is left, without the time of the grace."""
    with open_sample(place, STAYS) as (sample, project):
        for number in range(AGENTS):
            project.add(Task(f"Task {number}"))
        with run(sample, "run", "--all", "-j", str(AGENTS)) as running:
            # The control: the counter finds each agent and each daemon.
            wait_until(lambda: sorted(marked().values()) == ["sleep"] * (2 * AGENTS))
            began = time.perf_counter()
            running.send_signal(signal.SIGINT)
            running.wait(PATIENCE_SECONDS)
            took = time.perf_counter() - began
        assert marked() == {}, "a process is left after the end of the run"
    return took - GRACE_SECONDS


def show_lines(place: Path) -> list[float]:
    """The 99th percentile of the seconds from the print of an agent to one client of the feed."""
    agent, numbers, clients = p12_feed.write_agent(place / "agent"), count(), p12_feed.CLIENTS
    p12_feed.CLIENTS = 1
    try:
        return [
            asyncio.run(p12_feed.feed_delay("ours", make_directory(place / f"feed-{next(numbers)}"), agent))
            for _ in range(ROUNDS)
        ]
    finally:
        p12_feed.CLIENTS = clients


def make_directory(path: Path) -> Path:
    path.mkdir()
    return path


@contextmanager
def open_sample(place: Path, agent: str) -> Generator[tuple[Sample, Project]]:
    place.mkdir()
    sample = Sample(place)
    sample.agent.write_text(agent)
    name, _, mark = MARK.partition("=")
    settings = SETTINGS.format(
        grace=GRACE_SECONDS, agent=sample.agent, mark_name=name, mark=mark, agents=AGENTS
    )
    (sample.root / "ostler.toml").write_text(settings)
    with Project.open(sample.root, sample.environ, create=True) as project:
        yield sample, project


@contextmanager
def run(sample: Sample, *arguments: str) -> Generator[subprocess.Popen[bytes]]:
    """An ostler command in the project; killed if it has not ended by itself."""
    program = Path(sys.executable).with_name("ostler")
    child = subprocess.Popen(
        (str(program), *arguments),
        cwd=sample.root,
        env=sample.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield child
    finally:
        child.kill()
        child.wait()


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.005)


if __name__ == "__main__":
    show(measure())
