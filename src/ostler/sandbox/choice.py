"""Selects how a command is isolated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from ostler.sandbox import bubblewrap, guard, unshare
from ostler.sandbox.links.link import Link
from ostler.sandbox.self_test import why_bubblewrap_fails, why_unshare_fails

Isolation = Literal["bind-over", "unshare", "guard", "none"]
Requested = Literal["auto", "bind-over", "none"]
INSTALL_HINT = "install bubblewrap (Debian: apt-get install bubblewrap)"
_ALLOW_HINT = (
    "allow user namespaces (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns;"
    " in a container: its security profile)"
)
# Parts of what bwrap reports where the kernel, AppArmor or a container refuses its namespaces.
_REFUSED = ("namespace", "uid map", "Operation not permitted", "Permission denied")
_USERS = {"commit": "a symbolic link of the commit", "command": "the command"}  # by the kind of the link
_GUARDED = ("python", "copy")  # kinds of links that the guard can remove


def find_hint(reason: str) -> str:
    """Return what to do so that bubblewrap works, for the reason why it does not."""
    return _ALLOW_HINT if any(one in reason for one in _REFUSED) else INSTALL_HINT


class Choice(Struct, frozen=True):
    """An isolation, the program for it, or why the command must not be run."""

    isolation: Isolation
    program: str = ""
    blocked: str = ""
    # An environment without links would be better: it is weak, or the links block it.
    needs_environment: bool = False


def choose_isolation(
    requested: Requested, links: tuple[Link, ...], environ: Mapping[str, str], network: bool
) -> Choice:
    """Return the strongest isolation that works here. Without one, a link to the user's checkout blocks."""
    reason = "gates.isolation is none" if requested == "none" else ""
    hint = 'set it to "auto"' if requested == "none" else INSTALL_HINT
    if requested != "none":
        program = bubblewrap.find_bubblewrap(environ)
        reason = why_bubblewrap_fails(program, network) if program else "bubblewrap is not installed"
        if program and not reason:
            return Choice("bind-over", program)
        hint = find_hint(reason)
        reason = f"{program}: {reason}" if program else reason
    if requested == "bind-over":
        blocked = f"SANDBOX_UNAVAILABLE: gates.isolation is bind-over, but {reason}; {hint}"
        return Choice("bind-over", blocked=blocked)
    if requested == "auto":
        program = unshare.find_unshare(environ)
        if program and not why_unshare_fails(program, network):
            return Choice("unshare", program)
    return _choose_without_namespaces(requested, links, network, f"{reason}; {hint}")


def _choose_without_namespaces(
    requested: Requested, links: tuple[Link, ...], network: bool, reason: str
) -> Choice:
    if not network:
        return Choice("none", blocked=f"the network cannot be switched off: {reason}")
    if not links:
        return Choice("none")
    if requested == "auto" and all(one.kind in _GUARDED for one in links):
        return Choice(guard.NAME, needs_environment=True)
    link = next((one for one in links if one.kind not in _GUARDED), links[0])
    user = _USERS.get(link.kind, "the environment")
    blocked = (
        f"{user} uses the user's checkout instead of the commit ({link.describe()}),"
        f" and it cannot be isolated: {reason}"
    )
    return Choice("none", blocked=blocked, needs_environment=requested == "auto")
