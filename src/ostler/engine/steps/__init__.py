"""The performers: each runs one kind of step and returns the resulting event."""
