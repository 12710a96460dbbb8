"""Chooses how a program is confined: the tier of the settings, or for `auto` the strongest that works."""

from __future__ import annotations

import os
from collections.abc import Mapping

from msgspec import Struct

from ostler.errors import Code, OstlerError
from ostler.model.sandbox import Tier
from ostler.sandbox.box.bubblewrap import Namespaces
from ostler.sandbox.box.self_test import why_bubblewrap_fails
from ostler.sandbox.bubblewrap import find_bubblewrap
from ostler.sandbox.choice import find_hint


class ChosenTier(Struct, frozen=True):
    """A tier that works on this machine."""

    tier: Tier  # never auto
    program: str = ""
    namespaces: Namespaces = "user"
    verified: bool = False  # the self-test of a sandbox passed in this process
    reason: str = ""  # why auto found no sandbox

    @property
    def is_sandbox(self) -> bool:
        return self.tier not in ("supervised", "limits")


def choose_tier(requested: Tier, environ: Mapping[str, str]) -> ChosenTier:
    """Return the tier to use. Raises SANDBOX_UNAVAILABLE when a named tier does not work here."""
    match requested:
        case "auto":
            found = _try_bubblewrap(environ)
            return found if found.verified else ChosenTier("supervised", reason=found.reason)
        case "bubblewrap":
            found = _try_bubblewrap(environ)
            if not found.verified:
                raise unavailable(requested, found.reason, find_hint(found.reason))
            return found
        case "supervised" | "limits":
            return ChosenTier(requested)
        case _:
            raise unavailable(requested, "it is not supported yet", 'set sandbox.tier = "auto"')


def unavailable(tier: Tier, reason: str, hint: str) -> OstlerError:
    return OstlerError(
        Code.SANDBOX_UNAVAILABLE,
        f'sandbox.tier is "{tier}", but {reason}',
        f'{hint}, or set sandbox.tier = "auto" in ostler.toml',
    )


def _try_bubblewrap(environ: Mapping[str, str]) -> ChosenTier:
    program = find_bubblewrap(environ)
    if program is None:
        return ChosenTier("bubblewrap", reason="bubblewrap is not installed")
    reason = why_bubblewrap_fails(program, "user")
    if not reason:
        return ChosenTier("bubblewrap", program, verified=True)
    # Root needs no user namespace, which some machines refuse.
    if os.geteuid() == 0 and not why_bubblewrap_fails(program, "root"):
        return ChosenTier("bubblewrap", program, "root", verified=True)
    return ChosenTier("bubblewrap", program, reason=f"{program}: {reason}")
