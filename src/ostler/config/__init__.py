"""Load and validate settings; each value remembers its source."""
