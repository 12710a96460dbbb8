"""A task as one HTML file that replays without a server; it has the modules, styles and data.

An import map resolves the modules' names to data: URLs. The content security policy allows only the two
scripts whose hashes it has, and no requests.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from pathlib import PurePosixPath
from typing import Any

from ostler.project.tasks.files.export import TaskRecord
from ostler.web.pages import STATIC

_BOOT = "js/single.js"
_STYLES = ("base", "task", "timeline", "transcript", "single")
_IMPORT = re.compile(r'(\bfrom\s+|\bimport\s+)"(\.[^"]+)"')
_MOST_ENTRIES = 20_000


def make_single_page(bundle: TaskRecord) -> str:
    """Return the file; logs are cut after 20,000 entries, which the page mentions."""
    modules = _modules(_BOOT)
    addresses = {f"ostler/{name}": _as_data(text) for name, text in modules.items()}
    importmap = _script_text({"imports": addresses})
    boot = f'import "ostler/{_BOOT}";'
    policy = (
        f"default-src 'none'; script-src {_hash(importmap)} {_hash(boot)} data:; "
        f"style-src {' '.join(_hash(style) for style in _styles())}; base-uri 'none'; form-action 'none'"
    )
    return "".join(
        (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{html.escape(bundle.view.title)} · Ostler</title>",
            *(f"<style>{style}</style>" for style in _styles()),
            f'<script type="importmap">{importmap}</script></head><body><main id="main"></main>',
            f'<script type="application/json" id="data">{_script_text(_data(bundle))}</script>',
            f'<script type="module">{boot}</script></body></html>\n',
        )
    )


def _data(bundle: TaskRecord) -> dict[str, Any]:
    logs: list[dict[str, Any]] = []
    left = _MOST_ENTRIES
    for attempt in bundle.view.attempts:
        entries = [entry for entry, _ in zip(bundle.log_entries(attempt), range(left), strict=False)]
        left -= len(entries)
        logs.append({"number": attempt.number, "entries": entries})
    document = {"task": bundle.task(), "request": bundle.request(), "timeline": bundle.timeline()}
    return document | {"logs": logs, "cut": left == 0, "patch": bundle.patch()}


def _modules(first: str) -> dict[str, str]:
    """Return a module and all its imports, with absolute import names."""
    found: dict[str, str] = {}
    waiting = [first]
    while waiting:
        name = waiting.pop()
        if name not in found:
            text, needed = _absolute(name, (STATIC / name).read_text("utf-8"))
            found[name] = text
            waiting += needed
    return found


def _absolute(name: str, text: str) -> tuple[str, list[str]]:
    needed: list[str] = []

    def spell_out(match: re.Match[str]) -> str:
        needed.append(_resolve(name, match[2]))
        return f'{match[1]}"ostler/{needed[-1]}"'

    return _IMPORT.sub(spell_out, text), needed


def _resolve(name: str, relative: str) -> str:
    parts: list[str] = []
    for part in (PurePosixPath(name).parent / relative).parts:
        parts = parts[:-1] if part == ".." else [*parts, part]
    return "/".join(parts)


def _styles() -> list[str]:
    return [(STATIC / "css" / f"{name}.css").read_text("utf-8") for name in _STYLES]


def _as_data(text: str) -> str:
    return f"data:text/javascript;base64,{base64.b64encode(text.encode()).decode()}"


def _script_text(value: object) -> str:
    """Return JSON that cannot close the script element that contains it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
