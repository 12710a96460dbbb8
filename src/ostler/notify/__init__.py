"""Tells others what happens to tasks, by a command or a webhook: once per event, and never in a run's way."""
