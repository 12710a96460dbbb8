"""Fixtures of the browser tests: one Chromium for the tests of a file, a new context for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Playwright, sync_playwright

from browser_world import Served, launch
from world import World


# Not for the whole session: while it is open, no other test of the process can call asyncio.run.
@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as made:
        yield made


@pytest.fixture(scope="module")
def chromium(playwright: Playwright, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    browser = launch(playwright, tmp_path_factory.mktemp("browser"))
    yield browser
    browser.close()


@pytest.fixture
def serve(world: World, chromium: Browser) -> Iterator[Callable[..., Served]]:
    """Start `ostler serve` with these arguments; a complaint of a page fails the test."""
    made: list[Served] = []

    def start(*args: str, **environ: str) -> Served:
        made.append(Served(world, chromium, *args, **environ))
        return made[-1]

    yield start
    for served in made:
        served.close()
    assert [text for served in made for text in served.complaints.left()] == []


@pytest.fixture
def served(serve: Callable[..., Served]) -> Served:
    """The dashboard of a project without a task; it serves the test's own `world`."""
    return serve()
