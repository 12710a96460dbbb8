"""Ten thousand tasks: paged without a gap, found and counted, over HTTP and quickly."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from many import fill
from web_world import Served, serve, shared_world

MANY = 10_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with shared_world(tmp_path_factory.mktemp("many")) as world:
        fill(world, MANY)
        yield serve(world, "--view-only")


@pytest.mark.full
def test_every_task_is_on_one_page(server: Served) -> None:
    """Page by page, newest first, while tasks are added at the top."""
    seen: list[str] = []
    after = ""
    while True:
        page = server.get(f"/tasks?limit=500&sort=created&after={after}")
        seen += [row["id"] for row in page["tasks"]]
        if len(seen) == 1000:
            server.post("/tasks", {"title": "One more"}, 201)
        after = page["next"]
        if after is None:
            break
    assert seen == [f"task-{number:05d}" for number in range(MANY - 1, -1, -1)]


@pytest.mark.full
def test_pages_are_quick(server: Served) -> None:
    """The limit is 50 ms; ten times as much is never needed on a busy machine."""
    for query in ("", "group=needs_you", "q=task+77", "sort=priority", "sort=cost", "status=failed"):
        took = min(_seconds(server, query) for _ in range(5))
        assert took < 0.5, query


def test_filters_count_what_they_find(server: Served) -> None:
    """The groups of all tasks, and the total of the query."""
    found = server.get("/tasks?group=needs_you&q=Task+99&limit=2")
    assert found["total"] == sum("99" in str(n)[:2] for n in range(0, MANY, 4))
    assert (found["counts"]["paused"], found["counts"]["needs_you"]) == (MANY // 4, 0)
    assert [row["asks"] for row in found["tasks"]] == ["resume", "resume"]
    assert server.get("/tasks?status=nothing", 400)["hint"].startswith("use one of pending")
    assert (
        server.get("/tasks?after=nothing", 400)["message"] == "invalid after: it is not a cursor of this list"
    )


def _seconds(server: Served, query: str) -> float:
    began = time.perf_counter()
    server.get(f"/tasks?{query}")
    return time.perf_counter() - began
