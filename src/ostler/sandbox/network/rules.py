"""The decision on one connection: by its name first, then by the addresses of the name."""

from __future__ import annotations

from collections.abc import Iterable

from ostler.config.host import (
    LOCALHOST,
    AllowedHost,
    HostInvalid,
    canonical_host,
    describe_setting,
    format_authority,
    parse_allowed_host,
    split_authority,
)
from ostler.model.policy.sandbox import Refusal
from ostler.sandbox.network.addresses import classify
from ostler.text import one_line

LOOPBACK_ADDRESSES = ["127.0.0.1", "::1"]


class Refused(Exception):
    """A connection that the policy does not allow."""

    def __init__(self, refusal: Refusal, reason: str = "") -> None:
        super().__init__(refusal.target)
        self.refusal = refusal
        self.reason = reason


class Target:
    """A host and a port that the policy allows, not yet the addresses behind it."""

    def __init__(self, host: str, port: int, rules: Iterable[AllowedHost] = ()) -> None:
        self.host = host
        self.port = port
        self._rules = tuple(rules)

    @property
    def is_local(self) -> bool:
        """Whether it is a service of this machine, which needs no name service and no proxy."""
        return self.host == LOCALHOST

    @property
    def is_literal(self) -> bool:
        """Whether it is an address, which an entry of the policy names exactly."""
        return ":" in self.host or self.host.rpartition(".")[2].isdigit()

    @property
    def authority(self) -> str:
        return format_authority(self.host, self.port)

    def filter_addresses(self, found: Iterable[str]) -> list[str]:
        """Return those addresses of the name that may be connected to; raise Refused if there are none."""
        addresses = list(found)
        allowed = [address for address in addresses if self._allows(address)]
        if allowed or not addresses:
            return allowed
        raise self._refuse_address(addresses[0])

    def _allows(self, address: str) -> bool:
        match classify(address):
            case "public":
                return True
            case "private":
                return self._is_named(self.host)
            case "forbidden":
                return self._is_named(_canonical_address(address))

    def _is_named(self, host: str) -> bool:
        """Whether an entry has exactly this host, not a domain above it."""
        return any(rule.covers(host, self.port) for rule in self._rules if not rule.wildcard)

    def _refuse_address(self, address: str) -> Refused:
        is_private = classify(address) == "private"
        needed = self.host if is_private else _canonical_address(address)
        setting = describe_setting(needed, self.port) if needed else ""
        kind = "a private address" if is_private else "an address that needs an entry of its own"
        return Refused(Refusal("network", self.authority, setting), f"its address {address} is {kind}")


class HostRules:
    """The hosts of a policy."""

    def __init__(self, entries: Iterable[str]) -> None:
        self._rules = [parse_allowed_host(entry) for entry in entries]

    def check(self, authority: str, default_port: int | None = None) -> Target:
        """Return the target of HOST:PORT; raise Refused."""
        try:
            host, port = split_authority(authority, default_port)
        except HostInvalid as error:
            raise Refused(Refusal("network", _printable(authority)), str(error)) from None
        if any(rule.covers(host, port) for rule in self._rules):
            return Target(host, port, self._rules)
        raise Refused(Refusal("network", format_authority(host, port), describe_setting(host, port)))


def _canonical_address(address: str) -> str:
    """Return an address as an entry has it; empty: no entry can have it."""
    try:
        return canonical_host(format_authority(address))
    except HostInvalid:
        return ""


def _printable(text: str) -> str:
    return one_line("".join(letter if letter.isprintable() else "?" for letter in text), 100)
