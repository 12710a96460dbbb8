"""The browsers that are logged in to a server: `ostler serve --sessions` and `--revoke`."""

from __future__ import annotations

import time
from pathlib import Path

from ostler.cli.terminal.output import print_hint, print_json, print_text
from ostler.cli.terminal.text import format_table
from ostler.clock import format_rfc3339
from ostler.errors import UsageError
from ostler.web.browser_sessions import FILE_NAME, BrowserSession, BrowserSessions


def show_sessions(state: Path, revoke: str | None, as_json: bool) -> None:
    """Print the sessions of the server whose state is in this directory, or end some and print those."""
    sessions = BrowserSessions(state / FILE_NAME)
    found = sessions.list() if revoke is None else sessions.revoke(revoke)
    if not found and revoke not in (None, "all"):
        raise UsageError(f"no browser {revoke} is logged in", "ostler serve --sessions   lists them")
    if as_json:
        print_json({"schema": "ostler.sessions/1", "sessions": [_to_json(one) for one in found]})
    elif revoke is not None:
        print_text(f"Logged out: {len(found)} {'browser' if len(found) == 1 else 'browsers'}.")
    elif found:
        print_text(
            format_table(("id", "browser", "logged in", "last used", "expires"), [_row(one) for one in found])
        )
    else:
        print_text("No browser is logged in.")
        print_hint("Next: ostler serve")


def _row(one: BrowserSession) -> tuple[str, ...]:
    moments = (one.created_at, one.used_at, one.expires_at)
    return one.id, one.browser, *(time.strftime("%Y-%m-%d %H:%M", time.localtime(at)) for at in moments)


def _to_json(one: BrowserSession) -> dict[str, str]:
    moments = {"created_at": one.created_at, "used_at": one.used_at, "expires_at": one.expires_at}
    times = {name: format_rfc3339(at) for name, at in moments.items()}
    return {"id": one.id, "browser": one.browser, **times}
