"""kill -9 anywhere between an event and its delivery: it is delivered, and identified by its id."""

from __future__ import annotations

import pytest

from receiver import Receiver, run_until
from world import World


def reported_by(world: World, receiver: Receiver) -> None:
    (world.root / "ostler.toml").write_text(f'[[notify]]\nurl = "{receiver.address}"\n')


@pytest.mark.sampled(1)
@pytest.mark.parametrize("place", ["outbox.write", "outbox.written"])
def test_no_kill_at_a_write_loses_it(world: World, place: str) -> None:
    """Killed at each write of the outbox in turn, until a run completes: delivered once, in the end."""
    with Receiver() as receiver:
        reported_by(world, receiver)
        task = world.new()
        for number in range(1, 12):
            order = f"{place}:kill:{number}"
            if world.ostler("run", "--all", code=None, OSTLER_FAILPOINT=order).returncode == 0:
                break
        else:
            raise AssertionError("no run completed")
        run_until(world, lambda: receiver.calls)
        assert {call.message["task"]["id"] for call in receiver.calls} == {task}
        assert len({call.id for call in receiver.calls}) == 1
    world.check_store()


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("place", "sent"), [("notify.try", 1), ("notify.delivered", 2)])
def test_a_try_that_was_cut_off_is_made_again(world: World, place: str, sent: int) -> None:
    """Before the request it is sent once; after it, and before that is recorded, again with its id."""
    with Receiver() as receiver:
        reported_by(world, receiver)
        world.new()
        while world.ostler("run", "--all", code=None, OSTLER_FAILPOINT=f"{place}:kill").returncode != -9:
            assert len(receiver.calls) < sent
        run_until(world, lambda: len(receiver.calls) >= sent)
        assert len({call.id for call in receiver.calls}) == 1
        world.ostler("run", "--all")
        assert len(receiver.calls) == sent
    world.check_store()
