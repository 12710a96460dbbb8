"""Paths to the user's checkout in the command itself."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ostler.sandbox.checkout import Checkout
from ostler.sandbox.links.link import Link, find_named_paths
from ostler.sandbox.links.python import is_in_environment, list_prefixes

_HOME = re.compile(r"(?<![\w/])~(?=/)|\$HOME\b|\$\{HOME\}")

_BETWEEN_WORDS = re.compile(r"[\s&|()`]+")


def find_command_links(command: str, checkout: Checkout, environ: Mapping[str, str]) -> Iterator[Link]:
    """Return the paths in user work trees that a command names.

    Programs of an environment are none: what they lead to is found in the environment.
    """
    home = environ.get("HOME") or "/"
    text = _HOME.sub(lambda _: home, command)
    words = _BETWEEN_WORDS.sub("\n", text)
    found = [*_find(words, checkout)] or [*_find(text.replace("\\ ", " "), checkout)]
    prefixes = list_prefixes(checkout, environ)
    for target in dict.fromkeys(found):
        place = Path(os.path.realpath(target.parent)) / target.name
        if checkout.is_own(place) or any(is_in_environment(place, prefix) for prefix in prefixes):
            continue
        yield Link("command", Path(), target, "the command")


def _find(text: str, checkout: Checkout) -> Iterator[Path]:
    return find_named_paths(os.fsencode(text), checkout)
