"""The sandbox that agents of this project would get on this machine, and what prevents a better one."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from ostler.config.settings import SandboxSettings
from ostler.errors import OstlerError
from ostler.model.policy.sandbox import SandboxRecord, describe_sandbox, is_separate
from ostler.sandbox.box.tiers import ChosenTier, choose_tier

_INSTALL = "apt-get install bubblewrap (Debian, Ubuntu), dnf install bubblewrap (Fedora)"
_APPARMOR = "kernel/apparmor_restrict_unprivileged_userns"
# A switch of the kernel that refuses user namespaces, the value that does, and the way to allow them.
_SWITCHES = (
    (
        _APPARMOR,
        "1",
        "Ubuntu refuses user namespaces: add an AppArmor profile for bwrap (docs/sandbox.md), or "
        "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0",
    ),
    (
        "kernel/unprivileged_userns_clone",
        "0",
        "the kernel refuses user namespaces: sudo sysctl kernel.unprivileged_userns_clone=1",
    ),
    (
        "user/max_user_namespaces",
        "0",
        "the kernel refuses user namespaces: sudo sysctl user.max_user_namespaces=10000",
    ),
)
_CONTAINER_FILES = ("/.dockerenv", "/run/.containerenv")
_IN_CONTAINER = "this container refuses user namespaces: see docs/sandbox.md, or run Ostler outside of it"


class Confinement(Struct, frozen=True):
    """The sandbox that a run would use now."""

    record: SandboxRecord
    error: str = ""  # why no agent starts: a named tier does not work
    fix: str = ""  # how to get a sandbox; empty if there is one

    @property
    def text(self) -> str:
        return self.error or describe_sandbox(self.record)


def find_confinement(settings: SandboxSettings, environ: Mapping[str, str]) -> Confinement:
    """Choose the tier as a run does; the first choice of a process runs the self-test."""
    try:
        chosen = choose_tier(settings.tier, environ, settings.network, settings.image)
    except OstlerError as error:
        return Confinement(SandboxRecord(settings.tier), error.message, error.hint)
    record = SandboxRecord(
        chosen.tier,
        chosen.verified and is_separate(settings.network),
        chosen.reason,
        settings.network if chosen.is_sandbox else "on",
    )
    return Confinement(record, fix=_find_fix(chosen))


def find_unavailable_tier(settings: SandboxSettings, environ: Mapping[str, str]) -> OstlerError | None:
    """Return why a named tier does not work here; `auto` needs no test before a run."""
    if settings.tier == "auto":
        return None
    try:
        choose_tier(settings.tier, environ, settings.network, settings.image)
    except OstlerError as error:
        return error
    return None


def describe_unconfined(settings: SandboxSettings, environ: Mapping[str, str]) -> str:
    """Return a line for the start of a run whose agents get no sandbox although they should; else empty."""
    reason = find_confinement(settings, environ).record.reason if settings.tier == "auto" else ""
    return f"agents run without a sandbox: {reason}; ostler doctor shows what to do" if reason else ""


def _find_fix(chosen: ChosenTier) -> str:
    if not chosen.reason:
        return ""
    if sys.platform != "linux":
        return "sandboxes need Linux; agents keep their permission checks"
    if not chosen.program and "not installed" in chosen.reason:
        return f"install bubblewrap: {_INSTALL}"
    if os.geteuid() != 0:
        for name, value, fix in _SWITCHES:
            if _read_switch(name) == value:
                return fix
    if any(Path(one).exists() for one in _CONTAINER_FILES):
        return _IN_CONTAINER
    return "see docs/sandbox.md, or set sandbox.tier to another tier"


def _read_switch(name: str) -> str:
    try:
        return Path("/proc/sys", name).read_text().strip()
    except OSError:
        return ""
