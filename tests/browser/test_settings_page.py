"""The page of the settings: changes are saved, mistakes are named, and nothing is lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from browser_world import Served
from world import World

pytestmark = pytest.mark.full

FILE = """# ours
[run]
jobs = 2  # few

[[models]]
name = "a"
executor = "claude"

[[models]]
name = "b"
executor = "claude"
"""


def test_settings_are_changed_with_mistakes_and_conflicts(world: World, serve: Callable[..., Served]) -> None:
    """One visit: a wrong value, a corrected one, a file that changed meanwhile, and a new order of models."""
    world.ostler("init")
    file = world.root / "ostler.toml"
    file.write_text(FILE)
    served = serve("--view-only")
    assert served.page
    page = served.open("/settings")
    jobs, save = page.get_by_label("Jobs"), page.get_by_role("button", name="Save")
    jobs.fill("0")
    served.complaints.allow("400|409")
    save.click()
    expect(page.get_by_text("Expected int >= 1, got 0.")).to_be_visible()
    assert file.read_text() == FILE
    jobs.fill("4")
    page.get_by_role("button", name="Move b up").click()
    page.reload()  # what is not saved is kept
    expect(page.get_by_text("2 changes are not saved")).to_be_visible()
    file.write_text(FILE.replace("# ours", "# theirs\n[budget]\nday_usd = 3.0\n"))
    save.click()
    expect(page.get_by_text("A settings file was changed meanwhile.")).to_be_visible()
    expect(page.get_by_label("Of all tasks per day")).to_have_value("3")
    save.click()
    expect(page.get_by_text("Settings saved")).to_be_visible()
    text = file.read_text()
    assert "# theirs" in text and "jobs = 4  # few" in text and text.index('"b"') < text.index('"a"')
    expect(save).to_be_hidden()


def test_what_a_browser_may_not_change_has_its_command(world: World, serve: Callable[..., Served]) -> None:
    """A command of a gate is shown as text, without a control."""
    world.ostler("init")
    (world.root / "ostler.toml").write_text('[gates.commands]\nimplement = "<b>true</b>"\n')
    served = serve("--view-only")
    assert served.page
    page = served.open("/settings")
    page.get_by_text("[gates]", exact=True).click()
    line = page.locator(".setting-fixed", has_text="gates.commands.implement")
    expect(line.locator("code")).to_have_text("ostler config set gates.commands.implement '<b>true</b>'")
    assert line.locator("input, select").count() == 0
