"""Photographs the dashboard in Chromium: the board of a busy project, and a task of the demo."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright
from shop import Shop

DESK = {"width": 1440, "height": 960}
PHONE = {"width": 390, "height": 844}
FLAGS = (
    "--no-sandbox",
    "--disable-background-networking",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
SECONDS = 120
AT_WORK = ".lane[data-group=running] .activity li"
FOCUSED_LINE = "document.activeElement.closest('.code-line')?.textContent ?? ''"
REVIEWED = "Sell for less in January"
FIXED = "Fix the slug of titles with spaces"


def photograph(home: Path, pictures: Path) -> None:
    """Write board.png, review.png and task.png, each light and dark, and board-phone.png."""
    shop = Shop(home / "day")
    demo = [sys.executable, "-m", "ostler", "demo", "--serve", "--json", str(home / "served" / "shoes")]
    with sync_playwright() as playwright:
        program = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = playwright.chromium.launch(executable_path=program, args=[*FLAGS, "--hide-scrollbars"])
        with _served(shop.serve(), shop.root, shop.environ) as url:
            page = _take_board(browser, url, pictures)
            _take_review(page, pictures)
        with _served(demo, home, {"HOME": str(home), "PATH": os.environ["PATH"]}) as url:
            _take_task(browser, url, pictures)
        browser.close()


@contextmanager
def _served(command: list[str], place: Path, environ: dict[str, str]) -> Generator[str]:
    """The one-time address of a server that runs meanwhile."""
    pipe, none = subprocess.PIPE, subprocess.DEVNULL
    server = subprocess.Popen(command, cwd=place, env=environ, stdout=pipe, stderr=none)
    assert server.stdout is not None
    try:
        yield str(json.loads(server.stdout.readline())["url"])
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=60)


def _take_board(browser: Browser, url: str, pictures: Path) -> Page:
    page = _page(browser, DESK)
    page.goto(url)
    page.locator(AT_WORK).nth(5).wait_for()
    _take_both(page, pictures, "board")
    phone = _page(browser, PHONE, storage_state=page.context.storage_state())
    phone.goto(page.url)
    phone.locator(AT_WORK).first.wait_for()
    phone.screenshot(path=pictures / "board-phone.png")
    phone.context.close()
    return page


def _take_review(page: Page, pictures: Path) -> None:
    """With a comment on a line, that is not sent."""
    page.get_by_role("link", name=REVIEWED).first.click()
    page.get_by_text("return cents * 0.9").first.wait_for()
    while "0.9" not in page.evaluate(FOCUSED_LINE):
        page.keyboard.press("j")
    page.keyboard.press("c")
    page.get_by_role("textbox", name="Comment", exact=True).fill("Prices are whole cents: round down.")
    page.keyboard.press("Control+Enter")
    page.get_by_text("1 comment").first.wait_for()
    _take_both(page, pictures, "review")
    page.context.close()


def _take_task(browser: Browser, url: str, pictures: Path) -> None:
    page = _page(browser, DESK)
    page.goto(url)
    page.get_by_role("link", name=FIXED).first.click()
    page.locator("main .chip", has_text="Completed").first.wait_for()
    page.locator(".tool").nth(2).wait_for()
    _take_both(page, pictures, "task")
    page.context.close()


def _page(browser: Browser, size: dict[str, int], **more: object) -> Page:
    context = browser.new_context(viewport=size, reduced_motion="reduce", color_scheme="light", **more)
    context.set_default_timeout(SECONDS * 1000)
    return context.new_page()


def _take_both(page: Page, pictures: Path, name: str) -> None:
    for theme, suffix in (("light", ""), ("dark", "-dark")):
        page.emulate_media(color_scheme=theme)
        page.screenshot(path=pictures / f"{name}{suffix}.png")
    page.emulate_media(color_scheme="light")
