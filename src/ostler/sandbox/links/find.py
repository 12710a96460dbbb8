"""All links from the environment of a gate to the user's checkout."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from ostler.sandbox.checkout import Checkout
from ostler.sandbox.links.build import find_build_links
from ostler.sandbox.links.link import Link
from ostler.sandbox.links.node import find_node_links
from ostler.sandbox.links.python import find_python_links


def find_links(checkout: Checkout, environ: Mapping[str, str]) -> tuple[Link, ...]:
    """Return each link once. No program is started: it takes some tens of milliseconds."""
    found = (
        *find_python_links(checkout, environ),
        *find_node_links(checkout, environ),
        *find_build_links(checkout, environ),
    )
    return tuple(_name(one, checkout) for one in dict.fromkeys(found))


def _name(link: Link, checkout: Checkout) -> Link:
    return (
        replace(link, name=str(link.source.relative_to(checkout.tree)))
        if checkout.is_own(link.source)
        else link
    )
