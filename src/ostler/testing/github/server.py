"""A GitHub on 127.0.0.1 that the real `gh` reaches through HTTP_PROXY."""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from ostler.testing.github.faults import FAULTS, Fault
from ostler.testing.github.graph import mutation_root, query_root
from ostler.testing.github.hub import Hub, Issue, Pull, Refused
from ostler.testing.github.query import read_query
from ostler.testing.llm.connection import Connection
from ostler.testing.loopback import Loopback

HOST = "github.localhost"
_PULL_PATH = re.compile(r"/pulls/(\d+)$")
_OPERATION = re.compile(r"\b(query|mutation)\b\s*(\w*)")
_RATES = {"X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": "4999"}


class ReceivedRequest(Struct, frozen=True):
    """One request."""

    method: str
    path: str
    operation: str  # the GraphQL operation, such as PullRequestCreate
    query: str = ""
    variables: dict[str, Any] = {}
    token: str = ""


class _Body(Struct):
    query: str = ""
    variables: dict[str, Any] | None = None


class FakeGitHub(Loopback):
    """Serves one repository while it is open: `with FakeGitHub("acme/app", bare) as github: github.pulls`."""

    def __init__(
        self,
        repository: str = "acme/app",
        bare: Path | None = None,
        token: str = "x",  # noqa: S107
        port: int = 0,
        on_request: Callable[[ReceivedRequest], None] | None = None,
        host: str = "127.0.0.1",
    ) -> None:
        super().__init__(partial(_Handler, self), port, host)
        self.hub = Hub(repository, f"http://{HOST}", bare)
        self.token = token
        self._faults: dict[str, deque[Fault]] = {}
        self._requests: list[ReceivedRequest] = []
        self._lock = threading.Lock()
        self._on_request = on_request

    @property
    def pulls(self) -> tuple[Pull, ...]:
        """Every pull request, oldest first."""
        return self.hub.pulls

    @property
    def issues(self) -> tuple[Issue, ...]:
        """Every issue, oldest first."""
        return self.hub.issues

    @property
    def requests(self) -> tuple[ReceivedRequest, ...]:
        """Every request, in order."""
        with self._lock:
            return tuple(self._requests)

    @property
    def url(self) -> str:
        """The URL of the repository for a git remote."""
        return f"{self.hub.url}.git"

    def environment(self, folder: Path) -> dict[str, str]:
        """Return the environment that directs gh to this server, with its files below a directory."""
        for name in ("tmp", "cache", "config"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        return {
            "GH_HOST": HOST,
            "GH_TOKEN": self.token,
            "HTTP_PROXY": self.address,
            "NO_PROXY": "",
            "TMPDIR": str(folder / "tmp"),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "GH_CONFIG_DIR": str(folder / "config"),
        }

    def fail(self, operation: str, fault: str | Fault, times: int = 1) -> None:
        """Make the next requests of an operation fail; "" means every operation."""
        found = FAULTS[fault] if isinstance(fault, str) else fault
        with self._lock:
            self._faults.setdefault(operation, deque()).extend([found] * times)

    def clear(self) -> None:
        """Remove all faults."""
        with self._lock:
            self._faults.clear()

    def take_fault(self, operation: str) -> Fault | None:
        with self._lock:
            waiting = self._faults.get(operation) or self._faults.get("")
            return waiting.popleft() if waiting else None

    def record(self, request: ReceivedRequest) -> None:
        with self._lock:
            self._requests.append(request)
        if self._on_request is not None:
            self._on_request(request)


class _Handler(Connection):
    def __init__(self, github: FakeGitHub, *connection: Any) -> None:
        self._github = github
        super().__init__(*connection)

    def do_GET(self) -> None:
        self._record("", _Body())
        self._fail(Fault(404, "Not Found"))

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if not self.path.endswith("/graphql"):
            return self.do_GET()
        body = msgspec.json.decode(data, type=_Body)
        found = _OPERATION.search(body.query)
        operation = found[2] if found else ""
        self._record(operation, body)
        if self._token() != self._github.token:
            return self._fail(FAULTS["bad_token"])
        return self._answer(operation, body, is_mutation=bool(found and found[1] == "mutation"))

    def do_PATCH(self) -> None:
        """Change the base of a pull request, as `gh api` requests it."""
        body = msgspec.json.decode(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        self._record("PullRequestUpdate", _Body())
        found = _PULL_PATH.search(self.path)
        fault = self._github.take_fault("PullRequestUpdate")
        if found is None or fault is not None:
            return self._fail(fault or Fault(404, "Not Found"))
        pull = self._github.hub.change(int(found[1]), base=str(body["base"]))
        return self.send_json(200, {"number": pull.number, "base": {"ref": pull.base}}, _RATES)

    def _answer(self, operation: str, body: _Body, *, is_mutation: bool) -> None:
        fault = self._github.take_fault(operation)
        if fault is not None and not fault.after:
            return self._fail(fault)
        answer = _resolve(self._github.hub, body, is_mutation=is_mutation)
        if fault is not None and not self.wait(fault.delay_seconds):
            return self.drop()
        if fault is not None and fault.status != 200:
            return self._fail(fault)
        return self.send_json(200, answer, _RATES)

    def _fail(self, fault: Fault) -> None:
        if fault.hang_up or not self.wait(fault.delay_seconds):
            return self.drop()
        if fault.kind:
            return self.send_json(200, _errors(fault.message, fault.kind), _RATES)
        return self.send_json(fault.status, {"message": fault.message}, dict(fault.headers))

    def _record(self, operation: str, body: _Body) -> None:
        asked = ReceivedRequest(
            self.command, self.path, operation, body.query, body.variables or {}, self._token()
        )
        self._github.record(asked)

    def _token(self) -> str:
        return self.headers.get("Authorization", "").partition(" ")[2]


def _resolve(hub: Hub, body: _Body, *, is_mutation: bool) -> Mapping[str, Any]:
    query = read_query(body.query, body.variables or {})
    try:
        answer = query.cut(mutation_root(hub) if is_mutation else query_root(hub))
    except Refused as refused:
        return _errors(str(refused), "UNPROCESSABLE")
    if "repository" in answer and answer["repository"] is None:
        return _errors("Could not resolve to a Repository with that name.", "NOT_FOUND")
    return {"data": answer}


def _errors(message: str, kind: str) -> dict[str, Any]:
    return {"data": None, "errors": [{"type": kind, "message": message}]}
