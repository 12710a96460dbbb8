"""A project in the middle of its day, for the picture of the board: a fake agent, and real runs of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from ostler.project.demo import create_sample
from ostler.testing.fake_agent import fake_claude

SETTINGS = """
run.model = "claude-sonnet-5-5"
run.jobs = 3
phases.plans.small = ["implement"]
phases.plans.medium = ["plan", "implement", "test"]
gates.weights.small = "human"
budget.day_usd = 20.0
"""
ASK = "<phase_blocked>Do islands count as overseas? The old shop charged 9 dollars for Mull.</phase_blocked>"
SLUG = {"tests/test_slug.py": "#", "shoes/slug.py": "#"}
PRICE = {"shoes/price.py": "#", "tests/test_price.py": "#"}
SALE = (
    '"""Prices in January."""\n\nfrom shoes.slug import slug\n\n\ndef sale(cents):\n    return cents * 0.9\n'
)
TEST = "from shoes.sale import sale\n\n\ndef test_a_tenth_less():\n    assert sale(1000) == 900\n"
SLUG_OF_SALE = (
    '"""Names for addresses."""\n\n\n'
    'def slug(title, sale=False):\n    name = title.lower().replace(" ", "-")\n'
    '    return f"{name}-sale" if sale else name\n'
)
LESS = {"shoes/sale.py": SALE, "shoes/slug.py": SLUG_OF_SALE, "tests/test_sale.py": TEST}
DONE = (
    "Prices are a tenth lower in January, and addresses of the sale end in `-sale`. The tests pass.\n\n"
    "<phase_complete>true</phase_complete>"
)
README = {"README.md": "#", "CONTRIBUTING.md": "#"}
# Title, weight, priority, and how the agent behaves on it.
MORNING = (
    ("Round prices to whole cents", "medium", "P1", {"cost_usd": 0.42}),
    ("Sort reviews by date", "trivial", "P2", {"cost_usd": 0.18}),
    ("Name the shelves in both languages", "medium", "P2", {"cost_usd": 0.27}),
    ("Sell for less in January", "small", "P0", {"cost_usd": 0.31, "files": LESS, "edits": {}, "text": DONE}),
    ("Ship to the islands", "trivial", "P1", {"cost_usd": 0.12, "text": ASK}),
    ("Print labels on receipt paper", "trivial", "P3", {"cost_usd": 0.09, "text": ASK}),
)
NOW = (
    ("Fix the slug of titles with spaces", "medium", "P0", {"edits": SLUG, "delay_seconds": 300}),
    ("Add a price function", "medium", "P1", {"edits": PRICE, "delay_seconds": 300}),
    ("Describe the tests in the README", "trivial", "P1", {"edits": README, "delay_seconds": 300}),
    ("Show sizes in centimetres", "small", "P2", {}),
    ("Thank customers by name", "small", "P3", {}),
)


class Shop:
    """The project at `home/shoes`."""

    def __init__(self, home: Path) -> None:
        self.root = home / "shoes"
        behaviours = [{"contains": title, **behaviour} for title, _, _, behaviour in (*MORNING, *NOW)]
        agent = fake_claude(home / "agents", when=behaviours)
        self.environ = {"HOME": str(home), "PATH": os.environ["PATH"], "OSTLER_CLAUDE_PATH": str(agent)}
        create_sample(self.root)
        (self.root / "ostler.toml").write_text(SETTINGS, "utf-8")
        tasks = [self._new(*task[:3]) for task in MORNING]
        self._ostler("run", "--all")
        self._ostler("cancel", tasks[-1])
        for task in NOW:
            self._new(*task[:3])

    def serve(self) -> list[str]:
        """The command that serves it."""
        return [sys.executable, "-m", "ostler", "serve", "--json", "--port", "0"]

    def _new(self, title: str, weight: str, priority: str) -> str:
        return self._ostler("new", title, "--weight", weight, "--priority", priority).strip()

    def _ostler(self, *arguments: str) -> str:
        command = [sys.executable, "-m", "ostler", *arguments]
        done = subprocess.run(
            command, cwd=self.root, env=self.environ, capture_output=True, text=True, check=False
        )
        if done.returncode not in (0, 4):  # 4: a person is needed, as is meant here
            raise RuntimeError(done.stderr)
        return done.stdout
