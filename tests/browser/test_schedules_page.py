"""The page of the schedules: next and last times, a start now, and files that are left out."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from axe import find_violations
from browser_world import PHONE, Served
from world import World

pytestmark = pytest.mark.full

TIDY = '---\ntitle: Tidy up\nschedule: "0 6 * * 1"\n---\n\nAll of it.\n'
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def test_a_schedule_is_started_now(world: World, serve: Callable[..., Served]) -> None:
    """Once in a minute; the run is linked, and a wrong file is named beside the others."""
    world.ostler("init")
    folder = world.root / ".agents/tasks"
    folder.mkdir(parents=True)
    (folder / "tidy.md").write_text(TIDY)
    (folder / "wrong.md").write_text(TIDY.replace("0 6", "99 6"))
    served = serve("--view-only")
    assert served.page
    page = served.open("/schedules")
    entry = page.locator(".schedule")
    expect(entry).to_contain_text("never")
    expect(page.get_by_text("Skipped until it is fixed: .agents/tasks/wrong.md")).to_be_visible()
    expect(page.get_by_text("No process runs tasks")).to_be_visible()
    served.complaints.allow("409")
    page.get_by_role("button", name="Run now tidy").click()
    expect(entry.get_by_role("link")).to_contain_text("Pending")
    (task,) = served.get("/tasks")["tasks"]
    (found,) = served.get("/schedules")["schedules"]
    assert (found["last"]["task"], task["title"]) == (task["id"], "Tidy up")
    assert world.json("worker", "--list")["schedules"] == [found]
    phone = served.another_page("/schedules", viewport=PHONE, bypass_csp=True)
    expect(phone.locator(".schedule")).to_be_visible()
    assert (phone.evaluate(WIDER), find_violations(phone)) == (0, [])
    entry.get_by_role("link").click()
    expect(page.get_by_role("heading", name="Tidy up")).to_be_visible()
