"""Runs a function as a user who is not root, in a child process."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

NOBODY = 65534


def run_as_other_user(function: Callable[[], Any], user: int = NOBODY) -> Any:
    """Return what the function returns, as JSON; a failure of the function is raised here."""
    reader, writer = os.pipe()
    if (pid := os.fork()) == 0:
        try:
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(user)
                os.setuid(user)
            answer = (True, function())
        except BaseException as error:  # noqa: BLE001  (raised by the parent)
            answer = (False, repr(error))
        with os.fdopen(writer, "wb") as file:
            file.write(json.dumps(answer).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        is_done, value = json.load(file)
    os.waitpid(pid, 0)
    assert is_done, value
    return value
