"""A project whose tests need packages and a database: its gate runs in the sandbox."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from msgspec.structs import replace

from gate_world import GateWorld
from ostler.config.settings import Settings
from ostler.model.policy.sandbox import Network
from ostler.sandbox.bubblewrap import find_bubblewrap
from wheels import make_npm_archive, make_wheel

pytestmark = pytest.mark.skipif(not find_bubblewrap(os.environ), reason="bubblewrap is not installed")
Files = Mapping[str, tuple[str, bytes]]


@contextmanager
def serve(files: Files) -> Generator[int]:
    """Serve files by path, each with its type."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            kind, body = files.get(self.path, ("text/plain", b""))
            self.send_response(200 if self.path in files else 404)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def inside(*hosts: str, network: Network = "proxy") -> Settings:
    settings = GateWorld.settings(tier="bubblewrap")
    return replace(settings, sandbox=replace(settings.sandbox, network=network, allow_hosts=hosts))


@pytest.mark.usefixtures("no_package_tools")
def test_a_local_service_is_reached_when_it_is_allowed(tmp_path: Path) -> None:
    """At its usual address; without the setting the connection fails."""
    world = GateWorld(tmp_path)
    with serve({"/": ("text/plain", b"of the service")}) as port:
        fetch = (
            f"python3 -c \"import urllib.request as u; print(u.urlopen('http://127.0.0.1:{port}/').read())\""
        )
        allowed = world.command(fetch, inside(f"localhost:{port}"))
        assert allowed.verdict == "pass" and "of the service" in world.output(allowed), world.output(allowed)
        assert world.command(fetch, inside(network="off")).verdict == "fail"


def python_index(folder: Path) -> dict[str, tuple[str, bytes]]:
    wheel = make_wheel(folder / "wheels", "thing", "VALUE = 42")
    page = f'<a href="/files/{wheel.name}">{wheel.name}</a>'.encode()
    return {
        "/simple/thing/": ("text/html", page),
        f"/files/{wheel.name}": ("application/zip", wheel.read_bytes()),
    }


def npm_registry(folder: Path, port: int) -> dict[str, tuple[str, bytes]]:
    archive = folder / "stuff-1.0.0.tgz"
    make_npm_archive(archive, "stuff", "module.exports = 43")
    data = archive.read_bytes()
    integrity = f"sha512-{base64.b64encode(hashlib.sha512(data).digest()).decode()}"
    address = f"http://127.0.0.1:{port}/stuff/-/stuff-1.0.0.tgz"
    version = {"name": "stuff", "version": "1.0.0", "dist": {"tarball": address, "integrity": integrity}}
    document = {"name": "stuff", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}
    return {
        "/stuff": ("application/json", json.dumps(document).encode()),
        "/stuff/-/stuff-1.0.0.tgz": ("application/gzip", data),
    }


@pytest.fixture
def database() -> Iterator[int]:
    """The port of a real Postgres."""
    if shutil.which("initdb") is None and not Path("/usr/lib/postgresql").is_dir():
        pytest.skip("Postgres is not installed")
    programs = next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), Path("/usr/bin"))
    place = Path(tempfile.mkdtemp(prefix="ostler-postgres-"))
    own: list[str] = []
    if os.geteuid() == 0:
        shutil.chown(place, "postgres", "postgres")
        own = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={place} -c fsync=off"
    pg_ctl = [*own, str(programs / "pg_ctl"), "-D", str(place / "data")]
    run([*own, str(programs / "initdb"), "-D", str(place / "data"), "-A", "trust", "-U", "me"], place)
    run([*pg_ctl, "-w", "-l", str(place / "log"), "-o", options, "start"], place)
    try:
        yield port
    finally:
        run([*pg_ctl, "-m", "immediate", "stop"], place)
        shutil.rmtree(place)


def run(argv: list[str], cwd: Path) -> None:
    done = subprocess.run(argv, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.full
def test_a_project_that_needs_pip_npm_and_postgres(tmp_path: Path, database: int) -> None:
    """The indexes are those that pip and npm use outside; the database is named by a setting."""
    files: dict[str, tuple[str, bytes]] = python_index(tmp_path)
    with serve(files) as port:
        files.update(npm_registry(tmp_path, port))
        (Path.home() / ".config/pip").mkdir(parents=True)
        index = f"[global]\nindex-url = http://127.0.0.1:{port}/simple/\n"
        (Path.home() / ".config/pip/pip.conf").write_text(index)
        (Path.home() / ".npmrc").write_text(f"registry=http://127.0.0.1:{port}/\n")
        world = GateWorld(tmp_path, {"package.json": '{"name": "app", "version": "1.0.0"}'})
        command = " && ".join(
            (
                "python3 -m venv .v",
                ".v/bin/pip install -q --disable-pip-version-check thing",
                ".v/bin/python -c 'import thing; print(thing.VALUE)'",
                "npm install --silent --no-audit --no-fund stuff",
                "node -p 'require(\"stuff\")'",
                f"psql -h 127.0.0.1 -p {database} -U me -d postgres -Atc 'select 44'",
            )
        )
        event = world.command(command, inside(f"localhost:{database}"))
    assert event.verdict == "pass", world.output(event)
    assert world.output(event).split() == ["42", "43", "44"] and event.warnings == ()
