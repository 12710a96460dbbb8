"""A project whose journal is in PostgreSQL, with the commands that its user types."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from servers.postgres import PostgresServer

from ostler.project.project import Project
from postgres_world import new_address
from world import STOP, World, end, wait_until

pytestmark = pytest.mark.one_machine("the test has its own server or tables")


def use_server(world: World, server: PostgresServer) -> str:
    """Set [store] of the project to a schema that does not exist; return its name."""
    schema = new_address(server).schema
    (world.root / "ostler.toml").write_text(f'[store]\nurl = "{server.url()}"\nschema = "{schema}"\n')
    return schema


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """A server that the test may kill."""
    server = PostgresServer().start()
    yield server
    server.close()


@pytest.mark.full
def test_a_project_begins_on_a_server(world: World, postgres_server: PostgresServer) -> None:
    """Only `init` or `new` creates it; then every command works, and the state directory has no journal."""
    schema = use_server(world, postgres_server)
    refused = world.ostler("status", code=2)
    assert f"no Ostler project in the schema {schema}" in refused.stderr
    assert "created the project" in world.ostler("init").stderr
    task = world.new("Add a greeting")
    assert [one["status"] for one in world.json("status")["tasks"]] == ["pending"]
    world.ostler("run", task)
    assert world.show(task)["status"] == "completed"
    assert {"task_created", "attempt_ended", "task_completed"} <= {one["type"] for one in world.events()}
    assert "succeeded" in world.ostler("log", task).stdout
    assert world.json("cost")["total"]["attempts"] == 1
    assert "pg_dump" in world.ostler("journal", "backup", code=2).stderr
    assert not (world.root / ".git/ostler/ostler.db").exists()
    (rows,) = postgres_server.execute(f"SELECT count(*) FROM {schema}.task")
    assert rows == (1,)


@pytest.mark.full
def test_settings_and_doctor_read_what_is_on_a_server(world: World, postgres_server: PostgresServer) -> None:
    """A looser protection names the tasks that do not use it, and used-up retries are reported."""
    use_server(world, postgres_server)
    world.ostler("config", "set", "gates.commands.implement", "true")
    world.ostler("config", "set", "retry.budget_per_hour", "1")
    world.new()
    reset = world.ostler("config", "reset", "gates.commands.implement")
    assert "Not accepted for 1 open task.  Next: ostler config accept" in reset.stderr
    with Project.open(world.root, world.environ) as project, closing(project.store.open_ledger()) as ledger:
        assert ledger.take_retry(time.time(), 1)
    assert "Failures are not retried" in world.ostler("doctor", code=None).stdout
    unreachable = world.ostler("config", "set", "store.url", "postgresql://ostler@127.0.0.1:1/none")
    assert "Whether open tasks use it is not known: the database" in unreachable.stderr


def test_an_agent_without_the_address_of_the_server(world: World, postgres_server: PostgresServer) -> None:
    """It gets one sentence that is true for it, and what it writes into its state file counts."""
    schema = new_address(postgres_server).schema
    server = {"OSTLER_STORE__URL": postgres_server.url(), "OSTLER_STORE__SCHEMA": schema}
    report = f"{sys.executable} -m ostler report --status paused 2> said.txt"
    world.behave(script=f'{report}; sed -i "s/^status:.*/status: paused/" "$OSTLER_STATE"')
    task = world.ostler("new", "Ask", **server).stdout.strip()
    world.ostler("run", task, code=4, **server)
    assert world.json("show", task, **server)["status"] == "paused"
    said = next(world.root.parent.rglob("said.txt")).read_text()
    assert f"this process runs inside task {task} and cannot open the journal of the project" in said
    assert "set status: and reason: in the file that OSTLER_STATE names" in said
    assert "rebuild" not in said


def test_one_machine_runs_the_tasks(world: World, postgres_server: PostgresServer) -> None:
    """Another clone, as on another machine, sees the tasks, but runs them only when it takes over."""
    use_server(world, postgres_server)
    world.ostler("init")
    world.ostler("run", world.new("First"))
    other = World(world.root.parent, "other", git=False)
    try:
        world.git("clone", "-q", ".", str(other.root))
        (other.root / "ostler.toml").write_text((world.root / "ostler.toml").read_text())
        second = other.new("Second")
        assert len(world.json("status")["tasks"]) == 2
        refused = other.ostler("run", second, code=2)
        assert "the tasks of this project run on" in refused.stderr
        assert "ostler store take-over" in refused.stderr
        assert other.show(second)["status"] == "pending"
        assert other.json("store", "take-over")["before"]
        other.ostler("run", second)
        assert world.show(second)["status"] == "completed"
        world.ostler("run", "--all", code=2)
    finally:
        other.close()


@pytest.mark.full
def test_a_project_moves_to_a_server(world: World, postgres_server: PostgresServer) -> None:
    """`store copy` brings its tasks along, once; nothing can be added to the file in the meantime."""
    first = world.new("First")
    world.ostler("run", first)
    world.new("Second")
    events = world.events()
    assert "names no server" in world.ostler("store", "copy", code=2).stderr
    use_server(world, postgres_server)
    assert "ostler store copy" in world.ostler("new", "Third", code=2).stderr
    done = world.json("store", "copy")
    assert (done["tasks"], done["lines"], done["was_complete"]) == (2, len(events), False)
    assert Path(done["kept"]).name == "ostler.db.copied"
    assert world.events() == events
    assert world.json("status")["tasks"][0]["status"] in ("pending", "completed")
    world.ostler("run", "--all")
    assert {one["status"] for one in world.json("status")["tasks"]} == {"completed"}
    assert "there is no journal to copy" in world.ostler("store", "copy", code=2).stderr
    (world.root / "ostler.toml").write_text("")
    for command in (["status"], ["new", "Third"], ["journal", "rebuild"]):
        refused = world.ostler(*command, code=3).stderr
        assert "were copied to a server, which store.url does not name" in refused


def test_a_copy_counts_what_other_machines_cannot_continue(
    world: World, postgres_server: PostgresServer
) -> None:
    """The commits of a task that has begun are on this machine only."""
    (world.root / "ostler.toml").write_text('[gates]\ndefault = "human"\n')
    world.ostler("run", world.new("First"), code=4)
    world.new("Second")
    use_server(world, postgres_server)
    blobs = (world.root.parent / "blobs").as_uri()
    done = world.ostler("store", "copy", OSTLER_ENGINE__KIND="temporal", OSTLER_BLOBS__URL=blobs)
    assert "1 task has begun, with commits on this machine only" in done.stderr


@pytest.mark.full
def test_a_copy_waits_for_no_run(world: World, postgres_server: PostgresServer) -> None:
    """It is refused while a worker has the journal open, also an idle one."""
    task = world.new("First")
    worker = world.start("worker")
    wait_until(lambda: world.show(task)["status"] == "completed", 30, "the task is not done")
    use_server(world, postgres_server)
    refused = world.ostler("store", "copy", code=3)
    assert "cannot be copied while another process uses it" in refused.stderr
    end(worker, STOP)
    assert world.json("store", "copy")["tasks"] == 1


@pytest.mark.full
def test_a_run_waits_for_its_server(world: World, own_server: PostgresServer) -> None:
    """A server that hangs and then crashes during a run costs time; every record is there once."""
    use_server(world, own_server)
    world.behave(delay_seconds=1.0)
    world.ostler("init")
    tasks = [world.new(f"Task {number}") for number in range(4)]
    run = world.start("run", "--all", "--jobs", "2")
    wait_until(lambda: "attempt_started" in {one["type"] for one in world.events()}, 30, "no attempt")
    own_server.program.freeze()
    time.sleep(7)
    own_server.program.thaw()
    time.sleep(1)
    own_server.program.kill()
    time.sleep(7)
    own_server.program.start()
    assert run.wait(90) == 0
    printed = (world.ledger.parent / "err.txt").read_text()
    assert "it does not answer" in printed
    assert "the wait is over" in printed
    for task in tasks:
        shown = world.show(task)
        assert (shown["status"], len(shown["attempts"])) == ("completed", 1)
        types = [one["type"] for one in world.events(task)]
        assert types.count("task_completed") == types.count("attempt_ended") == 1


def test_a_machine_that_ran_nothing_yet(world: World, postgres_server: PostgresServer) -> None:
    """A new clone has no state directory; its commands create what they need."""
    use_server(world, postgres_server)
    task = world.new("First")
    other = World(world.root.parent, "other", git=False)
    try:
        world.git("clone", "-q", ".", str(other.root))
        (other.root / "ostler.toml").write_text((world.root / "ostler.toml").read_text())
        other.ostler("rm", task)
        assert world.json("status")["tasks"] == []
    finally:
        other.close()


@pytest.mark.full
def test_a_running_task_on_another_machine(world: World, postgres_server: PostgresServer) -> None:
    """Another machine does not say that its run died, and can end its attempt; after a take-over it does."""
    use_server(world, postgres_server)
    task = world.new("First")
    other = World(world.root.parent, "other", git=False)
    try:
        world.git("clone", "-q", ".", str(other.root))
        (other.root / "ostler.toml").write_text((world.root / "ostler.toml").read_text())
        world.behave(delay_seconds=60)
        run = world.start("run", task)
        wait_until(lambda: bool(world.started()), 30, "no agent started")
        assert other.show(task)["status"] == "in_progress"
        assert "is being killed" in other.ostler("kill", task).stderr
        run.kill()
        run.wait()
        wait_until(lambda: world.show(task)["status"] == "pending", 30, "the agent lives")
        assert other.show(task)["status"] == "in_progress", "it cannot see that"
        other.ostler("store", "take-over")
        assert other.show(task)["code"] == "INTERRUPTED"
    finally:
        other.close()
