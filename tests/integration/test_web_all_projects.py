"""One server for several projects: who is let in, and that projects do not affect each other."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from journal_file import journal_path
from ostler.web.all_projects.application import HOST_PAGES
from ostler.web.all_projects.routes import HOST_ROUTES
from ostler.web.application import BASE, ROUTES
from ostler.web.pages import PAGES
from web_world import JSON, Client
from world import INTERRUPT, World, end, wait_until

PLACES = {"one": "app", "two": "app", "api": "api", "broken": "broken"}
SETTINGS = 'gates.phases.implement = "human"\n'
SCRIPT = (
    "```ostler-script\n- edit: {path: f.py, content: a}\n- say: <phase_complete>true</phase_complete>\n```\n"
)


class Server(Client):
    """A running `ostler serve --all`."""

    def __init__(self, world: World, *args: str) -> None:
        self.file = Path(world.environ["HOME"]) / ".local/state/ostler/server.json"
        self.file.unlink(missing_ok=True)
        self.child = world.start("serve", "--all", "--port", "0", "--json", *args)
        wait_until(lambda: self.file.exists() or self.child.poll() is not None, 60, "no server came up")
        note = json.loads(self.file.read_bytes())
        super().__init__(note["port"], note["token"])

    def states(self) -> dict[str, str]:
        return {one["name"]: one["state"] for one in self.get("/projects")["projects"]}

    def problem(self, name: str) -> str:
        (found,) = [one["problem"] for one in self.get("/projects")["projects"] if one["name"] == name]
        return found

    def of(self, name: str, path: str) -> Any:
        """Return a document of a project."""
        answer = self.ask("GET", f"/p/{name}{BASE}{path}")
        assert answer.status == 200, (path, answer.status, answer.body)
        return answer.json


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, World]]:
    """Projects of one user: two with the same name, one named like a route, one with a damaged journal."""
    base = tmp_path_factory.mktemp("all")
    (base / "home").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(base / "home"))
        made = {place: World(base / place, name) for place, name in PLACES.items()}
        for place, world in made.items():
            world.environ["OSTLER_RUN__EXECUTOR"] = "scripted"
            (world.root / "ostler.toml").write_text(SETTINGS)
            for number in range(3):
                priority = f"P{number}"
                world.new(f"Task {number} of {place}", "--priority", priority, "-d", SCRIPT)
        journal_path(made["broken"].root).write_bytes(b"x" * 4096)
        yield made
    for world in made.values():
        world.close()


@pytest.fixture(scope="module")
def server(worlds: dict[str, World]) -> Iterator[Server]:
    """One server that runs no task, for the tests that change nothing."""
    made = Server(worlds["one"], "--view-only")
    opened = {"app": "viewing", "app-2": "viewing", "api": "viewing", "broken": "unavailable"}
    wait_until(lambda: made.states() == opened, 60, "the projects are not open")
    yield made
    if made.child.poll() is None:
        end(made.child, INTERRUPT)


def paths() -> list[tuple[str, str]]:
    """Return the routes and pages of the server, and some of a project."""
    plain: Callable[[str], str] = lambda path: re.sub(r"\{[^}]*\}", "1", path)  # noqa: E731
    found = [(route.method, plain(BASE + route.path)) for route in HOST_ROUTES]
    found += [(route.method, f"/p/app{plain(BASE + route.path)}") for route in ROUTES]
    found += [("GET", page) for page in HOST_PAGES] + [("GET", f"/p/app{plain(page)}") for page in PAGES]
    return [*found, ("GET", "/p/app"), ("GET", "/p/nothing/"), ("GET", "/p/"), ("GET", "/static/js/api.js")]


def test_nothing_is_there_without_the_key(server: Server) -> None:
    """Every route and page of the server and of a project answers 401, other hosts 421, other origins 403."""
    stranger, found = Client(server.port), paths()
    assert len(found) > len(ROUTES) + len(HOST_ROUTES)
    for method, path in found:
        body = b"{}" if method != "GET" else None
        answer = stranger.ask(method, path, body, **JSON)
        assert (answer.status, "Set-Cookie" in answer.headers) == (401, False), path
        assert answer.headers["Content-Security-Policy"]
        assert server.ask(method, path, body, **JSON, Host="evil.test").status == 421
        if body is not None:
            origin = f"http://127.0.0.1:{server.port + 1}"
            assert server.ask(method, path, body, **JSON, Origin=origin).status == 403
            assert server.ask(method, path, body, Content_Type="text/plain").status == 415
    assert len(server.of("app", "/tasks")["tasks"]) == 3  # the control: with the key it is there


@pytest.mark.parametrize(
    "name",
    ["..", ".", "%2e%2e", "..%2f..", "app%2f..%2fapi", "app/../api", "APP", "app%00", "app ", "*", "x" * 300],
)
def test_a_name_leads_to_no_other_place(server: Server, name: str) -> None:
    """Only the exact name of a project on the list is served."""
    for rest in ("/", "/server.json", f"{BASE}/tasks"):
        answer = server.ask("GET", f"/p/{name}{rest}".replace(" ", "%20"))
        assert answer.status == 404, (name, rest, answer.body)


def test_projects_with_one_name_and_a_name_of_a_route_are_told_apart(server: Server) -> None:
    """Each path leads to the tasks of its own directory."""
    for name, place in (("app", "one"), ("app-2", "two"), ("api", "api")):
        titles = {row["title"] for row in server.of(name, "/tasks")["tasks"]}
        assert titles == {f"Task {number} of {place}" for number in range(3)}
    task = server.of("app", "/tasks?limit=1")["tasks"][0]["id"]
    assert server.ask("GET", f"/p/app-2{BASE}/tasks/{task}").status in (400, 404)
    titles = [one["title"] for one in server.get("/projects")["projects"]]
    assert titles == ["api", "one/app", "two/app", "broken"]


def test_a_project_that_cannot_be_opened_is_listed_with_the_reason(server: Server) -> None:
    """Its pages say the same, and the others are served."""
    reason = server.problem("broken")
    assert "journal" in reason or "database" in reason
    answer = server.ask("GET", f"/p/broken{BASE}/tasks")
    assert (answer.status, answer.json["message"]) == (503, reason)
    page = server.ask("GET", "/p/broken/")
    assert page.status == 503 and b"<html" in page.body
    assert server.get("/inbox")["unavailable"] == ["broken"]


def test_the_token_is_in_no_project(server: Server, worlds: dict[str, World]) -> None:
    """An agent that may read its own project finds nothing that opens the server."""
    assert server.file.stat().st_mode & 0o777 == 0o600
    secret = server.token.encode()
    files = [path for world in worlds.values() for path in world.root.rglob("*") if path.is_file()]
    assert len(files) > 50
    assert [path for path in files if secret in path.read_bytes()] == []
    assert secret in server.file.read_bytes()  # the control


def test_an_agent_cannot_start_or_list_it(server: Server, worlds: dict[str, World]) -> None:
    """Inside a task the commands of the person are refused."""
    world = worlds["one"]
    task = server.of("app", "/tasks?limit=1")["tasks"][0]["id"]
    inside = {"OSTLER_TASK": task, "OSTLER_ATTEMPT": f"{world.root}:{task}:1"}
    for args in (("serve", "--all"), ("projects",), ("projects", "list")):
        done = world.ostler(*args, code=2, **inside)
        assert "only a person" in done.stderr or "not an attempt" in done.stderr, done.stderr


@pytest.mark.full
def test_a_second_server_of_a_project_is_this_one(server: Server, worlds: dict[str, World]) -> None:
    """`ostler serve` in a project prints a URL that opens its pages; it works once."""
    url = worlds["two"].json("serve", "--view-only")["url"]
    path = url.partition(f":{server.port}")[2]
    answer = Client(server.port).ask("GET", path)
    assert (answer.status, answer.headers["Location"]) == (303, "/p/app-2/")
    cookie = answer.headers["Set-Cookie"].partition(";")[0]
    assert Client(server.port).ask("GET", "/p/app/", Cookie=cookie).status == 200
    assert Client(server.port).ask("GET", path).status == 401
    forged = path.replace("project=app-2", "project=//evil.test")
    assert Client(server.port).ask("GET", forged, Cookie=cookie).headers["Location"] == "/"
    assert "127.0.0.1" not in worlds["two"].ostler("serve", "--all", "--sessions").stdout
    assert worlds["two"].ostler("serve", "--all", "--revoke", "all").stdout.startswith("Logged out:")
    assert Client(server.port).ask("GET", "/p/app/", Cookie=cookie).status == 401


def test_settings_that_become_invalid_disturb_no_other_project(
    server: Server, worlds: dict[str, World]
) -> None:
    """The project keeps the settings of before, and the others answer."""
    file = worlds["api"].root / "ostler.toml"
    file.write_text("[run]\njobs = 0\n")
    try:
        assert server.of("api", "/session")["jobs"] == server.of("app", "/session")["jobs"]
        assert server.of("app", "/session")["activity"]["is_active"] is False
    finally:
        file.write_text(SETTINGS)


@pytest.mark.full
def test_each_project_is_run_by_one_process(worlds: dict[str, World], server: Server) -> None:
    """The server runs all but the one that another process runs, and takes over when that ends."""
    end(server.child, INTERRUPT)
    other = worlds["two"].start("worker")
    runs = lambda: worlds["two"].json("projects")["projects"]  # noqa: E731
    wait_until(lambda: any(one["runs"] for one in runs()), 60, "the worker does not run")
    (worlds["api"].root / "ostler.toml").write_text("[run]\njobs = 0\n")
    made = Server(worlds["one"])
    expected = {"app": "running", "app-2": "elsewhere", "api": "unavailable", "broken": "unavailable"}
    wait_until(lambda: made.states() == expected, 60, "the states are wrong")
    assert str(other.pid) in made.problem("app-2") and "jobs" in made.problem("api")
    assert made.of("app-2", "/session")["activity"] == {
        "is_active": True,
        "runs": 1,
        "command": "ostler run --all",
    }
    assert [made.of(name, "/session")["runs_tasks"] for name in ("app", "app-2")] == [True, False]
    end(other, INTERRUPT)
    (worlds["api"].root / "ostler.toml").write_text(SETTINGS)
    expected |= {"app-2": "running", "api": "running"}
    wait_until(lambda: made.states() == expected, 60, "the server does not take over")
    wait_until(lambda: made.get("/inbox")["counts"]["review"] == 9, 100, "the tasks were not run")
    check_pages(made)
    assert end(made.child, INTERRUPT) == 130
    assert not made.file.exists()


def check_pages(server: Server) -> None:
    """Pages of any size have all tasks once, by priority and then by waiting time."""
    whole = [(one["priority"], one["waiting_since"]) for one in server.get("/inbox")["items"]]
    assert whole == sorted(whole) and len(whole) == 9
    found: list[tuple[str, str]] = []
    after = ""
    while True:
        page = server.get(f"/inbox?kind=review&limit=2&after={after}")
        found += [(one["project"], one["id"]) for one in page["items"]]
        if "review" not in page["next"]:
            break
        after = page["next"]["review"]
    assert len(found) == len(set(found)) == 9


@pytest.mark.full
def test_a_list_that_cannot_be_written_hides_no_page(worlds: dict[str, World], server: Server) -> None:
    """As on a full disk: the visit is not recorded, and the pages are there."""
    if server.child.poll() is None:
        end(server.child, INTERRUPT)
    listed = server.file.with_name("projects.json")
    listed.write_text(re.sub(r'"used_at": [0-9.]+', '"used_at": 1.0', listed.read_text()))
    lock = listed.with_suffix(".lock")
    lock.unlink()
    lock.mkdir()
    try:
        made = Server(worlds["one"], "--view-only")
        wait_until(lambda: made.states()["app"] == "viewing", 60, "the project is not open")
        assert made.ask("GET", "/p/app/").status == 200
        end(made.child, INTERRUPT)
    finally:
        lock.rmdir()
