"""Where an executor keeps a session that its agent does not keep itself."""

from __future__ import annotations

import re
from pathlib import Path

from ostler.model.call import AgentCall


def session_file(call: AgentCall, kind: str) -> Path | None:
    """Beside the transcript, so that it is outside the workspace and as private; None: nothing is kept."""
    if not call.transcript or not call.session_id:
        return None
    name = re.sub(r"[^A-Za-z0-9-]", "_", call.session_id)
    return Path(call.transcript).absolute().with_name(f"{name}.{kind}.json")
