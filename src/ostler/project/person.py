"""The person who decides about tasks."""

from __future__ import annotations

import os
import pwd


def read_user_name() -> str:
    """Return the name of the operating system's user, or the number of one without a name."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
