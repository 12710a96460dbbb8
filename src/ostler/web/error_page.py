"""Errors as a page for a browser that has no access to the files of the dashboard."""

from __future__ import annotations

import base64
import hashlib
import html
from pathlib import Path

from starlette.responses import HTMLResponse, Response

from ostler.errors import OstlerError

_TITLES = {401: "Not logged in", 404: "Page not found", 421: "Wrong host name"}
_STYLE = (Path(__file__).parent / "static/css/error.css").read_text("utf-8")
STYLE_HASH = f"'sha256-{base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()}'"
_HORSESHOE = (
    '<svg viewBox="0 0 16 16" aria-hidden="true"><path d="M5 14L3.5 8a4.6 5.5 0 1 1 9 0L11 14"/></svg>'
)


def page_response(status: int, error: OstlerError) -> Response:
    """Return the error as a page."""
    title = _TITLES.get(status, "The request was refused")
    hint = f'<p class="next">{_sentence(error.hint)}</p>' if error.hint else ""
    return HTMLResponse(
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title} · Ostler</title><style>{_STYLE}</style></head><body><main>"
        f'<header><span aria-hidden="true">{_HORSESHOE}</span>Ostler</header>'
        f"<h1>{title}</h1><p>{_sentence(error.message)}</p>{hint}"
        "</main></body></html>\n",
        status,
    )


def _sentence(text: str) -> str:
    return f"{html.escape(text[:1].upper() + text[1:])}."
