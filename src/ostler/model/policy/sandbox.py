"""The sandbox of an agent or a gate: its tiers, its record, and what it refused."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

TIER_VARIABLE = "OSTLER_SANDBOX"
"""Set inside a sandbox, to its tier."""

Tier = Literal["auto", "supervised", "limits", "landlock", "bubblewrap", "docker", "podman"]
"""How agents are confined; `auto`: by bubblewrap if its self-test passes, else supervised."""

TIERS_WITH_CHECKS: frozenset[Tier] = frozenset({"supervised", "limits", "landlock"})
"""Tiers in which agents keep their permission checks, on every machine."""

Network = Literal["proxy", "off", "on"]


def is_separate(network: Network) -> bool:
    """Return whether a sandbox has a network of its own, as in its self-test.

    With the network of the machine, services of the user such as the session bus are reachable.
    """
    return network != "on"


RefusalKind = Literal["network", "file", "push"]


class Refusal(Struct, frozen=True):
    """One access that the sandbox refused."""

    kind: RefusalKind
    target: str  # HOST:PORT, a path, or the name of a remote
    setting: str = ""  # the setting that would allow it, such as sandbox.allow_hosts = ["HOST"]


def describe_refusal(kind: RefusalKind, target: str, setting: str = "") -> str:
    """Return the refusal in one line, with the setting that would allow it."""
    noun = {"network": "a connection to", "push": "a push to"}.get(kind, "access to")
    what = f"the sandbox refused {noun} {target}"
    if kind == "push" and not setting:
        return f"{what}; Ostler publishes the work itself (git.on_complete)"
    return f"{what}; to allow it: {setting}" if setting else what


class RefusedAccess(Struct, frozen=True):
    """An access that the sandbox of a task refused, and how many times."""

    kind: RefusalKind
    target: str
    setting: str = ""
    count: int = 1

    @property
    def text(self) -> str:
        return describe_refusal(self.kind, self.target, self.setting)


class SandboxRecord(Struct, frozen=True):
    """The sandbox that one attempt or gate used."""

    tier: Tier = "supervised"
    verified: bool = False  # its self-test passed in this process
    reason: str = ""  # why the tier auto found no sandbox
    network: Network = "on"
    left_out: tuple[str, ...] = ()  # files of the home directory that the agent reads and did not get


def is_confined(tier: Tier) -> bool:
    """Return whether programs of this tier run in a sandbox."""
    return tier not in ("supervised", "limits")


def describe_sandbox(record: SandboxRecord) -> str:
    """Return the tier and the network, or why there is no sandbox."""
    if not is_confined(record.tier):
        return f"none ({record.reason or f'sandbox.tier is {record.tier}'})"
    unverified = "" if record.verified else ", not verified by a self-test"
    return f"{record.tier}, network {record.network}{unverified}"
