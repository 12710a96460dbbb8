"""Names in the working directory of an agent that writes a document."""

from __future__ import annotations

SKILL = "skill"  # the read-only copy of the skill's directory
INPUTS = "inputs"  # read-only copies of the inputs, at their paths in the project
