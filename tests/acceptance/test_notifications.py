"""[[notify]]: a command or a webhook is called once per event, and no run waits for it."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

from receiver import SECRET, Receiver, run_until
from world import STOP, World, end, wait_until

RECORD = "import json, sys; print(json.dumps([sys.argv[2:], sys.stdin.read()]), file=open(sys.argv[1], 'a'))"


def reported_by_webhook(world: World, receiver: Receiver, more: str = "") -> None:
    entry = f'[[notify]]\nurl = "{receiver.address}/hook"\nsecret_env = "HOOK_KEY"\n{more}\n'
    settings = world.root / "ostler.toml"
    settings.write_text((settings.read_text() if settings.exists() else "") + entry)
    world.environ["HOOK_KEY"] = SECRET


def reported_by_command(world: World, *args: str, more: str = "") -> Path:
    """Return the path to which the called program writes its arguments and its input."""
    out = world.root.parent / "told.txt"
    command = [sys.executable, "-c", RECORD, str(out), *args]
    (world.root / "ostler.toml").write_text(f"{more}\n[[notify]]\ncommand = {json.dumps(command)}\n")
    return out


def printed(out: Path) -> list[tuple[list[str], dict[str, object]]]:
    lines = out.read_text().splitlines() if out.exists() else []
    return [(args, json.loads(text)) for args, text in map(json.loads, lines)]


def outbox(world: World) -> list[tuple[object, ...]]:
    return world.query("SELECT due_at, tries, message FROM outbox")


@pytest.mark.full
def test_a_receiver_that_fails_twice_gets_it_in_the_end(world: World) -> None:
    """Three tries with one id, one body and a valid signature; then no more."""
    with Receiver(refuses=2) as receiver:
        reported_by_webhook(world, receiver)
        task = world.new("Add a greeting")
        run_until(world, lambda: not outbox(world))
        sent = len(receiver.calls)
        assert sent >= 3
        assert len({call.id for call in receiver.calls}) == 1
        assert len({call.body for call in receiver.calls}) == 1
        for call in receiver.calls:
            call.check_signature()
        message = receiver.calls[0].message
        assert message["schema"] == "ostler.notification/1"
        assert message["id"] == receiver.calls[0].id
        assert (message["on"], message["project"], message["reason"]) == ("completed", "project", "")
        assert (message["task"]["id"], message["task"]["status"]) == (task, "completed")
        assert "attempts" not in message["task"]
        assert message["next"] == f"ostler diff {task}"
        world.ostler("run", "--all")
        assert len(receiver.calls) == sent


@pytest.mark.full
@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("behaviour", "settings", "on", "command", "code"),
    [
        ({}, '[gates.phases]\nimplement = "human"', "needs_you", "ostler approve {task}", 4),
        ({"plan": [{"fault": "api_error", "error": 429}]}, "", "limited", "ostler run {task}", 5),
        ({"plan": [{"fault": "api_error", "error": 401}]}, "", "needs_you", "ostler run {task}", 4),
        ({"fault": "crash"}, "", "failed", "ostler retry {task}", 1),
    ],
)
def test_each_wait_and_end_is_reported_once(
    world: World, behaviour: dict[str, object], settings: str, on: str, command: str, code: int
) -> None:
    """A command gets the message on its stdin and its fields as arguments; the advice is that of `show`."""
    world.environ["OSTLER_RETRY__MAX_RETRIES"] = "0"
    world.behave(**behaviour)
    out = reported_by_command(world, "{title}", "{on}: {next}", "{unknown}", more=settings)
    task = world.new("Say 'hi'; $(touch x)")
    run_until(world, lambda: not outbox(world), code)
    world.ostler("run", "--all", code=None)
    ((args, message),) = printed(out)
    assert message["on"] == on
    step = world.ostler("show", task).stdout.partition("Next: ")[2].strip()
    assert command.format(task=task) in step and message["next"] == step
    assert args == ["Say 'hi'; $(touch x)", f"{on}: {' '.join(step.split())}", "{unknown}"]
    assert isinstance(message["task"], dict) and message["task"]["id"] == task


def test_only_what_was_asked_for_is_reported(world: World) -> None:
    """An entry gets its own events, and none from before it was configured."""
    world.new("Before")
    world.ostler("run", "--all")
    with Receiver() as everything, Receiver() as failures:
        reported_by_webhook(world, everything)
        reported_by_webhook(world, failures, 'on = ["failed"]')
        task = world.new("After")
        run_until(world, lambda: not outbox(world))
        assert [call.message["task"]["id"] for call in everything.calls] == [task]
        assert failures.calls == []


def test_a_person_who_pauses_gets_no_notification(world: World) -> None:
    """The person decided it; the run that stops for it sends nothing."""
    world.behave(delay_seconds=60)
    out = reported_by_command(world)
    task = world.new()
    run = world.start("run", "--all")
    wait_until(world.started, 30, "the agent did not start")
    world.ostler("pause", task)
    assert run.wait(60) == 4
    assert world.show(task)["status"] == "paused"
    assert printed(out) == []


@pytest.mark.full
def test_a_target_that_hangs_delays_no_task(world: World) -> None:
    """The task is as fast, the run ends after its grace period, no process is left, the next run retries."""
    with Receiver(silent=True) as receiver:
        sleeps = '[[notify]]\ncommand = ["sleep", "600"]\ntimeout_seconds = 60'
        reported_by_webhook(world, receiver, f"timeout_seconds = 60\n{sleeps}")
        for name in ("First", "Second"):
            world.new(name)
        began = time.monotonic()
        done = world.ostler("run", "--all", "-j", "1")
        assert time.monotonic() - began < 50
        times = [event["time"] for event in world.events() if event["type"] == "task_completed"]
        assert len(times) == 2
        ends = [time.mktime(time.strptime(at[:19], "%Y-%m-%dT%H:%M:%S")) for at in times]
        assert ends[1] - ends[0] < 30, "the second task waited for a receiver"
        assert "4 notifications are not delivered yet" in done.stderr
        assert "the next run tries again" in done.stderr
        assert world.survivors() == []
        assert sorted(tries for _, tries, _ in outbox(world)) == [0, 0, 1, 1]


def test_a_key_in_a_message_is_not_shown(world: World) -> None:
    """A text that matches a secret is replaced by its kind, here and in the outbox."""
    key = "ghp_" + "a1B2" * 9
    with Receiver() as receiver:
        reported_by_webhook(world, receiver)
        world.new(f"Use {key}")
        run_until(world, lambda: not outbox(world))
        (call,) = receiver.calls
        assert key.encode() not in call.body
        assert "[redacted:github-token]" in call.message["task"]["title"]


@pytest.mark.full
def test_two_runs_at_once_report_it_once(world: World) -> None:
    """Each event is sent once, by either of the runs."""
    world.behave(delay_seconds=1.0)
    with Receiver() as receiver:
        reported_by_webhook(world, receiver)
        tasks = [world.new(name) for name in ("First", "Second")]
        runs = [world.start("run", task) for task in tasks]
        assert [run.wait(60) for run in runs] == [0, 0]
        run_until(world, lambda: not outbox(world))
        assert sorted(call.message["task"]["id"] for call in receiver.calls) == sorted(tasks)


@pytest.mark.full
def test_a_worker_with_nothing_to_do_delivers_what_is_left(world: World) -> None:
    """It begins at its start, without a task to run."""
    with Receiver() as receiver:
        reported_by_webhook(world, receiver)
        world.new()
        world.ostler("run", "--all", code=-9, OSTLER_FAILPOINT="notify.try:kill")
        assert receiver.calls == []
        worker = world.start("worker")
        wait_until(lambda: receiver.calls, 100, "the worker delivers nothing")
        end(worker, STOP)
        assert receiver.reported() == ["completed"]


def test_a_key_that_is_not_set_sends_nothing(world: World) -> None:
    """An unsigned message is not sent; the run and doctor report it."""
    with Receiver() as receiver:
        reported_by_webhook(world, receiver)
        del world.environ["HOOK_KEY"]
        world.new()
        done = world.ostler("run", "--all")
        assert receiver.calls == []
        assert "HOOK_KEY is not set, so the message cannot be signed" in done.stderr + world.read_worker()
        checks = world.json("doctor", code=None)["checks"]
        (check,) = [one for one in checks if one["name"].startswith("notify")]
        assert (check["ok"], check["fix"]) == (False, "export HOOK_KEY=...")
