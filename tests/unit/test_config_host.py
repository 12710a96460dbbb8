"""Hosts in one canonical form: forms that programs read differently are refused."""

from __future__ import annotations

import pytest

from ostler.config.host import HostInvalid, parse_allow_hosts, split_authority
from ostler.sandbox.network.rules import HostRules, Refused

ALLOWED = (
    "example.com",
    "*.mirror.example",
    "files.example:8443",
    "10.1.2.3",
    "[2001:db8::5]",
    "localhost:5432",
    "xn--bcher-kva.example",
)
GOOD = [
    ("example.com:443", "example.com"),
    ("EXAMPLE.com:80", "example.com"),
    ("a.mirror.example:443", "a.mirror.example"),
    ("a.b.mirror.example:443", "a.b.mirror.example"),
    ("files.example:8443", "files.example"),
    ("10.1.2.3:443", "10.1.2.3"),
    ("[2001:DB8:0::5]:443", "2001:db8::5"),
    ("localhost:5432", "localhost"),
    ("127.0.0.1:5432", "localhost"),
    ("[::1]:5432", "localhost"),
    ("xn--bcher-kva.example:443", "xn--bcher-kva.example"),
]
BAD = [
    # other names
    "example.org:443",
    "example.com.evil.example:443",
    "evilexample.com:443",
    "sub.example.com:443",
    "mirror.example:443",
    "evilmirror.example:443",
    "files.example:443",
    "example.com:8443",
    # the same host in another form
    "example.com.:443",
    ".example.com:443",
    "example..com:443",
    "a.mirror.example.:443",
    "user@example.com:443",
    "example.com@evil.example:443",
    "evil.example#@example.com:443",
    "example.com\0.evil.example:443",
    "example.com%00.evil.example:443",
    "example.com%2eevil.example:443",
    "evil.example/.mirror.example:443",
    "evil.example\\.mirror.example:443",
    "evil.example?.mirror.example:443",
    "example.com\t:443",
    " example.com:443",
    "-example.com:443",
    "example\N{FULLWIDTH FULL STOP}com:443",
    "example\N{IDEOGRAPHIC FULL STOP}com:443",
    "ex\N{CYRILLIC SMALL LETTER A}mple.com:443",
    "b\N{LATIN SMALL LETTER U WITH DIAERESIS}cher.example:443",
    "\N{KELVIN SIGN}.mirror.example:443",
    "a\N{SOFT HYPHEN}.mirror.example:443",
    # addresses
    "167838211:443",
    "0x0a010203:443",
    "012.1.2.3:443",
    "10.1.515:443",
    "10.66051:443",
    "10.1.2.3.:443",
    "0x0a.1.2.3:443",
    "10.1.2.03:443",
    "10.1.2.256:443",
    "2130706433:5432",
    "127.1:5432",
    "0177.0.0.1:5432",
    "0:5432",
    "127.0.0.1:22",
    "[::ffff:10.1.2.3]:443",
    "[::ffff:127.0.0.1]:5432",
    "[0:0:0:0:0:ffff:7f00:1]:5432",
    "[::127.0.0.1]:5432",
    "[2001:db8::5%25eth0]:443",
    "[2001:db8::5:443",
    "2001:db8::5:443",
    "[2001:db8::5]443",
    "169.254.169.254:80",
    "[fe80::1]:443",
    # ports
    "example.com",
    "example.com:",
    "example.com:https",
    "example.com:0",
    "example.com:0443",
    "example.com:+443",
    "example.com:443 ",
    "example.com:65979",
    "example.com:\N{ARABIC-INDIC DIGIT FOUR}43",
    "example.com:443:80",
]


@pytest.mark.parametrize(("authority", "host"), GOOD)
def test_allowed_hosts_pass(authority: str, host: str) -> None:
    """The corpus below refuses by its entries, not by a parser that refuses everything."""
    assert HostRules(ALLOWED).check(authority).host == host


@pytest.mark.parametrize("authority", BAD, ids=ascii)
def test_other_hosts_are_refused(authority: str) -> None:
    """No other name, form, address or port passes."""
    with pytest.raises(Refused) as caught:
        HostRules(ALLOWED).check(authority)
    assert caught.value.refusal.target.isprintable()


def test_corpus_is_large_enough() -> None:
    """At least 40 hosts (row S21)."""
    assert len(set(BAD)) >= 40


def test_entries_become_hosts_and_local_ports() -> None:
    """The names of this machine are one, and a service on it is also a local port."""
    hosts, ports = parse_allow_hosts(["Example.com", "127.0.0.1:5432", "localhost:5432", "[::1]:6379"])
    assert (hosts, ports) == (("example.com", "localhost:5432", "localhost:6379"), (5432, 6379))


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("https://example.com", "it is not only a host"),
        ("example.com/simple", "it is not only a host"),
        ("*", 'to allow every host, set sandbox.network = "on"'),
        ("*.10.0.0.1", "only a domain can have a wildcard"),
        ("a.*.example.com", "it is not a host name"),
        ("localhost", "it needs a port, such as localhost:5432"),
        ("localhost:47821", "it needs a port other than 47821"),
        ("example.com:http", "its port is not a number from 1 to 65535"),
        ("example.com.", "it ends with a dot"),
        ("b\N{LATIN SMALL LETTER U WITH DIAERESIS}cher.example", "its xn-- form is needed"),
        ("10.1", "not an IPv4 address of four decimal parts"),
        (" ", "it is not a host name"),
    ],
)
def test_bad_entries_have_a_sentence(entry: str, reason: str) -> None:
    """The error names the entry, the reason and the forms that are valid."""
    with pytest.raises(HostInvalid) as caught:
        parse_allow_hosts([entry])
    assert reason in str(caught.value) and f'"{entry}"' in str(caught.value)
    assert str(caught.value).endswith("; write HOST, HOST:PORT or *.DOMAIN")


def test_missing_port_is_the_default() -> None:
    """A URL without a port has that of its scheme."""
    assert split_authority("Example.com", 80) == ("example.com", 80)
