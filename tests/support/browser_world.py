"""The dashboard as a person uses it: the real server, a real Chromium, and a page without complaints."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Playwright, Request

from world import STOP, World, wait_until

PHONE = {"width": 390, "height": 844}
DESK = {"width": 1440, "height": 900}
START_SECONDS = 60
# Only names mapped by a test are resolved; the other flags disable the browser's own requests.
NO_NAMES = "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
FLAGS = (
    "--no-sandbox",
    "--no-first-run",
    "--no-pings",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-sync",
    "--disable-gpu",
    "--disable-dev-shm-usage",
)
WATCH_POLICY = """
addEventListener("securitypolicyviolation", (event) => {
  console.error(`policy: ${event.violatedDirective} stopped ${event.blockedURI} ${event.sample}`);
});
"""


def launch(playwright: Playwright, home: Path, names: str = NO_NAMES) -> Browser:
    """Debian's Chromium, which resolves only the names of these resolver rules."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    assert program, "these tests need Chromium: apt-get install chromium, or run make packages"
    flags = [*FLAGS, f"--host-resolver-rules={names}"]
    environ: dict[str, str | float | bool] = {"HOME": str(home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    return playwright.chromium.launch(executable_path=program, args=flags, env=environ)


class Complaints:
    """Messages of pages that a good page does not have, except those that the test expects."""

    def __init__(self) -> None:
        self.received: list[str] = []
        self._allowed: list[str] = []

    def allow(self, pattern: str) -> None:
        """Allow messages that match this, such as the 409 of a request that must be refused."""
        self._allowed.append(pattern)

    def listen(self, context: BrowserContext) -> None:
        context.add_init_script(WATCH_POLICY)
        context.on("console", self._console)
        context.on("weberror", lambda error: self.received.append(f"uncaught: {error.error}"))
        context.on("request", self._request)
        context.on("dialog", self._dialog)

    def left(self) -> list[str]:
        return [text for text in self.received if not any(re.search(word, text) for word in self._allowed)]

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.received.append(f"console: {message.text} ({message.location.get('url', '')})")

    def _request(self, request: Request) -> None:
        place = urlsplit(request.url)
        if place.scheme in ("http", "https", "ws", "wss") and place.hostname != "127.0.0.1":
            self.received.append(f"left the machine: {request.method} {request.url}")

    def _dialog(self, dialog: Any) -> None:
        self.received.append(f"dialog: {dialog.message}")
        dialog.dismiss()


class Served:
    """A running `ostler serve` and the pages that show it; `close` ends both."""

    def __init__(self, world: World, browser: Browser, *args: str, **environ: str) -> None:
        self.world = world
        self.complaints = Complaints()
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self._page: Page | None = None
        self.start(*args, **environ)

    def start(self, *args: str, **environ: str) -> None:
        """Start the server; again after `stop`, for another one."""
        out = self.world.root.parent / "out.txt"
        before = out.stat().st_size if out.exists() else 0
        self.process = self.world.start("serve", "--json", "--port", "0", *args, **environ)
        wait_until(
            lambda: self._reported(out, before) or self._ended(), START_SECONDS, "serve prints no address"
        )
        printed = json.loads(self._reported(out, before))
        assert "url" in printed, printed
        self.url = str(printed["url"])
        self.origin = "{0.scheme}://{0.netloc}".format(urlsplit(self.url))

    def stop(self, number: int = STOP) -> int:
        """End the server with Ctrl-C; return its exit code."""
        self.process.send_signal(number)
        return self.process.wait(60)

    @property
    def page(self) -> Page:
        """The first page, logged in by the one-time address."""
        if self._page is None:
            self._page = self.new_page()
            self._page.goto(self.url)
        return self._page

    def new_page(self, **options: Any) -> Page:
        """A page in a new context, not logged in; `options` are those of Playwright."""
        context = self._browser.new_context(**{"viewport": DESK, "reduced_motion": "reduce"} | options)
        self._contexts.append(context)
        self.complaints.listen(context)
        context.set_default_timeout(30_000)
        return context.new_page()

    def another_page(self, path: str = "/", **options: Any) -> Page:
        """A further page in a new context, logged in by a new one-time address."""
        key = self.say("/keys")["url"]
        page = self.new_page(**options)
        page.goto(key)
        if path != "/":
            page.goto(self.origin + path)
        return page

    def open(self, path: str) -> Page:
        """The first page, at this path."""
        self.page.goto(self.origin + path)
        return self.page

    def get(self, path: str) -> Any:
        """Return a document of the API, requested with the first page's cookie."""
        answer = self.page.request.get(f"{self.origin}/api/v1{path}")
        assert answer.ok, f"{path}: {answer.status} {answer.text()}"
        return answer.json()

    def say(self, path: str, **body: object) -> Any:
        """Post to the API with the first page's cookie; return the answer's document."""
        headers = {"Content-Type": "application/json", "Origin": self.origin}
        url = f"{self.origin}/api/v1{path}"
        answer = self.page.request.post(url, data=json.dumps(body), headers=headers)
        assert answer.ok, f"{path}: {answer.status} {answer.text()}"
        return answer.json()

    def close(self) -> None:
        for context in self._contexts:
            context.close()
        if self.process.poll() is None:
            self.process.send_signal(STOP)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()

    @staticmethod
    def _reported(out: Path, before: int) -> bytes:
        """Return the complete lines that were written after `before`; the first has the address."""
        with out.open("rb") as file:
            file.seek(before)
            line = file.readline()
        return line if line.endswith(b"\n") else b""

    def _ended(self) -> bool:
        assert self.process.poll() is None, (self.world.root.parent / "err.txt").read_text()
        return False
