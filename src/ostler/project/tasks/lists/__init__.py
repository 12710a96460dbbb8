"""Lists of tasks and their order."""
