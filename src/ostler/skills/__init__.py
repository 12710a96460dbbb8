"""Skills: finding, reading, linting and locking directories with a SKILL.md."""
