"""The faults of a cluster: each one damages something while tasks run; the oracle looks at the result."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

from cluster.evidence import Work
from cluster.lab import Lab, LabOptions

# On a busy machine with two cores, the start of an agent takes this long.
START_SECONDS = 3.0
MANY = 10_000
IDLE_SHARE = 0.1  # of a core, for each worker


class Fault(Struct, frozen=True):
    """What happens, and the smallest cluster in which it can happen."""

    run: Callable[[Lab], None]
    options: LabOptions = LabOptions()
    tasks: int = 4
    failpoint: str = ""  # where the worker of the first host ends
    seconds: float = 120.0  # for all tasks to end after the fault

    @property
    def intent(self) -> str:
        return (self.run.__doc__ or "").strip()


def nothing(lab: Lab) -> None:
    """No fault: the cluster itself works."""


def kill_in_call(lab: Lab) -> None:
    """kill -9 of a worker whose agent works: another host takes over within a heartbeat and 3 s."""
    hit = lab.wait_for_agent()
    lab.host(hit.host).kill_worker()
    _replace_alone(lab, hit.host)
    _measure(lab, hit, lab.options.heartbeat_seconds + 3)


def end_at_failpoint(lab: Lab) -> None:
    """kill -9 of a worker at a point of its work; it is started again later."""
    lab.hosts[0].wait_for_end()
    if lab.options.engine != "local":
        time.sleep(lab.options.heartbeat_seconds * 1.5)
    lab.hosts[0].start_worker()


def power_off(lab: Lab) -> None:
    """A host loses its power while its agents work, and returns later."""
    hit = lab.wait_for_agent()
    host = lab.host(hit.host)
    host.machine.power_off()
    host.wait_for_end()
    _measure(lab, hit, lab.options.heartbeat_seconds + 3)
    host.machine.start()
    host.start_worker()


def stop_worker(lab: Lab) -> None:
    """SIGSTOP of a worker for longer than the heartbeat, then CONT: its agent does not work on."""
    hit = lab.wait_for_agent()
    host = lab.host(hit.host)
    host.signal_worker(signal.SIGSTOP)
    began = time.monotonic()
    _measure(lab, hit, 2 * lab.options.heartbeat_seconds + 3)
    time.sleep(max(0.0, began + 2.5 * lab.options.heartbeat_seconds - time.monotonic()))
    host.signal_worker(signal.SIGCONT)


def stop_host(lab: Lab) -> None:
    """A whole host is frozen for longer than the heartbeat, then continues, as do its agents for a moment."""
    hit = lab.wait_for_agent()
    host = lab.host(hit.host)
    host.machine.freeze()
    began = time.monotonic()
    _measure(lab, hit, 2 * lab.options.heartbeat_seconds + 3)
    time.sleep(max(0.0, began + 2.5 * lab.options.heartbeat_seconds - time.monotonic()))
    host.thaw()


def cut_cable(lab: Lab) -> None:
    """A host is cut off for longer than the heartbeat; its worker and its agents go on for a while."""
    hit = lab.wait_for_agent()
    machine = lab.host(hit.host).machine
    machine.cut()
    began = time.monotonic()
    _measure(lab, hit, 2 * lab.options.heartbeat_seconds + 3)
    time.sleep(max(0.0, began + 3 * lab.options.heartbeat_seconds - time.monotonic()))
    machine.heal()


def cut_cable_briefly(lab: Lab) -> None:
    """A host is cut off for a fifth of the heartbeat: nothing happens to its agents."""
    # After 0.4 of it they are stopped: TCP repeats what was lost after twice the time (docs/reliability.md).
    hit = lab.wait_for_agent()
    machine = lab.host(hit.host).machine
    machine.cut()
    time.sleep(lab.options.heartbeat_seconds * 0.2)
    machine.heal()
    _expect_undisturbed(lab, hit)


def postgres_hung(lab: Lab) -> None:
    """PostgreSQL hangs for 6 s, longer than a heartbeat: no healthy agent loses its life."""
    hit = lab.wait_for_agent()
    lab.postgres.program.freeze()
    time.sleep(6)
    lab.postgres.program.thaw()
    _expect_undisturbed(lab, hit)


def postgres_killed(lab: Lab) -> None:
    """kill -9 of PostgreSQL; it is started again after 3 s, and no healthy agent loses its life."""
    hit = lab.wait_for_agent()
    lab.postgres.program.kill()
    time.sleep(3)
    lab.postgres.start()
    _expect_undisturbed(lab, hit)


def temporal_killed(lab: Lab) -> None:
    """kill -9 of Temporal; it is started again after 2 s with the state of its database."""
    lab.wait_for_agent()
    lab.temporal.program.kill()
    time.sleep(2)
    lab.temporal.start()


def upgrade(lab: Lab) -> None:
    """All workers are replaced in mid task, one after the other: SIGTERM, then a new process."""
    for host in lab.hosts:
        lab.wait_for_agent(where=lambda work, name=host.name: work.host == name)
        lab.drain(host)
        time.sleep(2)  # for the programs that end with the worker
        if left := host.processes():
            lab.failures.append(f"{host.name} still runs after its drain: {', '.join(left)}")
        host.start_worker()


def storm(lab: Lab) -> None:
    """Workers are killed, frozen and cut off in turn while 200 tasks run on 8 hosts."""
    for number in range(16):
        host = lab.hosts[number % len(lab.hosts)]
        match number % 3:
            case 0:
                host.kill_worker()
                time.sleep(1)
                host.start_worker()
            case 1:
                host.machine.freeze()
                time.sleep(lab.options.heartbeat_seconds * 1.5)
                host.thaw()
            case _:
                host.machine.cut()
                time.sleep(lab.options.heartbeat_seconds * 1.5)
                host.machine.heal()


def many_at_gates(lab: Lab) -> None:
    """10,000 tasks wait at a gate: no workflow is open, they cost nothing, and an approval works at once."""
    _wait_for(lab, "needs_review", 120)
    script = str(Path(__file__).with_name("copy_task.py"))
    began = time.monotonic()
    lab.desk.run(sys.executable, script, lab.tasks[0], str(MANY - len(lab.tasks)), seconds=300)
    lab.figures.append(f"{MANY} tasks at gates were written in {time.monotonic() - began:.0f} s")
    time.sleep(15)  # the board reads them, and the workflows of the last tasks end
    if lab.options.engine == "temporal" and (found := lab.temporal.count_open_workflows()) > 1:
        lab.failures.append(f"{found} workflows are open, one of them is that of the board")
    share = _measure_cpu(lab, 20)
    lab.figures.append(f"{MANY} tasks at gates cost {share:.1%} of a core on {len(lab.hosts)} workers")
    if share > IDLE_SHARE * len(lab.hosts):
        lab.failures.append(f"waiting costs {share:.1%} of a core")
    for task in lab.tasks:
        began = time.monotonic()
        lab.desk.ostler("approve", task)
        lab.wait_for_agent(30, lambda work, task=task: work.task == task, began)
    events = lab.events()
    delays = [
        _approval_to_call([event for event in events if event["task_id"] == task]) for task in lab.tasks
    ]
    lab.figures.append(f"from the approval to the next call: {', '.join(f'{one:.2f} s' for one in delays)}")
    if min(delays) > 1 and not is_busy():
        lab.failures.append(f"the next call began {min(delays):.2f} s after the approval")


def is_busy() -> bool:
    """Return whether other programs use this machine, so that times say nothing."""
    return os.getloadavg()[0] > 2 * (os.cpu_count() or 1)


def _wait_for(lab: Lab, status: str, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while set(lab.statuses().values()) != {status}:
        assert time.monotonic() < deadline, f"expected {status}: {lab.statuses()}"
        time.sleep(1)


def _measure_cpu(lab: Lab, seconds: float) -> float:
    """Return the share of a core that all processes of the hosts use."""
    before = sum(host.machine.cpu_seconds() for host in lab.hosts)
    time.sleep(seconds)
    return (sum(host.machine.cpu_seconds() for host in lab.hosts) - before) / seconds


def _approval_to_call(events: Sequence[Mapping[str, Any]]) -> float:
    """Return the time between the last decision and the first call after it."""
    decided = [event for event in events if event["type"] == "decision_recorded"][-1]
    called = next(
        event for event in events if event["type"] == "attempt_started" and event["seq"] > decided["seq"]
    )
    times = [datetime.fromisoformat(event["time"]) for event in (decided, called)]
    return (times[1] - times[0]).total_seconds()


def _replace_alone(lab: Lab, name: str) -> None:
    """Start the worker again where there is no other one."""
    if len(lab.hosts) == 1:
        lab.host(name).start_worker()


def _measure(lab: Lab, hit: Work, limit: float) -> None:
    """Record the time from now until another agent works on the same task."""
    now = time.monotonic()
    found = lab.wait_for_agent(60, lambda work: work.task == hit.task and work.agent != hit.agent, now)
    seconds = found.first - now
    sentence = f"an agent worked on the task again after {seconds:.1f} s (goal {limit:.0f} s)"
    lab.figures.append(sentence)
    if seconds > limit + START_SECONDS and not is_busy():
        lab.failures.append(f"too slow: {sentence}")


def _expect_undisturbed(lab: Lab, hit: Work) -> None:
    """The agent that worked when the fault began has ended its work itself."""
    deadline = hit.first + lab.options.work_seconds + 30
    while time.monotonic() < deadline:
        mine = [work for work in lab.work() if work.agent == hit.agent]
        if mine[-1].last - mine[0].first >= lab.options.work_seconds - 0.5:
            return
        time.sleep(0.5)
    lab.failures.append(f"disturbed: the agent of {hit.task} on {hit.host} did not finish its work")


LONG = LabOptions(work_seconds=12)
ONE_EACH = LabOptions(jobs=1, work_seconds=2)  # every host gets a task
LOCAL = LabOptions(hosts=1, engine="local")
STAGES = {
    "answered": "attempt.ended:kill",
    "committing": "checkpoint.committed:kill",
    "checking": "gate.checked:kill",
    "pushed": "publish.pushed:kill",
    "published": "publish.created:kill",
}
AT_GATES = """\
[gates.phases]
implement = "human"
"""
LOCAL_FAULTS = {
    "local-nothing": Fault(nothing, LOCAL),
    "local-call": Fault(kill_in_call, LOCAL),
    **{f"local-{name}": Fault(end_at_failpoint, LOCAL, failpoint=point) for name, point in STAGES.items()},
}
FAULTS = {
    "nothing": Fault(nothing),
    "call": Fault(kill_in_call, LONG),
    **{name: Fault(end_at_failpoint, ONE_EACH, tasks=6, failpoint=point) for name, point in STAGES.items()},
    "power": Fault(power_off, LONG),
    "stop-worker": Fault(stop_worker, LabOptions(work_seconds=30)),
    "stop-host": Fault(stop_host, LabOptions(work_seconds=30)),
    "cut": Fault(cut_cable, LabOptions(work_seconds=30)),
    "cut-briefly": Fault(cut_cable_briefly, LONG),
    "postgres-hung": Fault(postgres_hung, LONG),
    "postgres-killed": Fault(postgres_killed, LONG),
    "temporal-killed": Fault(temporal_killed, LONG),
    "upgrade": Fault(upgrade, LabOptions(work_seconds=6), tasks=8),
    "storm": Fault(storm, LabOptions(hosts=8, work_seconds=0.5, jobs=2), tasks=200, seconds=600),
    "gates": Fault(many_at_gates, LabOptions(work_seconds=1, settings=AT_GATES)),
    **LOCAL_FAULTS,
}
