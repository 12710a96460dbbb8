"""The sample project of `ostler demo`: a small repository with a bug, and tasks for it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from msgspec.structs import replace

from ostler.errors import Code, GitError
from ostler.model.task import Task
from ostler.process.tool import run_tool

_FILES = {
    ".gitignore": "__pycache__/\n",
    "README.md": "# Shoes\n\nA shop's slugs and prices.\n",
    "shoes/__init__.py": "",
    "shoes/slug.py": (
        '"""Names for addresses."""\n\n\ndef slug(title):\n    return title.lower().replace(" ", "-")\n'
    ),
    "tests/__init__.py": "",
    "tests/test_slug.py": (
        "import unittest\n\nfrom shoes.slug import slug\n\n\n"
        "class SlugTest(unittest.TestCase):\n"
        "    def test_spaces_at_the_ends_do_not_count(self):\n"
        '        self.assertEqual(slug("  Red Shoes "), "red-shoes")\n'
    ),
    "ostler.toml": '[run]\nexecutor = "scripted"\njobs = 3\n\n[phases.plans]\nsmall = ["implement"]\n',
}

_FIX_SLUG = """\
`slug("  Red Shoes ")` gives `--red-shoes-`. The test in tests/test_slug.py fails.

```ostler-script
- say: I run the tests first.
- run: python3 -m unittest -q 2>&1 | tail -n 1
- sleep: 0.8
- say: The spaces at the ends become dashes. I strip them before anything else.
- edit: {path: shoes/slug.py, replace: title.lower(), by: title.strip().lower()}
- sleep: 0.6
- run: python3 -m unittest -q
- say: The test passes now. <phase_complete>true</phase_complete>
```
"""

_ADD_PRICE = """\
Prices are kept in cents; pages need them as text.

```ostler-script
- say: A module of its own, beside slug.py.
- sleep: 0.7
- edit:
    path: shoes/price.py
    content: |
      \"\"\"Prices as people read them.\"\"\"


      def price(cents):
          return f"{cents // 100}.{cents % 100:02d}"
- run: python3 -c "from shoes.price import price; assert price(1905) == '19.05'"
- sleep: 0.9
- say: price(1905) gives 19.05. <phase_complete>true</phase_complete>
```
"""

_WRITE_README = """\
A newcomer should see how to run the tests.

```ostler-script
- sleep: 0.5
- edit: {path: README.md, append: "\\n## Tests\\n\\n    python3 -m unittest\\n"}
- sleep: 0.7
- say: The README says how to run the tests. <phase_complete>true</phase_complete>
```
"""

_ADD_SALE = """\
Prices fall by a tenth in January.

```ostler-script
- say: A function beside price, and nothing else is touched.
- sleep: 0.2
- edit:
    path: shoes/sale.py
    content: |
      \"\"\"Prices in January.\"\"\"


      def sale(cents):
          return cents * 9 // 10
- run: python3 -c "from shoes.sale import sale; assert sale(1000) == 900"
- say: sale(1000) gives 900. Please look, as it is about money. <phase_complete>true</phase_complete>
```
"""

TASKS = (
    Task("Fix the slug of titles with spaces", _FIX_SLUG, weight="small", priority="P1"),
    Task("Add a price function", _ADD_PRICE, weight="small"),
    Task("Describe the tests in the README", _WRITE_README, weight="trivial"),
)
_SLEEP = re.compile(r"(?<=- sleep: )[\d.]+")
_SLOWDOWN = 15  # factor for the dashboard, so that tasks can be watched
_GATED = (
    '\n[phases.plans]\nsmall = ["implement"]\nmedium = ["implement"]\n\n[gates.weights]\nmedium = "human"\n'
)


def create_dashboard_tasks() -> tuple[Task, ...]:
    """Return the same tasks at a slower pace, and one that soon waits for a person."""
    slow = (replace(task, body=_SLEEP.sub(_slow_down, task.body)) for task in TASKS)
    return (Task("Sell for less in January", _ADD_SALE, weight="medium", priority="P0"), *slow)


def create_sample(root: Path, served: bool = False) -> None:
    """Create the repository with its first commit."""
    files = {**_FILES, "ostler.toml": _FILES["ostler.toml"].partition("\n[phases")[0] + _GATED}
    for name, text in (files if served else _FILES).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    for args in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "A shop with a bug"]):
        done = run_tool(["git", *args], env=_environment(), cwd=str(root))
        if done.status != 0:
            raise GitError(
                Code.UNKNOWN, f"git {args[0]} failed: {done.stderr.decode('utf-8', 'replace').strip()}"
            )


def _environment() -> dict[str, str]:
    who = {"NAME": "Ostler demo", "EMAIL": "demo@localhost"}
    people = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()}
    quiet = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    return {"PATH": os.environ.get("PATH", os.defpath), **people, **quiet}


def _slow_down(seconds: re.Match[str]) -> str:
    return f"{float(seconds[0]) * _SLOWDOWN:g}"
