"""A dashboard server of its own process, and requests to it."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from ostler.project.project import Project
from ostler.web.address import listen
from ostler.web.server import WebServer


class Requests:
    """Sends requests over one connection."""

    def __init__(self, port: int, token: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._headers = {"Authorization": f"Bearer {token}"}

    def get(self, path: str) -> bytes:
        try:
            answer = self._send(path)
        except (http.client.RemoteDisconnected, ConnectionError):  # the server ends idle connections
            self._connection.close()
            answer = self._send(path)
        body = answer.read()
        assert answer.status == 200, f"{path}: {answer.status} {body[:300]!r}"
        return body

    def close(self) -> None:
        self._connection.close()

    def _send(self, path: str) -> http.client.HTTPResponse:
        self._connection.request("GET", f"/api/v1{path}", headers=self._headers)
        return self._connection.getresponse()


@contextmanager
def serve(root: Path, environ: dict[str, str]) -> Generator[Requests]:
    """A server of the project that runs no task, until the end of the block."""
    argv = [sys.executable, "-m", "growth.server", str(root)]
    with subprocess.Popen(argv, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None and server.stdin is not None
        port, token = json.loads(server.stdout.readline())
        requests = Requests(port, token)
        try:
            yield requests
        finally:
            requests.close()
            server.stdin.close()


def main() -> None:
    with Project.open(Path(sys.argv[1]), os.environ) as project:
        web = WebServer(project, listen("127.0.0.1", 0), os.environ, runs_tasks=False)
        print(json.dumps([int(web.site.address.rpartition(":")[2]), web.site.keys.token]), flush=True)
        sys.stdin.read()
        web.close()


if __name__ == "__main__":
    main()
