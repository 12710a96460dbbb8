"""Whether the run that started an attempt is alive."""

from __future__ import annotations

import os

from ostler.model.attempt import Attempt


def is_owner_dead(attempt: Attempt) -> bool:
    """Return whether the process of the run is gone; a run on another machine counts as alive."""
    node, _, rest = attempt.owner.partition(":")
    pid = rest.partition(":")[0]
    if node != os.uname().nodename or not pid.isdecimal():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
