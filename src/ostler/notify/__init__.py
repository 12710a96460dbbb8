"""Notifications about tasks, by command or webhook: once per event, without delaying a run."""
