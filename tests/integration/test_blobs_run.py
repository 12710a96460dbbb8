"""A run with [blobs]: what its records refer to is in the store, and nothing else."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from blob_world import KINDS_ON_DISK, read_settings
from ostler.blobs.blobs import Blobs
from ostler.blobs.names import scan
from ostler.blobs.opening import open_url
from ostler.project.project import Project
from ostler.project.running.mirroring import mirror_writer
from world import World


@pytest.fixture(params=KINDS_ON_DISK)
def blobs(request: pytest.FixtureRequest, world: World, tmp_path: Path) -> Blobs:
    """The store that the runs of this world use."""
    settings, account = read_settings(request.param, request, tmp_path)
    world.environ |= account | {
        "OSTLER_BLOBS__URL": settings.url,
        "OSTLER_BLOBS__ENDPOINT": settings.endpoint,
    }
    found = open_url(settings, account)
    found.put("first", b"")
    return found


def find_folder(world: World, task: str) -> Path:
    return (world.root / ".ostler/tasks" / task).resolve()


def test_a_run_uploads_what_its_records_refer_to(world: World, blobs: Blobs) -> None:
    """Prompts, transcripts, answers and gate logs are whole blobs with the content of the files."""
    task = world.new()
    world.ostler("run", task, OSTLER_GATES__COMMANDS='{"implement": "ls"}')
    files = dict(scan(find_folder(world, task)))
    listed = {blob.name.partition("/files/")[2]: blob for blob in blobs.list() if "/files/" in blob.name}
    assert listed.keys() == files.keys()
    names = {"gates/implement-1.log", "transcripts/implement-001.answer.md", "prompts/implement-001.md"}
    assert names <= files.keys()
    for name, blob in listed.items():
        assert blobs.read(blob.name) == (find_folder(world, task) / name).read_bytes(), name
        assert blob.parts == 0
    for attempt in world.show(task)["attempts"]:
        assert attempt["transcript"] in listed
    assert not [*(find_folder(world, task).parents[1] / "not-uploaded").iterdir()]


def test_a_secret_in_the_output_is_not_uploaded(world: World, blobs: Blobs) -> None:
    """The files are redacted when they are written, so no blob has the value."""
    secret = "canary-0b7f3e91d2a4"
    task = world.new(f"Print {secret}")
    gate = json.dumps({"implement": f"echo {secret}; false"})
    world.ostler("run", task, CANARY_TOKEN=secret, OSTLER_GATES__COMMANDS=gate, code=None)
    names = [blob.name for blob in blobs.list()]
    assert len(names) > 5
    assert not [name for name in names if secret.encode() in (blobs.read(name) or b"")]


def test_a_store_that_refuses_stops_the_run_before_its_tasks(world: World, tmp_path: Path) -> None:
    """A wrong setting would fail in the same way later: one sentence, and the task is as it was."""
    place = tmp_path / "file"
    place.write_text("")
    task = world.new()
    done = world.ostler("run", task, OSTLER_BLOBS__URL=f"file://{place}", code=None)
    assert (
        done.returncode == 2
        and f"cannot write {place}" in done.stderr
        and world.show(task)["status"] == "pending"
    )


def test_without_blobs_nothing_is_imported_or_written(world: World) -> None:
    """A run loads neither the package nor our part of it, and leaves no file for it."""
    task = world.new()
    code = (
        "import sys; sys.argv = ['ostler', 'run', sys.argv[1]]\n"
        "import ostler.__main__ as program\n"
        "assert program.run_program() == 0\n"
        "loaded = [name for name in sys.modules if name.startswith(('obstore', 'ostler.blobs'))]\n"
        "assert not loaded, loaded"
    )
    subprocess.run([sys.executable, "-c", code, task], cwd=world.root, env=world.environ, check=True)
    assert world.show(task)["status"] == "completed"
    assert not (find_folder(world, task).parents[1] / "not-uploaded").exists()


def test_without_blobs_a_run_writes_as_before(world: World) -> None:
    """The writer of the run is the one of the journal, so that no record costs more."""
    world.ostler("init")
    with Project.open(world.root, {}) as project:
        writer = project.store.open_writer()
        assert mirror_writer(project, writer) is writer
        asyncio.run(writer.close())
