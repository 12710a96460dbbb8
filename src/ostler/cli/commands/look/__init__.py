"""Commands that show tasks and their results."""
