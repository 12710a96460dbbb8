"""Hosts that come from package indexes: only plain ones become part of a policy."""

from __future__ import annotations

import pytest

from ostler.sandbox.network.indexes.address import Address, read_address


@pytest.mark.parametrize(
    "url",
    [
        "https://*.com/file.whl",
        "https://*/file.whl",
        "https://files.example./file.whl",
        "https://2130706433/file.whl",
        "https://127.1/file.whl",
        "https://[::ffff:127.0.0.1]/file.whl",
        "https://a b/file.whl",
    ],
)
def test_other_forms_of_hosts_are_left_out(url: str) -> None:
    """The page of an index cannot open all hosts of a domain, or this machine in another form."""
    assert read_address(url) in (None, Address(local_port=443))


def test_plain_hosts_are_kept() -> None:
    """The positive control: names and addresses with their ports."""
    assert read_address("https://me@Files.example:8443/a") == Address(host="files.example:8443")
    assert read_address("https://[2001:db8::1]/a") == Address(host="[2001:db8::1]")
