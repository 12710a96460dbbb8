"""The page of `ostler export --format html`: opened from a file, without any server."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from browser_world import Complaints
from world import World

pytestmark = pytest.mark.full

HOSTILE = "<img src=x onerror=\"document.title='pwned'\"> </script><script>document.title='pwned'</script>"


def test_an_exported_task_replays_from_a_file(world: World, chromium: Browser, tmp_path: Path) -> None:
    """All of its texts are present, code is shown as text, and Play begins at the beginning."""
    world.behave(text=f"I greet you. {HOSTILE} <phase_complete>true</phase_complete>", delay_seconds=0.5)
    task = world.new(f"Add {HOSTILE[:60]}")
    world.ostler("run", task)
    world.ostler("export", task, "--format", "html", "-o", str(tmp_path / "task.html"))
    complaints = Complaints()
    with chromium.new_context() as context:
        complaints.listen(context)
        page = context.new_page()
        page.goto((tmp_path / "task.html").as_uri())
        reported = page.get_by_text("I greet you.")
        expect(reported.first).to_be_visible()
        page.get_by_role("button", name="Play").click()
        expect(page.get_by_role("button", name="Pause")).to_be_visible()
        expect(page.get_by_role("button", name="Play")).to_be_visible(timeout=60_000)
        expect(reported.first).to_be_visible()
        assert page.title() == f"Add {HOSTILE[:60]} · Ostler"
    assert complaints.left() == []
