"""Load and validate settings; each value has its source."""
