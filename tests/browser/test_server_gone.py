"""What the board shows while no process runs tasks, and while the server is gone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from browser_world import Served
from world import World

pytestmark = pytest.mark.full

expect.set_options(timeout=30_000)


def test_without_a_process_that_runs_tasks_the_command_is_shown(
    world: World, serve: Callable[..., Served]
) -> None:
    """In a line over the whole width and on the card; gone while a run is active."""
    world.environ["OSTLER_RUN__EXECUTOR"] = "scripted"
    world.new("Sleep", "-d", "```ostler-script\n- sleep: 60\n```\n")
    page = serve("--view-only").page
    banner = page.locator("#banner")
    expect(banner).to_contain_text("No process runs tasks: 1 task waits.")
    expect(banner.locator("code")).to_have_text("ostler run --all")
    expect(page.locator("[data-group=waiting] [data-task]")).to_contain_text("No process runs tasks")
    world.start("run", "--all")
    expect(page.locator("[data-group=running] [data-task]")).to_be_visible()
    expect(banner).to_be_hidden()


def test_a_server_that_is_gone_leaves_its_last_state(world: World, serve: Callable[..., Served]) -> None:
    """The task that ran stays on the board, greyed and no older; a new server takes over."""
    world.environ["OSTLER_RUN__EXECUTOR"] = "scripted"
    world.new("Sleep", "-d", "```ostler-script\n- sleep: 60\n```\n")
    served = serve()
    page = served.page
    expect(page.locator("[data-group=running] [data-task]")).to_be_visible()
    served.complaints.allow("ERR_CONNECTION_REFUSED|ERR_INCOMPLETE|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE")
    served.complaints.allow("401")
    port = served.origin.rsplit(":", 1)[1]
    served.stop()
    expect(page.locator("#banner")).to_contain_text("The server does not answer.")
    expect(page.locator(".lane [data-task]")).to_have_count(1)
    for group in ("running", "waiting"):
        shown = page.locator(f".lane[data-group={group}] .count").inner_text()
        expect(page.locator(f".totals [data-group={group}] dd")).to_have_text(shown)
    assert "grayscale" in page.evaluate("getComputedStyle(document.querySelector('main')).filter")
    served.start("--port", port)
    expect(page.locator("#banner")).to_be_hidden()
    expect(page.locator("[data-group=running] [data-task]")).to_be_visible()
