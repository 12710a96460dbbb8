"""What must be true of a cluster after any fault, once all its tasks had the time to end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from cluster.evidence import Evidence, find_overlaps

ENDS = ("task_completed", "task_failed", "task_cancelled")
# A beat of an agent is up to 0.1 s old, and a busy machine delays the kill.
TOLERANCE_SECONDS = 1.0
MAX_EVENTS, MAX_BYTES = 24, 4096
BRANCHES = "refs/heads/ostler/"


def check(seen: Evidence, heartbeat: float) -> list[str]:
    """Return each violation as a sentence that begins with the name of its rule."""
    return [
        f"{rule.__name__}: {sentence}"
        for rule in RULES
        for sentence in rule(seen, heartbeat)
    ]  # fmt: skip


def measure(seen: Evidence) -> Iterator[str]:
    """Return in figures what the rules have looked at."""
    kinds = Counter(event["type"] for event in seen.events)
    ends = sum(kinds[kind] for kind in ENDS)
    claims, calls = kinds["task_claimed"], kinds["attempt_started"]
    requests, overlap = len(seen.pull_requests), max(find_overlaps(seen.work).values(), default=0.0)
    yield f"{len(seen.tasks)} tasks, {ends} ends, {claims} claims, {calls} calls, {requests} pull requests"
    yield f"two agents worked on one task for at most {overlap:.1f} s"
    if seen.workflows:
        events, size = (max(getattr(one, name) for one in seen.workflows) for name in ("events", "size"))
        yield f"{len(seen.workflows)} histories of at most {events} events and {size} bytes"


def lost(seen: Evidence, _: float) -> Iterator[str]:
    """Every task is there and has completed, and nobody made another one."""
    for task in seen.tasks:
        status = seen.shown.get(task, {}).get("status", "not listed")
        if status != "completed":
            yield f"{task} is {status}: {seen.shown.get(task, {}).get('message', '')}"
    for task in seen.shown.keys() - set(seen.tasks):
        yield f"nobody created {task}"


def finished_twice(seen: Evidence, _: float) -> Iterator[str]:
    """A task ends once."""
    ends = Counter(event["task_id"] for event in seen.events if event["type"] in ENDS)
    for task, count in ends.items():
        if count > 1:
            yield f"{task} ended {count} times"


def double_effects(seen: Evidence, _: float) -> Iterator[str]:
    """A task is published once: one pull request, one push of its branch, of the recorded commit."""
    requests = Counter(branch for branch, _ in seen.pull_requests)
    updated = [update.ref for update in seen.ref_updates]
    pushes = Counter(ref.removeprefix(BRANCHES) for ref in updated if ref.startswith(BRANCHES))
    for task, shown in seen.shown.items():
        recorded = shown.get("commit")
        if requests[f"ostler/{task}"] != 1:
            yield f"{task} has {requests[f'ostler/{task}']} pull requests"
        if pushes[task] != 1:
            yield f"the branch of {task} was pushed {pushes[task]} times"
        for branch, commit in seen.pull_requests:
            if branch == f"ostler/{task}" and commit != recorded:
                yield f"{task}: {commit} is published, {recorded} is recorded"


def missing_work(seen: Evidence, _: float) -> Iterator[str]:
    """The final branch has the commit and the file of every phase."""
    for event in seen.events:
        if event["type"] == "phase_completed" and event.get("commit"):
            task = event["task_id"]
            if event["commit"] not in seen.history.get(task, ()):
                yield f"{task}: the commit of its phase {event['phase']} is not in the final branch"
    for task, shown in seen.shown.items():
        for phase in shown.get("phases", ()):
            if f"{phase['id']}.txt" not in seen.files.get(task, {}):
                yield f"{task}: the file of its phase {phase['id']} is not in the final branch"


def two_agents(seen: Evidence, heartbeat: float) -> Iterator[str]:
    """Two agents never work on one task for longer than a heartbeat."""
    for task, seconds in find_overlaps(seen.work).items():
        if seconds > heartbeat + TOLERANCE_SECONDS:
            yield f"two agents worked on {task} for {seconds:.1f} s"


def zombie_records(seen: Evidence, _: float) -> Iterator[str]:
    """After a claim, nothing is recorded of an older attempt, except that it was interrupted.

    A host that claims its own task again records the answer that it has kept: it is paid once, and the
    attempt has ended before that claim.
    """
    began: dict[tuple[str, int], int] = {}  # task, attempt -> number of the claim
    claims: dict[str, list[Mapping[str, Any]]] = {}
    for event in seen.events:
        task = event["task_id"]
        mine = claims.setdefault(task, [])
        match event["type"]:
            case "task_claimed":
                mine.append(event)
            case "attempt_started":
                began[task, event["number"]] = len(mine)
            case "attempt_ended" if event["status"] == "succeeded":
                number = began.get((task, event["number"]), len(mine))
                if number != len(mine) and not _is_kept(event, mine[number - 1 :]):
                    yield f"{task}: attempt {event['number']} succeeded after the next claim"
            case _:
                pass


def _is_kept(ended: Mapping[str, Any], claims: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether one host made all of these claims, and the attempt had ended before the last of them."""
    return len({claim["host"] for claim in claims}) == 1 and ended["time"] < claims[-1]["time"]


def missed_positions(seen: Evidence, _: float) -> Iterator[str]:
    """A reader that follows the feed sees every number, in order and once."""
    if list(seen.followed) != sorted(set(seen.followed)):
        yield "a reader saw numbers out of order"
    if missed := {event["seq"] for event in seen.events} - set(seen.followed):
        yield f"a reader missed {len(missed)} of {len(seen.events)} events, such as {min(missed)}"


def large_histories(seen: Evidence, _: float) -> Iterator[str]:
    """The history of one run of a task is short, whatever failed, and has no text in it."""
    for workflow in seen.workflows:
        if workflow.texts:
            yield f"the history of {workflow.id} contains {', '.join(workflow.texts)}"
        if workflow.events > MAX_EVENTS or workflow.size > MAX_BYTES:
            yield f"the history of {workflow.id} has {workflow.events} events and {workflow.size} bytes"


def left_processes(seen: Evidence, _: float) -> Iterator[str]:
    """A drained host runs nothing."""
    for host, processes in seen.left.items():
        if processes:
            yield f"{host} still runs {', '.join(processes)}"


def tracebacks(seen: Evidence, _: float) -> Iterator[str]:
    """No worker prints a traceback."""
    for host, text in seen.errors.items():
        if text:
            yield f"{host} printed {text}"


RULES: tuple[Callable[[Evidence, float], Iterator[str]], ...] = (
    lost,
    finished_twice,
    double_effects,
    missing_work,
    two_agents,
    zombie_records,
    missed_positions,
    large_histories,
    left_processes,
    tracebacks,
)
